//! Fields side by side, of a struct or of a case: the code that describes, writes and reads them.
//!
//! The code refers to each field by a local variable (`field_0` …, bound by a pattern), to `offsets`, an array of
//! constants, and to `place` or `at`, where the fields lie.

use std::collections::HashSet;

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Fields, Ident, Index, Member, Result, Type};

use crate::attributes::{FieldAttributes, Meter, Order, plain};

/// A field.
pub(crate) struct Field {
    pub(crate) member: Member,
    /// The name on the wire.
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) attributes: FieldAttributes,
    /// The local variable it is bound to.
    pub(crate) local: Ident,
    span: Span,
}

/// All fields of a struct or case.
pub(crate) struct FieldSet {
    all: Vec<Field>,
    /// What errors at run time call it.
    owner: String,
}

impl FieldSet {
    pub(crate) fn new(fields: &Fields, owner: String) -> Result<FieldSet> {
        let mut all = Vec::new();
        for (index, field) in fields.iter().enumerate() {
            let attributes = FieldAttributes::parse(&field.attrs)?;
            let member = match &field.ident {
                Some(ident) => Member::Named(ident.clone()),
                None => Member::Unnamed(Index { index: index as u32, span: field.ty.span() }),
            };
            let name = attributes.rename.clone().unwrap_or_else(|| match &member {
                Member::Named(ident) => plain(ident),
                Member::Unnamed(index) => index.index.to_string(),
            });
            let span = field.ty.span();
            all.push(Field {
                member,
                name,
                ty: field.ty.clone(),
                attributes,
                local: format_ident!("field_{index}"),
                span,
            });
        }
        let set = FieldSet { all, owner };
        set.check()?;
        Ok(set)
    }

    fn check(&self) -> Result<()> {
        let mut names = HashSet::new();
        for field in self.sent() {
            if !names.insert(&field.name) {
                return Err(Error::new(field.span, format!("two fields are called `{}`", field.name)));
            }
            for length in field.attributes.length.iter().flatten() {
                self.position(length)?;
            }
            if let Some((_, span)) = field.attributes.order
                && field.attributes.length.is_none()
                && !matches!(field.ty, Type::Array(_))
            {
                return Err(Error::new(span, "only arrays, and lists with `length`, have an order"));
            }
        }
        Ok(())
    }

    /// The fields that go on the wire.
    pub(crate) fn sent(&self) -> impl Iterator<Item = &Field> {
        self.all.iter().filter(|field| field.attributes.skip.is_none())
    }

    /// Which of the sent fields a length is.
    fn position(&self, length: &Member) -> Result<usize> {
        self.sent().position(|field| field.member == *length).ok_or_else(|| {
            let name = match length {
                Member::Named(ident) => ident.to_string(),
                Member::Unnamed(index) => index.index.to_string(),
            };
            Error::new(length.span(), format!("no field `{name}` is sent with this one, so it cannot hold its length"))
        })
    }

    /// Whether some field is not sent, or not as it lies.
    pub(crate) fn is_rearranged(&self) -> bool {
        self.all.iter().any(|field| field.attributes.skip.is_some() || field.attributes.length.is_some())
    }

    /// A pattern that binds all sent fields.
    pub(crate) fn pattern(&self) -> TokenStream {
        let bindings = self.all.iter().map(|Field { member, local, attributes, .. }| match attributes.skip {
            None => quote!(#member: #local),
            Some(_) => quote!(#member: _),
        });
        quote!({ #(#bindings),* })
    }

    /// A pattern that binds all fields.
    pub(crate) fn full_pattern(&self) -> TokenStream {
        let bindings = self.all.iter().map(|Field { member, local, .. }| quote!(#member: #local));
        quote!({ #(#bindings),* })
    }

    /// The layout of the fields in order, as a constant expression.
    pub(crate) fn in_order(&self) -> TokenStream {
        let fields = self.sent().map(|field| {
            let (size, align) = (field.constant("SIZE"), field.constant("ALIGN"));
            quote!((#size, #align))
        });
        quote!(_banyan_ndr::typed::derived::in_order([#(#fields),*]))
    }

    /// Whether a constant of `Wire` holds for every sent field.
    pub(crate) fn all_have(&self, constant: &str) -> TokenStream {
        let constants = self.sent().map(|field| field.constant(constant));
        quote!(true #(&& #constants)*)
    }

    /// The fields as a format describes them: a `Vec<Field>`.
    pub(crate) fn describe(&self) -> TokenStream {
        let fields = self.sent().enumerate().map(|(index, field)| {
            let Field { name, attributes, .. } = field;
            let ty = self.describe_type(field);
            let unit = optional_text(attributes.unit.as_ref());
            let description = optional_text(attributes.description.as_ref());
            let meter = match attributes.meter {
                None => quote!(::core::option::Option::None),
                Some(Meter::Counter) => quote!(::core::option::Option::Some(_banyan_ndr::Meter::Counter)),
                Some(Meter::Gauge) => quote!(::core::option::Option::Some(_banyan_ndr::Meter::Gauge)),
            };
            let default = field.default();
            quote! {
                _banyan_ndr::Field {
                    name: ::std::string::String::from(#name),
                    offset: _banyan_ndr::typed::derived::narrow(offsets[#index]),
                    ty: #ty,
                    unit: #unit,
                    description: #description,
                    meter: #meter,
                    default: #default,
                }
            }
        });
        quote!(::std::vec![#(#fields),*])
    }

    fn describe_type(&self, field: &Field) -> TokenStream {
        let ty = &field.ty;
        let order = field.order();
        let Some(lengths) = &field.attributes.length else {
            let plain = quote_spanned!(field.span=> <#ty as _banyan_ndr::typed::Wire>::describe(describer));
            return match field.attributes.order {
                None => plain,
                Some(_) => quote!(_banyan_ndr::typed::derived::with_order(#plain, #order)),
            };
        };
        let dims = lengths.iter().filter_map(|length| self.position(length).ok()).map(|index| index as u16);
        quote! {
            _banyan_ndr::Type::Sized {
                item: describer.item_of::<#ty>(),
                dims: ::std::vec![#(_banyan_ndr::Dim::Field(#dims)),*],
                order: #order,
            }
        }
    }

    /// The lengths of a field as an array, each got from its own field by `value`.
    fn lengths(&self, lengths: &[Member], value: impl Fn(usize, &Field) -> TokenStream) -> TokenStream {
        let values = lengths.iter().filter_map(|length| {
            let (index, field) = self.sent().enumerate().find(|(_, field)| field.member == *length)?;
            let value = value(index, field);
            Some(quote_spanned!(length.span()=> _banyan_ndr::typed::derived::LengthOf::value(#value)))
        });
        quote!(&[#(#values),*])
    }

    fn local_lengths(&self, lengths: &[Member]) -> TokenStream {
        self.lengths(lengths, |_, Field { local, .. }| quote!(*#local))
    }

    fn read_lengths(&self, lengths: &[Member]) -> TokenStream {
        self.lengths(lengths, |index, Field { ty, .. }| {
            quote!(<#ty as _banyan_ndr::typed::Read<'banyan_body>>::read(input, at + offsets[#index])?)
        })
    }

    /// Statements that write the fields.
    pub(crate) fn write(&self) -> TokenStream {
        let statements = self.sent().enumerate().map(|(index, field)| {
            let Field { local, name, ty, .. } = field;
            let Some(lengths) = &field.attributes.length else {
                return quote_spanned! {field.span=>
                    <#ty as _banyan_ndr::typed::Wire>::write(#local, place.part(offsets[#index]), out);
                };
            };
            let lengths = self.local_lengths(lengths);
            let path = format!("{}.{name}", self.owner);
            quote_spanned! {field.span=>
                _banyan_ndr::typed::derived::write_sized(#local, #path, #lengths, place.part(offsets[#index]), out);
            }
        });
        quote!(#(#statements)*)
    }

    /// The fields of a struct expression, read.
    pub(crate) fn read(&self) -> TokenStream {
        let mut sent = 0;
        let fields = self.all.iter().map(|field| {
            let member = &field.member;
            if field.attributes.skip.is_some() {
                let ty = &field.ty;
                return quote_spanned!(field.span=> #member: _banyan_ndr::typed::derived::skipped::<#ty>());
            }
            sent += 1;
            let value = self.read_one(sent - 1, field);
            quote!(#member: #value)
        });
        let fields: Vec<_> = fields.collect();
        quote!({ #(#fields),* })
    }

    fn read_one(&self, index: usize, field: &Field) -> TokenStream {
        let Field { name, ty, .. } = field;
        let value = match &field.attributes.length {
            None => quote_spanned! {field.span=>
                <#ty as _banyan_ndr::typed::Read<'banyan_body>>::read(input, at + offsets[#index])
            },
            Some(lengths) => {
                let lengths = self.read_lengths(lengths);
                quote_spanned! {field.span=>
                    _banyan_ndr::typed::derived::read_sized::<#ty>(input, at + offsets[#index], #lengths)
                }
            }
        };
        quote!(#value.map_err(|error| error.within(#name))?)
    }

    /// Statements that read into fields bound as exclusive references.
    pub(crate) fn read_into(&self) -> TokenStream {
        let mut sent = 0;
        let statements = self.all.iter().map(|field| {
            let Field { local, name, ty, .. } = field;
            if field.attributes.skip.is_some() {
                return quote_spanned!(field.span=> *#local = _banyan_ndr::typed::derived::skipped::<#ty>(););
            }
            sent += 1;
            let index = sent - 1;
            if field.attributes.length.is_some() {
                let value = self.read_one(index, field);
                return quote!(*#local = #value;);
            }
            quote_spanned! {field.span=>
                <#ty as _banyan_ndr::typed::Read<'banyan_body>>::read_into(#local, input, at + offsets[#index])
                    .map_err(|error| error.within(#name))?;
            }
        });
        let statements: Vec<_> = statements.collect();
        quote!(#(#statements)*)
    }

    /// Statements that note the references in the fields.
    pub(crate) fn discover(&self) -> TokenStream {
        let statements = self.sent().enumerate().map(|(index, field)| {
            let Field { name, ty, .. } = field;
            let value = match &field.attributes.length {
                None => quote! {
                    <#ty as _banyan_ndr::typed::Read<'banyan_body>>::discover(work, at + offsets[#index])
                },
                Some(lengths) => {
                    let lengths = self.read_lengths(lengths);
                    quote! {
                        _banyan_ndr::typed::derived::discover_sized::<#ty>(work, at + offsets[#index], #lengths)
                    }
                }
            };
            quote!(#value.map_err(|error| error.within(#name))?;)
        });
        quote!(#(#statements)*)
    }

    /// Statements that check the fields in `bytes`.
    pub(crate) fn check_bytes(&self) -> TokenStream {
        let statements = self.sent().enumerate().map(|(index, field)| {
            let Field { name, ty, .. } = field;
            let size = field.constant("SIZE");
            let any_bits = field.constant("ANY_BITS");
            quote! {
                if !#any_bits {
                    <#ty as _banyan_ndr::typed::Wire>::check(&bytes[offsets[#index]..offsets[#index] + #size])
                        .map_err(|error| error.within(#name))?;
                }
            }
        });
        quote!(#(#statements)*)
    }

    /// The fields, bound, as a `Value`.
    pub(crate) fn to_value(&self) -> TokenStream {
        let fields = self.sent().map(|field| {
            let Field { local, name, ty, .. } = field;
            let value = match &field.attributes.length {
                None => quote!(<#ty as _banyan_ndr::typed::Wire>::to_value(#local)),
                Some(lengths) => {
                    let (lengths, order) = (self.local_lengths(lengths), field.order());
                    quote!(_banyan_ndr::typed::derived::sized_to_value(#local, #lengths, #order))
                }
            };
            quote!((::std::string::String::from(#name), #value))
        });
        quote!(_banyan_ndr::Value::Record(::std::vec![#(#fields),*]))
    }
}

impl Field {
    /// A constant of `Wire` for the field as it lies on the wire.
    pub(crate) fn constant(&self, constant: &str) -> TokenStream {
        let ty = &self.ty;
        let ident = Ident::new(constant, self.span);
        match (&self.attributes.length, constant) {
            (Some(_), "SIZE" | "ALIGN") => quote!(_banyan_ndr::typed::derived::POINTER),
            _ => quote_spanned!(self.span=> <#ty as _banyan_ndr::typed::Wire>::#ident),
        }
    }

    fn order(&self) -> TokenStream {
        match self.attributes.order {
            Some((Order::Column, _)) => quote!(_banyan_ndr::Order::Column),
            Some((Order::Row, _)) | None => quote!(_banyan_ndr::Order::Row),
        }
    }

    fn default(&self) -> TokenStream {
        let ty = &self.ty;
        let value = match &self.attributes.default {
            None => return quote!(::core::option::Option::None),
            Some(None) => quote_spanned!(self.span=> <#ty as ::core::default::Default>::default()),
            Some(Some(value)) => quote!(#value),
        };
        quote! {{
            let value: #ty = #value;
            ::core::option::Option::Some(_banyan_ndr::typed::Wire::to_value(&value))
        }}
    }
}

fn optional_text(text: Option<&String>) -> TokenStream {
    match text {
        None => quote!(::core::option::Option::None),
        Some(text) => quote!(::core::option::Option::Some(::std::string::String::from(#text))),
    }
}
