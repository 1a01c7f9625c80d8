//! The heads of the `impl` blocks: every type parameter must itself be fit for a record.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Data, DeriveInput, GenericParam, Generics, Lifetime, LifetimeParam, Type, parse_quote};

/// The lifetime of the body, named so that no type of a user's has it.
pub(crate) fn body_lifetime() -> Lifetime {
    parse_quote!('banyan_body)
}

/// `impl<…> Trait for Type<…> where …` for `Wire` and `Record`.
pub(crate) fn head(input: &DeriveInput, of: &TokenStream) -> TokenStream {
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(_banyan_ndr::typed::Wire));
    }
    finish(input, &generics, of)
}

/// `impl<'body, …> Read<'body> for Type<…> where …`: what the type borrows, it borrows from the body.
pub(crate) fn read_head(input: &DeriveInput) -> TokenStream {
    let body = body_lifetime();
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(_banyan_ndr::typed::Read<#body>));
    }
    let mut parameter = LifetimeParam::new(body.clone());
    parameter.bounds.extend(generics.lifetimes().map(|borrowed| borrowed.lifetime.clone()));
    if types(&input.data).any(|ty| mentions_static(ty.to_token_stream())) {
        parameter.bounds.push(parse_quote!('static));
    }
    generics.params.insert(0, GenericParam::Lifetime(parameter));
    finish(input, &generics, &quote!(_banyan_ndr::typed::Read<#body>))
}

/// The types of all fields that are sent or skipped.
fn types(data: &Data) -> Box<dyn Iterator<Item = &Type> + '_> {
    match data {
        Data::Struct(data) => Box::new(data.fields.iter().map(|field| &field.ty)),
        Data::Enum(data) => Box::new(data.variants.iter().flat_map(|case| case.fields.iter()).map(|field| &field.ty)),
        Data::Union(_) => Box::new(std::iter::empty()),
    }
}

/// Whether `'static` stands in a type: then it can only be read from a body that lives for ever.
fn mentions_static(tokens: TokenStream) -> bool {
    let mut quoted = false;
    tokens.into_iter().any(|token| {
        let found = match &token {
            TokenTree::Group(group) => mentions_static(group.stream()),
            TokenTree::Ident(ident) => quoted && ident == "static",
            _ => false,
        };
        quoted = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '\'');
        found
    })
}

fn finish(input: &DeriveInput, generics: &Generics, of: &TokenStream) -> TokenStream {
    let ident = &input.ident;
    let (parameters, ..) = generics.split_for_impl();
    let (_, arguments, conditions) = input.generics.split_for_impl();
    quote!(impl #parameters #of for #ident #arguments #conditions)
}

/// The implementation of `Record`: the format, made once.
pub(crate) fn record(input: &DeriveInput) -> TokenStream {
    let head = head(input, &quote!(_banyan_ndr::typed::Record));
    let parameters = &input.generics.params;
    let body = if parameters.iter().all(|parameter| matches!(parameter, GenericParam::Lifetime(_))) {
        quote! {
            static FORMAT: ::std::sync::OnceLock<_banyan_ndr::Format> = ::std::sync::OnceLock::new();
            FORMAT.get_or_init(_banyan_ndr::Format::describe::<Self>)
        }
    } else {
        // One static serves all parameters.
        quote! {
            static FORMATS: _banyan_ndr::typed::FormatCache = _banyan_ndr::typed::FormatCache::new();
            FORMATS.get::<Self>()
        }
    };
    quote! {
        #[automatically_derived]
        #head {
            #[inline]
            fn format() -> &'static _banyan_ndr::Format {
                #body
            }
        }
    }
}
