//! Records brought into another shape: fewer fields, another machine's layout.

use std::collections::HashMap;

use banyan_ndr::{ByteOrder, Decoder, Format, FormatId, PointerWidth, RecordView};
use clap::ValueEnum;

use crate::failure::{During, Failure};

/// Byte order and pointer width of a machine.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Layout {
    /// This machine
    Native,
    /// 64 bit, little-endian (x86-64, aarch64)
    Little64,
    /// 64 bit, big-endian (s390x)
    Big64,
    /// 32 bit, little-endian (x86, arm)
    Little32,
    /// 32 bit, big-endian (powerpc, sparc)
    Big32,
}

impl Layout {
    fn machine(self) -> (ByteOrder, PointerWidth) {
        match self {
            Layout::Native => (ByteOrder::NATIVE, PointerWidth::NATIVE),
            Layout::Little64 => (ByteOrder::Little, PointerWidth::Eight),
            Layout::Big64 => (ByteOrder::Big, PointerWidth::Eight),
            Layout::Little32 => (ByteOrder::Little, PointerWidth::Four),
            Layout::Big32 => (ByteOrder::Big, PointerWidth::Four),
        }
    }
}

/// Brings records of any formats into the shape asked for. What each format becomes is decided once.
pub(crate) struct Reshape {
    fields: Vec<String>,
    layout: Option<Layout>,
    decoder: Decoder,
    targets: HashMap<FormatId, Format>,
}

impl Reshape {
    /// All fields when none are named; the sender's layout when none is given.
    pub(crate) fn new(fields: &[String], layout: Option<Layout>) -> Reshape {
        Reshape { fields: fields.to_vec(), layout, decoder: Decoder::new(), targets: HashMap::new() }
    }

    /// What records of a format become; fails when a field is not there.
    pub(crate) fn target(&self, source: &Format) -> Result<Format, Failure> {
        let mut target = source.clone();
        if !self.fields.is_empty() {
            let paths: Vec<&str> = self.fields.iter().map(String::as_str).collect();
            target = target.project(&paths).map_err(|error| {
                let which = source.name();
                Failure::new(format!(
                    "--fields: {error}; see banyan records schema, or choose others than {which} with --format"
                ))
            })?;
        }
        if let Some(layout) = self.layout {
            let (order, pointer) = layout.machine();
            target = target.relaid(order, pointer).during("--layout")?;
        }
        Ok(target)
    }

    /// Makes sure that it is decided what a format becomes.
    pub(crate) fn prepare(&mut self, format: &Format) -> Result<(), Failure> {
        if !self.changes_nothing() && !self.targets.contains_key(&format.id()) {
            self.targets.insert(format.id(), self.target(format)?);
            self.decoder.learn(format).map_err(Failure::new)?;
        }
        Ok(())
    }

    /// A record in its new shape. Its format must have been [prepared](Self::prepare).
    pub(crate) fn apply<'a>(
        &'a mut self,
        format: &'a Format,
        body: &'a [u8],
    ) -> Result<RecordView<'a>, banyan_ndr::DecodeError> {
        match self.targets.get(&format.id()) {
            Some(target) => self.decoder.convert(format.id(), body, target),
            None => RecordView::new(format, body),
        }
    }

    fn changes_nothing(&self) -> bool {
        self.fields.is_empty() && self.layout.is_none()
    }
}
