//! How the two sides of an exchange differ.

use banyan_ndr::{Definition, Format, Record, Value};

use crate::records::{Foreign, Sender};

/// In which layout the other side has its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// No records: both sides send the bytes, and nobody looks at them. The floor.
    Bytes,
    /// The same as this side.
    Same,
    /// The other byte order.
    Order,
    /// The other byte order, with a field more before all others and one in each nested record.
    OrderAndPlaces,
}

impl Layout {
    /// All of them.
    pub const ALL: [Layout; 4] = [Layout::Bytes, Layout::Same, Layout::Order, Layout::OrderAndPlaces];

    /// The name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Bytes => "bytes",
            Layout::Same => "same",
            Layout::Order => "byte_order",
            Layout::OrderAndPlaces => "byte_order_and_layout",
        }
    }

    /// What people call it.
    pub fn title(self) -> &'static str {
        match self {
            Layout::Bytes => "bare bytes",
            Layout::Same => "same layout",
            Layout::Order => "other byte order",
            Layout::OrderAndPlaces => "… and layout",
        }
    }

    /// A record as the other side has it.
    pub(super) fn of_other_side<T: Record>(self, record: &T) -> Foreign {
        let swapped = matches!(self, Layout::Order | Layout::OrderAndPlaces);
        let is_longer = self == Layout::OrderAndPlaces;
        let Foreign { format, body } =
            Sender { swapped, extra_field: is_longer, longer_elements: is_longer }.send(record);
        Foreign { format: forgiving(&format), body }
    }

    pub(super) fn named(name: &str) -> Option<Layout> {
        Layout::ALL.into_iter().find(|layout| layout.name() == name)
    }
}

/// The same format, of a receiver that has a value for what this side does not send.
fn forgiving(format: &Format) -> Format {
    let mut definitions = format.definitions().to_vec();
    for definition in &mut definitions {
        if let Definition::Record(record) = definition {
            let more = record.fields.iter_mut().filter(|field| field.name == "unexpected");
            more.for_each(|field| field.default = Some(Value::Int(-1)));
        }
    }
    Format::new(format.order(), format.pointer(), definitions).expect("a valid format stays one")
}
