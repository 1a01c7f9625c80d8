//! A struct is a record. If all of its fields lie on the wire as in memory, so does the struct.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataStruct, DeriveInput, Result};

use crate::attributes::{Repr, renamed};
use crate::field::{Field, FieldSet};
use crate::generics;

pub(crate) fn derive(input: &DeriveInput, data: &DataStruct) -> Result<TokenStream> {
    let name = renamed(&input.attrs, &input.ident, "a struct")?;
    let fields = FieldSet::new(&data.fields, name.clone())?;
    let packed = Repr::parse(&input.attrs)?.packed;
    let (wire, read, record) =
        (wire(input, &fields, &name, packed), read(input, &fields, packed), generics::record(input));
    Ok(quote!(#wire #read #record))
}

/// Where the fields lie: an array of constants.
fn offsets(fields: &FieldSet) -> TokenStream {
    let in_order = fields.in_order();
    if fields.is_rearranged() {
        return quote!(const { #in_order.offsets });
    }
    let members = fields.sent().map(|field| &field.member);
    quote! {
        const {
            if <Self as _banyan_ndr::typed::Wire>::IN_PLACE {
                [#(::core::mem::offset_of!(Self, #members)),*]
            } else {
                #in_order.offsets
            }
        }
    }
}

fn wire(input: &DeriveInput, fields: &FieldSet, name: &str, packed: bool) -> TokenStream {
    let head = generics::head(input, &quote!(_banyan_ndr::typed::Wire));
    let constants = constants(fields, packed);
    let offsets = offsets(fields);
    let described = fields.describe();
    let write = write(fields, packed);
    let check = fields.check_bytes();
    let bindings = bindings(fields, packed);
    let value = fields.to_value();
    quote! {
        // SAFETY: `IN_PLACE` only if all fields are, at the offsets the compiler gives them; `PLAIN` only if they
        // fill the struct; `check` asks every field; what does not change in any field does not change in the whole.
        #[automatically_derived]
        unsafe #head {
            #constants

            fn describe(describer: &mut _banyan_ndr::typed::Describer) -> _banyan_ndr::Type {
                describer.record::<Self>(|describer| {
                    let offsets: [usize; _] = #offsets;
                    let _ = (&describer, &offsets);
                    _banyan_ndr::RecordDef {
                        name: ::std::string::String::from(#name),
                        size: _banyan_ndr::typed::derived::narrow(<Self as _banyan_ndr::typed::Wire>::SIZE),
                        align: _banyan_ndr::typed::derived::narrow(<Self as _banyan_ndr::typed::Wire>::ALIGN),
                        fields: #described,
                    }
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
                let offsets: [usize; _] = #offsets;
                let _ = &offsets;
                #write
            }

            #[inline]
            fn check(bytes: &[u8]) -> ::core::result::Result<(), _banyan_ndr::DecodeError> {
                let offsets: [usize; _] = #offsets;
                let _ = (bytes, &offsets);
                #check
                ::core::result::Result::Ok(())
            }

            fn to_value(&self) -> _banyan_ndr::Value {
                #bindings
                #value
            }
        }
    }
}

fn constants(fields: &FieldSet, packed: bool) -> TokenStream {
    let in_order = fields.in_order();
    let in_place = if fields.is_rearranged() {
        quote!(false)
    } else {
        let all = fields.all_have("IN_PLACE");
        quote!(::core::mem::size_of::<Self>() > 0 && #all)
    };
    let (plain, any_bits, shallow) =
        (fields.all_have("PLAIN"), fields.all_have("ANY_BITS"), fields.all_have("SHALLOW"));
    let sizes = fields.sent().map(|field| field.constant("SIZE"));
    let packed = packed.then(|| {
        quote! {
            assert!(
                <Self as _banyan_ndr::typed::Wire>::PLAIN,
                "a packed struct in a record can only have plain fields: numbers, and arrays and structs of numbers without padding"
            );
        }
    });
    quote! {
        const SIZE: usize = {
            #packed
            if <Self as _banyan_ndr::typed::Wire>::IN_PLACE { ::core::mem::size_of::<Self>() } else { #in_order.size }
        };
        const ALIGN: usize =
            if <Self as _banyan_ndr::typed::Wire>::IN_PLACE { ::core::mem::align_of::<Self>() } else { #in_order.align };
        const IN_PLACE: bool = #in_place;
        const PLAIN: bool = <Self as _banyan_ndr::typed::Wire>::IN_PLACE
            && #plain
            && 0 #(+ #sizes)* == ::core::mem::size_of::<Self>();
        const ANY_BITS: bool = <Self as _banyan_ndr::typed::Wire>::IN_PLACE && #any_bits;
        const SHALLOW: bool = #shallow;
    }
}

fn write(fields: &FieldSet, packed: bool) -> TokenStream {
    if packed {
        // Plain, by the assertion in `SIZE`: written above.
        return TokenStream::new();
    }
    let (pattern, write) = (fields.pattern(), fields.write());
    quote! {
        let Self #pattern = self;
        #write
    }
}

/// Binds the fields. Those of a packed struct cannot be borrowed, so they are copied.
fn bindings(fields: &FieldSet, packed: bool) -> TokenStream {
    if packed {
        let copies = fields.sent().map(|Field { member, local, .. }| quote!(let #local = &{ self.#member };));
        return quote!(#(#copies)*);
    }
    let pattern = fields.pattern();
    quote!(let Self #pattern = self;)
}

fn read(input: &DeriveInput, fields: &FieldSet, packed: bool) -> TokenStream {
    let head = generics::read_head(input);
    let offsets = offsets(fields);
    let (read, discover) = (fields.read(), fields.discover());
    let read_into = (!packed).then(|| {
        let (pattern, read_into) = (fields.full_pattern(), fields.read_into());
        quote! {
            fn read_into(
                &mut self,
                input: &_banyan_ndr::typed::Reader<'banyan_body>,
                at: usize,
            ) -> ::core::result::Result<(), _banyan_ndr::DecodeError> {
                if <Self as _banyan_ndr::typed::Wire>::IN_PLACE {
                    *self = input.in_place(at)?;
                    return ::core::result::Result::Ok(());
                }
                let offsets: [usize; _] = #offsets;
                let _ = (input, at, &offsets);
                let Self #pattern = self;
                #read_into
                ::core::result::Result::Ok(())
            }
        }
    });
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
                let offsets: [usize; _] = #offsets;
                let _ = (input, at, &offsets);
                ::core::result::Result::Ok(Self #read)
            }

            #read_into

            fn discover(
                work: &mut _banyan_ndr::typed::Discoverer<'_, 'banyan_body>,
                at: usize,
            ) -> ::core::result::Result<(), _banyan_ndr::DecodeError> {
                if <Self as _banyan_ndr::typed::Wire>::SHALLOW {
                    return ::core::result::Result::Ok(());
                }
                let input = work.input();
                let offsets: [usize; _] = #offsets;
                let _ = (input, at, &offsets);
                #discover
                ::core::result::Result::Ok(())
            }
        }
    }
}
