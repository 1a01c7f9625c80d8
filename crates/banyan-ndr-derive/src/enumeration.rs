//! An enum without data is an integer with named values: as it lies if `#[repr]` says which integer, else 32 bits.
//! An enum that `align` makes longer than its integer does not lie in place.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput, Error, Ident, Result};

use crate::attributes::{Repr, renamed};
use crate::generics;

pub(crate) fn derive(input: &DeriveInput, data: &DataEnum) -> Result<TokenStream> {
    let name = renamed(&input.attrs, &input.ident, "an enum")?;
    let mut names: Vec<String> = Vec::new();
    let mut cases: Vec<TokenStream> = Vec::new();
    for case in &data.variants {
        let name = renamed(&case.attrs, &case.ident, "a case")?;
        if names.contains(&name) {
            return Err(Error::new_spanned(&case.ident, format!("two cases are called `{name}`")));
        }
        names.push(name);
        let ident = &case.ident;
        // Braces fit cases without fields in every style.
        cases.push(quote!(Self::#ident {}));
    }
    let repr = Repr::parse(&input.attrs)?.integer;
    let enumeration = Enumeration { input, name, names, cases, has_repr: repr.is_some(), integer: integer(repr) };
    let (wire, read) = (enumeration.wire(), enumeration.read());
    Ok(quote!(#wire #read))
}

/// The integer on the wire.
fn integer(repr: Option<Ident>) -> TokenStream {
    repr.map_or(quote!(i32), |integer| quote!(#integer))
}

struct Enumeration<'a> {
    input: &'a DeriveInput,
    name: String,
    names: Vec<String>,
    cases: Vec<TokenStream>,
    /// Whether the enum is stored as that integer in memory too.
    has_repr: bool,
    integer: TokenStream,
}

impl Enumeration<'_> {
    fn wire(&self) -> TokenStream {
        let Enumeration { name, names, cases, has_repr, integer, .. } = self;
        let head = generics::head(self.input, &quote!(_banyan_ndr::typed::Wire));
        quote! {
            // SAFETY: in place only if `repr` makes it that integer and no padding follows, as it does with `align`;
            // `check` knows all its values.
            #[automatically_derived]
            unsafe #head {
                const SIZE: usize = ::core::mem::size_of::<#integer>();
                const ALIGN: usize = ::core::mem::size_of::<#integer>();
                const IN_PLACE: bool = #has_repr && ::core::mem::size_of::<Self>() == ::core::mem::size_of::<#integer>();
                const PLAIN: bool = <Self as _banyan_ndr::typed::Wire>::IN_PLACE;
                const ANY_BITS: bool = false;
                const SHALLOW: bool = true;

                fn describe(describer: &mut _banyan_ndr::typed::Describer) -> _banyan_ndr::Type {
                    describer.enumeration::<Self>(|| _banyan_ndr::EnumerationDef {
                        name: ::std::string::String::from(#name),
                        width: ::core::mem::size_of::<#integer>() as u8,
                        signed: <#integer>::MIN != 0,
                        names: ::std::vec![#((::std::string::String::from(#names), #cases as i128)),*],
                    })
                }

                #[inline]
                fn write<'banyan_record>(
                    &'banyan_record self,
                    place: _banyan_ndr::typed::Slot,
                    out: &mut impl _banyan_ndr::typed::Sink<'banyan_record>,
                ) {
                    if <Self as _banyan_ndr::typed::Wire>::PLAIN {
                        return out.put_plain(place, self);
                    }
                    let value: #integer = match self {
                        #(#cases => const {
                            let value = #cases as i128;
                            assert!(
                                value >= <#integer>::MIN as i128 && value <= <#integer>::MAX as i128,
                                "a value does not fit 32 bits: add #[repr(i64)]"
                            );
                            value as #integer
                        },)*
                    };
                    out.put(place, &value.to_ne_bytes())
                }

                #[inline]
                fn check(bytes: &[u8]) -> ::core::result::Result<(), _banyan_ndr::DecodeError> {
                    let mut value = [0; ::core::mem::size_of::<#integer>()];
                    value.copy_from_slice(bytes);
                    let value = <#integer>::from_ne_bytes(value);
                    if #(value == const { #cases as #integer })||* {
                        return ::core::result::Result::Ok(());
                    }
                    ::core::result::Result::Err(_banyan_ndr::typed::derived::no_value(value as i128, #name))
                }

                fn to_value(&self) -> _banyan_ndr::Value {
                    _banyan_ndr::Value::Enum(::std::string::String::from(match self { #(#cases => #names),* }))
                }
            }
        }
    }

    fn read(&self) -> TokenStream {
        let Enumeration { name, cases, integer, .. } = self;
        let head = generics::read_head(self.input);
        quote! {
            #[automatically_derived]
            #head {
                #[inline]
                fn read(
                    input: &_banyan_ndr::typed::Reader<'banyan_body>,
                    at: usize,
                ) -> ::core::result::Result<Self, _banyan_ndr::DecodeError> {
                    if <Self as _banyan_ndr::typed::Wire>::IN_PLACE {
                        return input.in_place(at);
                    }
                    let value = <#integer>::from_ne_bytes(input.bytes(at));
                    #(if value == const { #cases as #integer } {
                        return ::core::result::Result::Ok(#cases);
                    })*
                    ::core::result::Result::Err(_banyan_ndr::typed::derived::no_value(value as i128, #name))
                }

                #[inline]
                fn discover(
                    _: &mut _banyan_ndr::typed::Discoverer<'_, 'banyan_body>,
                    _: usize,
                ) -> ::core::result::Result<(), _banyan_ndr::DecodeError> {
                    ::core::result::Result::Ok(())
                }
            }
        }
    }
}
