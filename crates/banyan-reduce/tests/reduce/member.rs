//! Members with something to say, and their records in any layout.

use banyan_ndr::{
    Buffer, ByteOrder, DefId, Definition, Dim, DynRecord, EnumerationDef, Field, Format, Order, PointerWidth,
    RecordDef, Type, Value,
};

/// What one member says, apart from any format.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) rank: u32,
    pub(crate) temp: f64,
    pub(crate) load: i64,
    pub(crate) host: String,
    pub(crate) state: String,
    pub(crate) tags: Vec<String>,
    pub(crate) cells: Vec<f64>,
    pub(crate) ints: Vec<i64>,
    pub(crate) energy: Vec<f64>,
    pub(crate) rest: Option<f64>,
    pub(crate) layout: Layout,
}

/// How a member lays its records out: each number is a choice.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) big: bool,
    pub(crate) short_pointers: bool,
    pub(crate) choices: [u8; 10],
}

pub(crate) const STATES: [&str; 3] = ["idle", "busy", "gone"];

fn int(choice: u8) -> Type {
    let width = [2, 4, 8, 16][usize::from(choice % 4)];
    Type::Int { width, signed: true }
}

fn float(choice: u8) -> Type {
    Type::Float { width: if choice.is_multiple_of(2) { 8 } else { 4 } }
}

fn list(item: Type) -> Type {
    Type::List { item: item.into() }
}

fn record(name: &str, fields: Vec<Field>) -> Definition {
    Definition::Record(RecordDef { name: name.into(), size: 0, align: 0, fields })
}

const STATE: DefId = DefId(1);
const MESH: DefId = DefId(2);
const ELEM: DefId = DefId(3);

impl Member {
    /// The format of its records, whose fields are in any order.
    pub(crate) fn format(&self) -> Format {
        let Layout { big, short_pointers, choices } = &self.layout;
        let mut fields = vec![
            ("temp", float(choices[0])),
            ("load", int(choices[1])),
            ("host", if choices[2] % 2 == 0 { Type::Str } else { Type::CStr }),
            ("state", if choices[3] % 2 == 0 { Type::Enum(STATE) } else { Type::Str }),
            ("tags", list(Type::Str)),
            ("ints", list(int(choices[5] % 3))),
            ("mesh", Type::Record(MESH)),
            ("rest", self.rest_type()),
            ("junk", Type::Char { width: 4 }),
        ];
        let turn = usize::from(choices[9]) % fields.len();
        fields.rotate_left(turn);
        fields.push(("cells", self.cells_type(fields.len() as u16 + 1)));
        fields.push(("n", Type::Int { width: 4, signed: choices[4] % 2 == 0 }));
        let fields = fields.into_iter().map(|(name, ty)| Field::new(name, 0, ty)).collect();
        let names = STATES.iter().enumerate().map(|(number, name)| ((*name).into(), 7 * number as i128)).collect();
        let state = EnumerationDef { name: "State".into(), width: 2, signed: false, names };
        let elems = Field::new("elems", 0, list(Type::Record(ELEM)));
        let elem = vec![Field::new("id", 0, int(choices[7])), Field::new("energy", 0, float(choices[7] / 4))];
        let order = if *big { ByteOrder::Big } else { ByteOrder::Little };
        let pointer = if *short_pointers { PointerWidth::Four } else { PointerWidth::Eight };
        let definitions = vec![
            record("Sample", fields),
            Definition::Enumeration(state),
            record("Mesh", vec![elems]),
            record("Elem", elem),
        ];
        Format::laid_out(order, pointer, definitions).expect("a valid format")
    }

    fn cells_type(&self, length_field: u16) -> Type {
        let item = float(self.layout.choices[6] / 3).into();
        match self.layout.choices[6] % 3 {
            0 => Type::Array { item, dims: vec![self.cells.len() as u32], order: Order::Row },
            1 => Type::List { item },
            _ => Type::Sized { item, dims: vec![Dim::Field(length_field)], order: Order::Row },
        }
    }

    fn rest_type(&self) -> Type {
        let item = Box::new(float(self.layout.choices[8] / 2));
        match self.layout.choices[8] % 2 {
            0 => Type::Optional { item, value_at: 0, size: 0 },
            _ => Type::Ref { item, nullable: true, shared: false },
        }
    }

    /// Its record.
    pub(crate) fn body(&self, format: &Format) -> Buffer {
        let floats = |values: &[f64]| Value::List(values.iter().map(|value| Value::F64(*value)).collect());
        let text = |text: &String| Value::Str(text.clone());
        let elem =
            |energy: &f64| Value::Record(vec![("id".into(), Value::Int(1)), ("energy".into(), Value::F64(*energy))]);
        let elems = Value::List(self.energy.iter().map(elem).collect());
        let state = match self.layout.choices[3] % 2 {
            0 => Value::Enum(self.state.clone()),
            _ => text(&self.state),
        };
        let fields = vec![
            ("temp", Value::F64(self.temp)),
            ("load", Value::Int(self.load.into())),
            ("host", text(&self.host)),
            ("state", state),
            ("tags", Value::List(self.tags.iter().map(text).collect())),
            ("cells", floats(&self.cells)),
            ("ints", Value::List(self.ints.iter().map(|value| Value::Int((*value).into())).collect())),
            ("mesh", Value::Record(vec![("elems".into(), elems)])),
            ("rest", self.rest.map_or(Value::Null, Value::F64)),
            ("junk", Value::Char('j')),
            ("n", Value::Int(self.cells.len() as i128)),
        ];
        let root = Value::Record(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
        let record = DynRecord { format: format.clone(), root, shared: Vec::new() };
        record.to_body().expect("values that fit")
    }
}
