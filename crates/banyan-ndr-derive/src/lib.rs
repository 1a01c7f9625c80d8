//! `#[derive(Record)]` for `banyan-ndr`.
//!
//! A struct becomes a record, an enum with data a variant, an enum without data an enumeration. Everything that
//! depends on the types of fields (sizes, offsets, whether the memory can be sent as it lies) is left to constants
//! that the compiler evaluates; the macro only knows names.
//!
//! | attribute | on | means |
//! | --- | --- | --- |
//! | `rename = "…"` | type, field, case | the name on the wire |
//! | `default`, `default = value` | field | what a receiver takes when the sender has no such field |
//! | `skip` | field | not sent; `Default::default()` when read; must not borrow (`'static`) |
//! | `unit = "…"`, `description = "…"` | field | for people |
//! | `counter`, `gauge` | field | how the values behave over time |
//! | `length = field`, `length(rows, columns)` | list | its lengths stand in these integer fields |
//! | `order = row`, `order = column` | array, list with lengths | which index varies fastest |

#![forbid(unsafe_code)]

mod attributes;
mod enumeration;
mod field;
mod generics;
mod structure;
mod variant;

use proc_macro::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, parse_macro_input};

/// Makes a struct or an enum a record. See the crate's page for the attributes.
#[proc_macro_derive(Record, attributes(record))]
pub fn derive_record(input: TokenStream) -> TokenStream {
    implement(parse_macro_input!(input as DeriveInput), quote!(::banyan_ndr))
}

/// The same for programs that depend on all of Banyan by its one crate `banyan`, which calls this `Record`.
#[proc_macro_derive(FacadeRecord, attributes(record))]
pub fn derive_facade_record(input: TokenStream) -> TokenStream {
    implement(parse_macro_input!(input as DeriveInput), quote!(::banyan::ndr))
}

/// The implementations, in a block of their own, in which `_banyan_ndr` stands for the path by which the program knows
/// `banyan-ndr`.
fn implement(input: DeriveInput, ndr: proc_macro2::TokenStream) -> TokenStream {
    let implementations = match expand(&input) {
        Ok(implementations) => implementations,
        Err(mistake) => return mistake.into_compile_error().into(),
    };
    let ident = &input.ident;
    // A type with parameters is measured when it is used.
    let measured = input
        .generics
        .params
        .is_empty()
        .then(|| quote!(const _: () = _banyan_ndr::typed::derived::measured::<#ident>();));
    quote! {
        const _: () = {
            use #ndr as _banyan_ndr;
            #implementations
            #measured
        };
    }
    .into()
}

fn expand(input: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    match &input.data {
        Data::Struct(data) => structure::derive(input, data),
        Data::Enum(data) if data.variants.is_empty() => {
            Err(Error::new_spanned(&input.ident, "an enum without cases has no values that could be sent"))
        }
        Data::Enum(data) if data.variants.iter().all(|case| case.fields.is_empty()) => enumeration::derive(input, data),
        Data::Enum(data) => variant::derive(input, data),
        Data::Union(data) => Err(Error::new_spanned(
            data.union_token,
            "a union does not say which of its fields holds: send an enum with data instead",
        )),
    }
}
