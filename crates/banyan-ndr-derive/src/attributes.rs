//! What stands in `#[record(…)]` and `#[repr(…)]`.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, Ident, LitStr, Member, Result, Token, parenthesized};

/// Of a type or a case: only its name.
pub(crate) fn renamed(attributes: &[Attribute], ident: &Ident, what: &str) -> Result<String> {
    let mut name = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("record")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("rename") {
                set(&mut name, text(&meta)?, &meta)
            } else {
                Err(meta.error(format!("unknown attribute; {what} takes `rename = \"…\"` only")))
            }
        })?;
    }
    Ok(name.unwrap_or_else(|| plain(ident)))
}

/// An identifier without the `r#` that keeps it from being a keyword.
pub(crate) fn plain(ident: &Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map_or(name.clone(), String::from)
}

/// Of a field.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    pub(crate) rename: Option<String>,
    pub(crate) default: Option<Option<Expr>>,
    pub(crate) skip: Option<Span>,
    pub(crate) unit: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) meter: Option<Meter>,
    pub(crate) length: Option<Vec<Member>>,
    pub(crate) order: Option<(Order, Span)>,
    /// Where the first attribute stands, if there is one.
    pub(crate) span: Option<Span>,
}

/// How values behave over time.
#[derive(Clone, Copy)]
pub(crate) enum Meter {
    Counter,
    Gauge,
}

/// Which index varies fastest.
#[derive(Clone, Copy)]
pub(crate) enum Order {
    Row,
    Column,
}

impl FieldAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<FieldAttributes> {
        let mut found = FieldAttributes::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("record")) {
            found.span.get_or_insert(attribute.path().span());
            attribute.parse_nested_meta(|meta| found.one(&meta))?;
        }
        if let Some(span) = found.skip
            && (found.length.is_some() || found.default.is_some() || found.rename.is_some())
        {
            return Err(Error::new(span, "a skipped field is not sent, so nothing else can be said about it"));
        }
        if found.length.is_some() && found.default.is_some() {
            let span = found.span.unwrap_or_else(Span::call_site);
            return Err(Error::new(
                span,
                "a list whose lengths stand in other fields cannot have a default of its own",
            ));
        }
        Ok(found)
    }

    fn one(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let name = meta.path.get_ident().map(Ident::to_string).unwrap_or_default();
        match name.as_str() {
            "rename" => set(&mut self.rename, text(meta)?, meta),
            "unit" => set(&mut self.unit, text(meta)?, meta),
            "description" => set(&mut self.description, text(meta)?, meta),
            "skip" => set(&mut self.skip, meta.path.span(), meta),
            "counter" => set(&mut self.meter, Meter::Counter, meta),
            "gauge" => set(&mut self.meter, Meter::Gauge, meta),
            "default" => {
                let value = if meta.input.peek(Token![=]) { Some(meta.value()?.parse()?) } else { None };
                set(&mut self.default, value, meta)
            }
            "length" => set(&mut self.length, lengths(meta)?, meta),
            "order" => set(&mut self.order, (order(meta)?, meta.path.span()), meta),
            _ => Err(meta.error(
                "unknown attribute; a field takes rename, default, skip, unit, description, counter, gauge, length, order",
            )),
        }
    }
}

fn set<T>(slot: &mut Option<T>, value: T, meta: &ParseNestedMeta<'_>) -> Result<()> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(meta.error("said twice")),
    }
}

fn text(meta: &ParseNestedMeta<'_>) -> Result<String> {
    let text: LitStr = meta.value()?.parse()?;
    if text.value().is_empty() {
        return Err(Error::new(text.span(), "an empty text says nothing"));
    }
    Ok(text.value())
}

fn lengths(meta: &ParseNestedMeta<'_>) -> Result<Vec<Member>> {
    if meta.input.peek(Token![=]) {
        return Ok(vec![meta.value()?.parse()?]);
    }
    let list;
    parenthesized!(list in meta.input);
    let members = Punctuated::<Member, Token![,]>::parse_terminated(&list)?;
    if members.is_empty() {
        return Err(meta.error("name the fields that hold the lengths: `length(rows, columns)`"));
    }
    Ok(members.into_iter().collect())
}

fn order(meta: &ParseNestedMeta<'_>) -> Result<Order> {
    let order: Ident = meta.value()?.parse()?;
    match order.to_string().as_str() {
        "row" => Ok(Order::Row),
        "column" => Ok(Order::Column),
        _ => Err(Error::new(order.span(), "`row` (the last index varies fastest) or `column` (the first)")),
    }
}

/// What matters of `#[repr(…)]`.
#[derive(Default)]
pub(crate) struct Repr {
    /// The integer an enum is stored as.
    pub(crate) integer: Option<Ident>,
    pub(crate) packed: bool,
}

impl Repr {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Repr> {
        const INTEGERS: [&str; 8] = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"];
        let mut repr = Repr::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
            attribute.parse_nested_meta(|meta| {
                if let Some(ident) = meta.path.get_ident() {
                    repr.packed |= ident == "packed";
                    if INTEGERS.iter().any(|integer| ident == integer) {
                        repr.integer = Some(ident.clone());
                    }
                }
                if meta.input.peek(syn::token::Paren) {
                    let ignored;
                    parenthesized!(ignored in meta.input);
                    ignored.parse::<proc_macro2::TokenStream>()?;
                }
                Ok(())
            })?;
        }
        Ok(repr)
    }
}
