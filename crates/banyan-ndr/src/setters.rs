//! What makes options that can grow still easy to write down: a method for each field, in every crate the same way.

/// Gives options a consuming method for each field, of the field's name: `Options::default().depth(3).name("a")`.
///
/// The types are those of the arguments; what converts into the field's type will do. Behind `some` are optional fields
/// whose methods take the value itself. A field that is not listed is an error.
///
/// ```
/// #[derive(Debug, Default, PartialEq)]
/// pub struct Options {
///     depth: usize,
///     width: Option<u8>,
///     name: Option<String>,
/// }
///
/// banyan_ndr::setters!(Options { depth: usize, width: impl Into<Option<u8>> } some { name: impl Into<String> });
///
/// let options = Options::default().depth(3).width(2).name("a");
/// assert_eq!(options, Options { depth: 3, width: Some(2), name: Some("a".into()) });
/// assert_eq!(options.width(None).width, None);
/// ```
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
                pub fn $optional(mut self, $optional: $value) -> $options {
                    self.$optional = Some($optional.into());
                    self
                }
            )+)?
        }

        const _: fn(&$options) = |$options { $($field: _,)+ $($($optional: _,)+)? }| ();
    };
}
