//! The text form of a format: a listing like a declaration, with offsets. Names come from anyone and go to terminals,
//! so what is not printable in them is escaped.

use std::fmt;

use super::{ByteOrder, DefId, Definition, Dim, Field, Format, Meter, Order, Type};

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = if self.order() == ByteOrder::Big { "big-endian" } else { "little-endian" };
        let name = self.name().escape_debug();
        writeln!(f, "format {name} {}, {order}, {}-byte references", self.id(), self.pointer().bytes())?;
        for definition in self.definitions() {
            self.fmt_definition(f, definition)?;
        }
        Ok(())
    }
}

impl Format {
    fn fmt_definition(&self, f: &mut fmt::Formatter<'_>, definition: &Definition) -> fmt::Result {
        let (name, size, align) = (definition.name().escape_debug(), definition.size(), definition.align());
        match definition {
            Definition::Record(record) => {
                writeln!(f, "record {name} ({size} bytes, aligned to {align}) {{")?;
                for field in &record.fields {
                    write!(
                        f,
                        "  {:>5}  {}: {}",
                        field.offset,
                        field.name.escape_debug(),
                        self.type_name_in(&field.ty, &record.fields)
                    )?;
                    fmt_remarks(f, field)?;
                }
            }
            Definition::Variant(variant) => {
                writeln!(f, "variant {name} ({size} bytes, aligned to {align}) {{")?;
                for case in &variant.cases {
                    let payload = case.payload.as_ref().map_or(String::new(), |ty| format!(": {}", self.type_name(ty)));
                    writeln!(f, "  {:>5}  {}{payload}", case.tag, case.name.escape_debug())?;
                }
            }
            Definition::Enumeration(enumeration) => {
                let sign = if enumeration.signed { 'i' } else { 'u' };
                writeln!(f, "enumeration {name}: {sign}{} {{", 8 * enumeration.width)?;
                for (name, value) in &enumeration.names {
                    writeln!(f, "  {value:>5}  {}", name.escape_debug())?;
                }
            }
        }
        writeln!(f, "}}")
    }

    /// A type in words: `f64[3]`, `[Elem]`, `string?`.
    pub fn type_name(&self, ty: &Type) -> String {
        self.type_name_in(ty, &[])
    }

    fn type_name_in(&self, ty: &Type, fields: &[Field]) -> String {
        let name_of = |id: &DefId| self.definition(*id).name().escape_debug().to_string();
        match ty {
            Type::Int { width, signed } => format!("{}{}", if *signed { 'i' } else { 'u' }, 8 * u32::from(*width)),
            Type::Float { width } => format!("f{}", 8 * u32::from(*width)),
            Type::Bool { width: 1 } => "bool".into(),
            Type::Bool { width } => format!("bool{}", 8 * u32::from(*width)),
            Type::Char { width: 4 } => "char".into(),
            Type::Char { .. } => "char8".into(),
            Type::Str => "string".into(),
            Type::CStr => "cstring".into(),
            Type::Bytes => "bytes".into(),
            Type::Enum(id) | Type::Record(id) | Type::Variant(id) => name_of(id),
            Type::Optional { item, .. } => format!("{}?", self.type_name(item)),
            Type::Ref { item, nullable, shared } => {
                let sharing = if *shared { "&shared " } else { "&" };
                format!("{sharing}{}{}", self.type_name(item), if *nullable { "?" } else { "" })
            }
            Type::Array { item, dims, order } => {
                let dims: String = dims.iter().map(|dim| format!("[{dim}]")).collect();
                format!("{}{dims}{}", self.type_name(item), fmt_order(*order))
            }
            Type::List { item } => format!("[{}]", self.type_name(item)),
            Type::Sized { item, dims, order } => {
                let dims: String = dims
                    .iter()
                    .map(|dim| match dim {
                        Dim::Fixed(length) => format!("[{length}]"),
                        Dim::Field(index) => match fields.get(usize::from(*index)) {
                            Some(field) => format!("[{}]", field.name.escape_debug()),
                            None => format!("[field {index}]"),
                        },
                    })
                    .collect();
                format!("{}{dims}{}", self.type_name(item), fmt_order(*order))
            }
        }
    }
}

fn fmt_order(order: Order) -> &'static str {
    if order == Order::Column { " by column" } else { "" }
}

fn fmt_remarks(f: &mut fmt::Formatter<'_>, field: &Field) -> fmt::Result {
    if let Some(unit) = &field.unit {
        write!(f, " [{}]", unit.escape_debug())?;
    }
    match field.meter {
        Some(Meter::Counter) => write!(f, " counter")?,
        Some(Meter::Gauge) => write!(f, " gauge")?,
        None => {}
    }
    if let Some(description) = &field.description {
        write!(f, "  // {}", description.escape_debug())?;
    }
    writeln!(f)
}
