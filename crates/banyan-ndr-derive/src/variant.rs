//! An enum with data is a variant: a tag, and a payload that is nothing, a type, or a record of the case's fields.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{DataEnum, DeriveInput, Error, Fields, Ident, Result, Variant};

use crate::attributes::renamed;
use crate::field::FieldSet;
use crate::generics;

pub(crate) fn derive(input: &DeriveInput, data: &DataEnum) -> Result<TokenStream> {
    let name = renamed(&input.attrs, &input.ident, "an enum")?;
    let mut cases: Vec<Case<'_>> = Vec::new();
    for variant in &data.variants {
        let case = Case::new(variant, &name)?;
        if cases.iter().any(|other| other.name == case.name) {
            return Err(Error::new_spanned(&variant.ident, format!("two cases are called `{}`", case.name)));
        }
        cases.push(case);
    }
    let tag = if cases.len() <= 1 << 8 { format_ident!("u8") } else { format_ident!("u16") };
    let variant = VariantEnum { input, name, cases, tag };
    let (wire, read, record) = (variant.wire(), variant.read(), generics::record(input));
    Ok(quote!(#wire #read #record))
}

struct VariantEnum<'a> {
    input: &'a DeriveInput,
    name: String,
    cases: Vec<Case<'a>>,
    tag: Ident,
}

struct Case<'a> {
    ident: &'a Ident,
    name: String,
    /// Name of the record that holds the fields.
    record: String,
    payload: Payload,
    fields: FieldSet,
}

#[derive(PartialEq)]
enum Payload {
    Nothing,
    /// The type of the only field.
    Type,
    /// A record of all fields.
    Record,
}

impl<'a> Case<'a> {
    fn new(variant: &'a Variant, owner: &str) -> Result<Case<'a>> {
        let name = renamed(&variant.attrs, &variant.ident, "a case")?;
        let record = format!("{owner}::{name}");
        let fields = FieldSet::new(&variant.fields, record.clone())?;
        let payload = match &variant.fields {
            fields if fields.is_empty() => Payload::Nothing,
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => Payload::Type,
            _ => Payload::Record,
        };
        if payload == Payload::Type
            && let Some(span) =
                fields.sent().next().map_or_else(|| Some(variant.ident.span()), |field| field.attributes.span)
        {
            return Err(Error::new(
                span,
                "the only value of a case is no field: give it a name to say something about it",
            ));
        }
        Ok(Case { ident: &variant.ident, name, record, payload, fields })
    }

    /// Size or alignment of the payload, as a constant expression; `None` when there is none.
    fn measure(&self, of: &str) -> Option<TokenStream> {
        match self.payload {
            Payload::Nothing => None,
            Payload::Type => self.fields.sent().next().map(|field| field.constant(of)),
            Payload::Record => {
                let layout = self.fields.in_order();
                let part = Ident::new(&of.to_lowercase(), proc_macro2::Span::call_site());
                Some(quote!(#layout.#part))
            }
        }
    }

    /// Where the fields lie in the payload.
    fn offsets(&self) -> TokenStream {
        let layout = self.fields.in_order();
        quote!(let offsets: [usize; _] = const { #layout.offsets }; let _ = &offsets;)
    }

    fn describe(&self, tag: u64) -> TokenStream {
        let Case { name, record, .. } = self;
        let payload = match self.payload {
            Payload::Nothing => quote!(::core::option::Option::None),
            Payload::Type => {
                let ty = self.fields.sent().next().map(|field| &field.ty);
                quote!(::core::option::Option::Some(<#ty as _banyan_ndr::typed::Wire>::describe(describer)))
            }
            Payload::Record => {
                let (offsets, layout, fields) = (self.offsets(), self.fields.in_order(), self.fields.describe());
                quote! {{
                    #offsets
                    let fields = #fields;
                    let record = _banyan_ndr::RecordDef {
                        name: ::std::string::String::from(#record),
                        size: _banyan_ndr::typed::derived::narrow(const { #layout.size }),
                        align: _banyan_ndr::typed::derived::narrow(const { #layout.align }),
                        fields,
                    };
                    ::core::option::Option::Some(describer.case_record(record))
                }}
            }
        };
        quote! {
            _banyan_ndr::Case { name: ::std::string::String::from(#name), tag: #tag, payload: #payload }
        }
    }

    fn to_value(&self) -> TokenStream {
        let name = &self.name;
        let payload = match self.payload {
            Payload::Nothing => quote!(::core::option::Option::None),
            Payload::Type => quote! {
                ::core::option::Option::Some(::std::boxed::Box::new(_banyan_ndr::typed::Wire::to_value(field_0)))
            },
            Payload::Record => {
                let value = self.fields.to_value();
                quote!(::core::option::Option::Some(::std::boxed::Box::new(#value)))
            }
        };
        quote!(_banyan_ndr::Value::Case(::std::string::String::from(#name), #payload))
    }
}

impl VariantEnum<'_> {
    /// Where the payloads begin, as a constant expression.
    fn payload_at(&self) -> TokenStream {
        let tag = &self.tag;
        let aligns = self.cases.iter().filter_map(|case| case.measure("ALIGN"));
        quote! {
            _banyan_ndr::typed::derived::align_up(
                ::core::mem::size_of::<#tag>(),
                _banyan_ndr::typed::derived::fold_max(1, &[#(#aligns),*]),
            )
        }
    }

    fn constants(&self) -> TokenStream {
        let tag = &self.tag;
        let payload_at = self.payload_at();
        let sizes = self.cases.iter().filter_map(|case| case.measure("SIZE"));
        let aligns = self.cases.iter().filter_map(|case| case.measure("ALIGN"));
        let shallow = self.cases.iter().map(|case| case.fields.all_have("SHALLOW"));
        quote! {
            const SIZE: usize = _banyan_ndr::typed::derived::align_up(
                #payload_at + _banyan_ndr::typed::derived::fold_max(0, &[#(#sizes),*]),
                <Self as _banyan_ndr::typed::Wire>::ALIGN,
            );
            const ALIGN: usize =
                _banyan_ndr::typed::derived::fold_max(::core::mem::size_of::<#tag>(), &[#(#aligns),*]);
            const IN_PLACE: bool = false;
            const PLAIN: bool = false;
            const ANY_BITS: bool = false;
            const SHALLOW: bool = #((#shallow))&&*;
        }
    }

    fn wire(&self) -> TokenStream {
        let VariantEnum { name, cases, tag, .. } = self;
        let head = generics::head(self.input, &quote!(_banyan_ndr::typed::Wire));
        let (constants, payload_at) = (self.constants(), self.payload_at());
        let described = cases.iter().enumerate().map(|(index, case)| case.describe(index as u64));
        let writes = cases.iter().enumerate().map(|(index, case)| {
            let (ident, pattern) = (case.ident, case.fields.pattern());
            let (offsets, write) = (case.offsets(), case.fields.write());
            quote! {
                Self::#ident #pattern => {
                    out.put(place, &(#index as #tag).to_ne_bytes());
                    let place = place.part(payload_at);
                    let _ = place;
                    #offsets
                    #write
                }
            }
        });
        let values = cases.iter().map(|case| {
            let (ident, pattern, value) = (case.ident, case.fields.pattern(), case.to_value());
            quote!(Self::#ident #pattern => #value)
        });
        quote! {
            // SAFETY: not `IN_PLACE`, so nothing is promised; what does not change in any field does not in the whole.
            #[automatically_derived]
            unsafe #head {
                #constants

                fn describe(describer: &mut _banyan_ndr::typed::Describer) -> _banyan_ndr::Type {
                    describer.variant::<Self>(|describer| _banyan_ndr::VariantDef {
                        name: ::std::string::String::from(#name),
                        size: _banyan_ndr::typed::derived::narrow(<Self as _banyan_ndr::typed::Wire>::SIZE),
                        align: _banyan_ndr::typed::derived::narrow(<Self as _banyan_ndr::typed::Wire>::ALIGN),
                        tag_width: ::core::mem::size_of::<#tag>() as u8,
                        payload_at: _banyan_ndr::typed::derived::narrow(const { #payload_at }),
                        cases: ::std::vec![#(#described),*],
                    })
                }

                fn write<'banyan_record>(
                    &'banyan_record self,
                    place: _banyan_ndr::typed::Slot,
                    out: &mut impl _banyan_ndr::typed::Sink<'banyan_record>,
                ) {
                    let payload_at = const { #payload_at };
                    match self { #(#writes)* }
                }

                fn check(_: &[u8]) -> ::core::result::Result<(), _banyan_ndr::DecodeError> {
                    _banyan_ndr::typed::derived::not_in_place()
                }

                fn to_value(&self) -> _banyan_ndr::Value {
                    match self { #(#values),* }
                }
            }
        }
    }

    /// Matches the tag at `at`; each arm sees `at` at its payload.
    fn by_tag(&self, arm: impl Fn(&Case<'_>) -> TokenStream) -> TokenStream {
        let VariantEnum { name, tag, .. } = self;
        let payload_at = self.payload_at();
        let arms = self.cases.iter().enumerate().map(|(index, case)| {
            let (offsets, arm, index) = (case.offsets(), arm(case), index as u16);
            quote!(#index => { #offsets #arm })
        });
        quote! {
            let tag = <#tag>::from_ne_bytes(input.bytes(at));
            let at = at + const { #payload_at };
            let _ = at;
            match u16::from(tag) {
                #(#arms)*
                other => ::core::result::Result::Err(_banyan_ndr::typed::derived::no_value(i128::from(other), #name)),
            }
        }
    }

    fn read(&self) -> TokenStream {
        let head = generics::read_head(self.input);
        let read = self.by_tag(|case| {
            let (ident, fields) = (case.ident, case.fields.read());
            quote!(::core::result::Result::Ok(Self::#ident #fields))
        });
        let discover = self.by_tag(|case| {
            let discover = case.fields.discover();
            quote!(#discover ::core::result::Result::Ok(()))
        });
        quote! {
            #[automatically_derived]
            #head {
                fn read(
                    input: &_banyan_ndr::typed::Reader<'banyan_body>,
                    at: usize,
                ) -> ::core::result::Result<Self, _banyan_ndr::DecodeError> {
                    #read
                }

                fn discover(
                    work: &mut _banyan_ndr::typed::Discoverer<'_, 'banyan_body>,
                    at: usize,
                ) -> ::core::result::Result<(), _banyan_ndr::DecodeError> {
                    if <Self as _banyan_ndr::typed::Wire>::SHALLOW {
                        return ::core::result::Result::Ok(());
                    }
                    let input = work.input();
                    #discover
                }
            }
        }
    }
}
