//! What simulated members call one after the other, and the model: what each of them must get.

use bytes::Bytes;

use super::chance::Chance;
use crate::{
    collective::{Call, CallOutcome, EAGER, ElementKind, Own, ReduceOp, Reduction, combine::combine},
    message::CHUNK,
};

/// One collective of all members.
#[derive(Clone, Debug)]
pub(super) struct ScriptedCall {
    pub(super) call: Call,
    /// What each member has: for itself, or in a scatter what the master has for it.
    pub(super) bytes: Vec<Bytes>,
}

impl ScriptedCall {
    /// A collective among `size` members, with more than small data only if `is_large`.
    pub(super) fn random(size: usize, is_large: bool, chance: &mut Chance) -> Self {
        let length = |chance: &mut Chance| match chance.below(if is_large { 8 } else { 6 }) {
            0 => 0,
            1..=4 => chance.below(200),
            5 => EAGER - 10 + chance.below(20),
            6 => CHUNK - 1 + chance.below(3),
            _ => chance.below(3 * CHUNK),
        };
        let call = match chance.below(8) {
            0 => Call::Barrier,
            1 => Call::Broadcast,
            2 => Call::Scatter,
            3 | 4 => Call::Gather,
            5 => Call::AllGather,
            _ => {
                let (what, of) = [
                    (ReduceOp::Sum, ElementKind::F64),
                    (ReduceOp::Max, ElementKind::F32),
                    (ReduceOp::Sum, ElementKind::U32),
                    (ReduceOp::Xor, ElementKind::I64),
                    (ReduceOp::Min, ElementKind::U8),
                ][chance.below(5)];
                let mut length = length(chance) & !7;
                // Far enough to need the pipeline.
                if is_large && chance.one_in(4) {
                    length = 6 * CHUNK + 8;
                }
                Call::AllReduce(Reduction::new(what, of, length as u64).unwrap())
            }
        };
        let bytes = (0..size).map(|_| match call {
            Call::AllReduce(reduction) => numbers(&reduction, chance),
            _ => filled(length(chance), chance),
        });
        Self { call, bytes: bytes.collect() }
    }

    /// The sum of floats whose result depends on the order in which they are added.
    pub(super) fn delicate_sum(size: usize, chance: &mut Chance) -> Self {
        let reduction = Reduction::new(ReduceOp::Sum, ElementKind::F64, 64).unwrap();
        let number = |chance: &mut Chance| (chance.number() as f64 * 1e-9).powi(chance.below(9) as i32 - 4);
        let bytes = |chance: &mut Chance| (0..8).flat_map(|_| number(chance).to_le_bytes()).collect::<Vec<u8>>().into();
        Self { call: Call::AllReduce(reduction), bytes: (0..size).map(|_| bytes(chance)).collect() }
    }

    /// What a member calls.
    pub(super) fn own(&self, rank: usize) -> Own {
        let own = self.bytes[rank].clone();
        match self.call {
            Call::Barrier => Own::Barrier,
            Call::Broadcast => Own::Broadcast((rank == 0).then_some(own)),
            Call::Scatter => Own::Scatter((rank == 0).then(|| self.bytes.clone())),
            Call::Gather => Own::Gather(own),
            Call::AllGather => Own::AllGather(own),
            Call::AllReduce(reduction) => Own::AllReduce(reduction.what(), reduction.of(), own),
        }
    }

    /// What a member must get.
    pub(super) fn expected(&self, rank: usize) -> CallOutcome {
        match self.call {
            Call::Barrier => CallOutcome::Done,
            Call::Broadcast => CallOutcome::Bytes(self.bytes[0].clone()),
            Call::Scatter => CallOutcome::Bytes(self.bytes[rank].clone()),
            Call::Gather if rank != 0 => CallOutcome::Done,
            Call::Gather | Call::AllGather => CallOutcome::Parts(self.bytes.clone()),
            Call::AllReduce(reduction) => {
                let mut result = self.bytes[0].to_vec();
                self.bytes[1..].iter().for_each(|bytes| combine(&reduction, &mut result, bytes));
                CallOutcome::Bytes(result.into())
            }
        }
    }

    /// What a member calls that has lost its way: something else.
    pub(super) fn other(&self) -> (Call, Own) {
        match self.call {
            Call::Barrier => (Call::AllGather, Own::AllGather(Bytes::from_static(b"lost"))),
            _ => (Call::Barrier, Own::Barrier),
        }
    }
}

/// Numbers of which any order gives the same sum, so that the model does not depend on the tree.
fn numbers(reduction: &Reduction, chance: &mut Chance) -> Bytes {
    let count = reduction.length() as usize / reduction.of().size();
    let seed = chance.below(1000);
    match reduction.of() {
        ElementKind::F64 => (0..count).flat_map(|at| ((seed + at % 100) as f64).to_le_bytes()).collect(),
        ElementKind::F32 => (0..count).flat_map(|at| ((seed + at % 100) as f32).to_le_bytes()).collect(),
        _ => filled(reduction.length() as usize, chance),
    }
}

fn filled(length: usize, chance: &mut Chance) -> Bytes {
    let seed = chance.below(256);
    (0..length).map(|at| (seed + at / 7) as u8).collect()
}
