//! What makes options that can grow still easy to write down: a method for each field, in every crate the same way.

/// Gives options a consuming method for each field, of the field's name: `Options::default().depth(3).name("a")`.
///
/// The types are those of the arguments; what converts into the field's type will do. Behind `some` are optional fields
/// whose methods take the value alone, or what converts into it. A field that is not listed is an error.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    (
        $options:ident { $($field:ident: $argument:ty),+ $(,)? } $(some { $($optional:ident: $value:ty),+ $(,)? })?
    ) => {
        impl $options {
            $(
                #[doc = concat!("The same with this value of the field `", stringify!($field), "`.")]
                #[must_use]
                pub fn $field(mut self, $field: $argument) -> $options {
                    self.$field = $field.into();
                    self
                }
            )+
            $($(
                #[doc = concat!("The same with this value of the field `", stringify!($optional), "`.")]
                #[must_use]
                pub fn $optional(mut self, $optional: impl Into<$value>) -> $options {
                    self.$optional = Some($optional.into());
                    self
                }
            )+)?
        }

        const _: fn(&$options) = |$options { $($field: _,)+ $($($optional: _,)+)? }| ();
    };
}

#[cfg(test)]
mod tests {
    #[derive(Debug, Default, PartialEq)]
    struct Options {
        depth: usize,
        width: Option<u8>,
        name: Option<String>,
    }

    crate::setters!(Options { depth: usize, width: impl Into<Option<u8>> } some { name: String });

    #[test]
    fn options_are_written_down_by_methods_of_the_names_of_their_fields() {
        let options = Options::default().depth(3).width(2).name("a");
        assert_eq!(options, Options { depth: 3, width: Some(2), name: Some("a".into()) });
        assert_eq!(options.width(None).width, None);
    }
}
