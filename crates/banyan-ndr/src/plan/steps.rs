//! What a plan is made of: items, each with a program for its flat part and walks for what it refers to.

use std::collections::BTreeMap;

use super::template::Template;
use crate::Order;
use crate::kernel::Kernel;
use crate::kernel::program::Program;

/// Position of an [`ItemPlan`] in its plan.
pub(super) type ItemId = usize;

/// How one source item becomes one target item, wherever both lie.
#[derive(Debug)]
pub(super) struct ItemPlan {
    /// Source and target type, for people.
    pub(super) name: String,
    /// Writes every byte of the target item: the flat parts converted, zeros where walks write.
    pub(super) kernel: Kernel,
    /// What happens after the kernel, for each item of a run, in order.
    pub(super) walks: Vec<WalkStep>,
    /// Alignment of the target item.
    pub(super) align: usize,
}

impl ItemPlan {
    /// What its kernel was made of.
    pub(super) fn program(&self) -> &Program {
        self.kernel.program()
    }
}

/// Something that a kernel cannot do. All positions are relative to the item.
#[derive(Debug)]
pub(super) struct WalkStep {
    /// The target field, an index into [`Program::paths`].
    pub(super) path: u32,
    pub(super) action: Action,
}

#[derive(Debug)]
pub(super) enum Action {
    Text(Text),
    Value(Box<ValueWalk>),
    Items(Box<ItemsWalk>),
    Variant(Box<VariantWalk>),
    /// A default that refers to something.
    Constant {
        dst: u32,
        template: Box<Template>,
    },
}

/// A string or bytes.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) src: u32,
    pub(super) from: TextKind,
    pub(super) dst: u32,
    pub(super) to: TextKind,
    /// What a null C string becomes.
    pub(super) otherwise: Otherwise,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    Str,
    CStr,
    Bytes,
}

/// A value that is optional or behind a pointer on one side at least.
#[derive(Debug)]
pub(super) struct ValueWalk {
    pub(super) from: ValueFrom,
    pub(super) to: ValueTo,
    pub(super) item: ItemId,
    /// What is written when the source has no value.
    pub(super) otherwise: Otherwise,
}

#[derive(Debug)]
pub(super) enum ValueFrom {
    Place {
        at: u32,
    },
    Flagged {
        flag: u32,
        at: u32,
    },
    Pointer {
        at: u32,
    },
    /// A C string, whose own reference says whether it is there.
    IfSet {
        at: u32,
    },
}

#[derive(Debug)]
pub(super) enum ValueTo {
    Place { at: u32 },
    Flagged { flag: u32, at: u32 },
    Pointer { at: u32, shared: bool },
}

impl ValueTo {
    /// Where its bytes begin.
    pub(super) fn start(&self) -> u32 {
        match self {
            ValueTo::Place { at } | ValueTo::Pointer { at, .. } | ValueTo::Flagged { flag: at, .. } => *at,
        }
    }
}

/// What becomes of a value that is not there.
#[derive(Debug)]
pub(super) enum Otherwise {
    /// The target must have one.
    Error,
    /// Zeros, which the kernel has written: null, absent.
    Null,
    /// The default.
    Constant(Box<Template>),
}

/// Arrays and lists, on either side in place or elsewhere.
#[derive(Debug)]
pub(super) struct ItemsWalk {
    pub(super) from: ItemsFrom,
    pub(super) from_order: Order,
    pub(super) to: ItemsTo,
    pub(super) to_order: Order,
    pub(super) item: ItemId,
    /// Whether what is too long is cut.
    pub(super) cut: bool,
}

#[derive(Debug)]
pub(super) enum ItemsFrom {
    Place { at: u32, dims: Vec<u32> },
    List { at: u32 },
    Sized { at: u32, dims: Vec<SourceDim> },
}

#[derive(Debug)]
pub(super) enum SourceDim {
    Fixed(u32),
    Field { at: u32, width: u8, signed: bool },
}

#[derive(Debug)]
pub(super) enum ItemsTo {
    /// With the bytes of those items that the source may lack.
    Place {
        at: u32,
        dims: Vec<u32>,
        fill: Option<Box<Template>>,
    },
    List {
        at: u32,
    },
    Sized {
        at: u32,
        dims: Vec<TargetDim>,
    },
}

#[derive(Debug)]
pub(super) enum TargetDim {
    Fixed(u32),
    /// A length that is written to its field, or compared with what an earlier array of the record put there.
    Field {
        at: u32,
        width: u8,
        signed: bool,
        first: bool,
    },
}

/// A variant.
#[derive(Debug)]
pub(super) struct VariantWalk {
    pub(super) src: u32,
    pub(super) src_tag: u8,
    pub(super) src_payload: u32,
    pub(super) dst: u32,
    pub(super) dst_tag: u8,
    pub(super) dst_payload: u32,
    /// By the source's tag.
    pub(super) cases: BTreeMap<u64, CaseWalk>,
}

#[derive(Debug)]
pub(super) enum CaseWalk {
    /// The target's tag, and how the payload is converted.
    Known { tag: u64, payload: Option<Payload> },
    /// A case the target does not have.
    Unknown { name: String },
}

/// Where the payload of a case comes from.
#[derive(Debug)]
pub(super) enum Payload {
    /// The source's payload.
    Item(ItemId),
    /// The source's case has none: the defaults of its fields.
    Constant(Box<Template>),
}
