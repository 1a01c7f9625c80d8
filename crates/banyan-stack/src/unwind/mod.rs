//! From the copy of a stack to the functions on it.
//!
//! The tables that compilers write for exceptions (`.eh_frame`) are followed; where there are none, frame pointers. No
//! process is stopped meanwhile, or has to be there any more. Functions that are not named in any table are shown as
//! module and the offset at which they begin.

mod compressed;
mod elf;
mod entries;
mod lines;
mod module;
mod name;
mod patient;
mod symbols;

use std::collections::BTreeSet;
use std::sync::Arc;

#[cfg(target_arch = "aarch64")]
use framehop::aarch64::{CacheAarch64 as Cache, PtrAuthMask, UnwindRegsAarch64, UnwinderAarch64 as Tables};
#[cfg(not(target_arch = "aarch64"))]
use framehop::x86_64::{CacheX86_64 as Cache, UnwindRegsX86_64, UnwinderX86_64 as Tables};
use framehop::{FrameAddress, Unwinder as _};

use crate::frame::{Frame, MAX_FRAMES};
use crate::maps::Maps;
use crate::trace::{Copied, Copy};
use module::{Modules, module_name};
pub(crate) use patient::PatientUnwinder;

/// What stands for the outer frames where they cannot be known.
const BROKEN: &str = "[the stack goes on]";

/// Unwinds copies of stacks, and remembers what it found in files.
#[derive(Default)]
struct Unwinder {
    modules: Modules,
    cache: Cache,
    with_lines: bool,
    /// What the user should know about the process that is being looked at.
    notes: BTreeSet<String>,
}

/// What was found on the stacks of a process.
pub(crate) struct Unwound {
    /// One a thread, each from the outermost function to the innermost.
    pub(crate) stacks: Vec<Vec<Frame>>,
    /// Why something is missing in them that was asked for.
    pub(crate) note: Option<String>,
}

/// The code of one process.
struct Space {
    tables: Tables<Arc<[u8]>>,
    places: Vec<CodeRange>,
}

/// A range of memory with code in it.
struct CodeRange {
    start: u64,
    end: u64,
    /// What to take off an address to get one of the file.
    bias: u64,
    /// `None` where it comes from no file that could be opened.
    module: Option<usize>,
    path: String,
}

impl Unwinder {
    /// With or without the lines of the source.
    fn new(with_lines: bool) -> Unwinder {
        Unwinder { with_lines, ..Unwinder::default() }
    }

    fn stacks(&mut self, process: u32, copied: &Copied) -> Unwound {
        let space = self.space(process, &copied.maps);
        let stacks = copied.threads.iter().map(|copy| self.stack(&space, copy)).collect();
        let notes = std::mem::take(&mut self.notes);
        let note = (!notes.is_empty()).then(|| notes.into_iter().collect::<Vec<_>>().join("; "));
        Unwound { stacks, note }
    }

    fn space(&mut self, process: u32, maps: &Maps) -> Space {
        let mut tables = Tables::new();
        let mut places = Vec::new();
        for map in maps.code() {
            let module = self.modules.find(process, map);
            let bias = module.and_then(|at| self.modules.get(at).bias(map));
            if let (Some(at), Some(bias)) = (module, bias) {
                let module = self.modules.get(at);
                let sections = module.sections();
                tables.add_module(framehop::Module::new(module.name().into(), map.start..map.end, bias, sections));
            }
            let bias = bias.unwrap_or_else(|| map.start.wrapping_sub(map.offset));
            places.push(CodeRange { start: map.start, end: map.end, bias, module, path: map.path.clone() });
        }
        Space { tables, places }
    }

    fn stack(&mut self, space: &Space, copy: &Copy) -> Vec<Frame> {
        let mut addresses = Vec::new();
        let mut read = |address| copy.word(address).ok_or(());
        let begin = copy.registers.instruction;
        let mut steps = space.tables.iter_frames(begin, start(copy, space), &mut self.cache, &mut read);
        let complete = loop {
            match steps.next() {
                Ok(Some(_)) if addresses.len() == MAX_FRAMES => break false,
                Ok(Some(address)) => addresses.push(address),
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        let mut frames = Vec::with_capacity(addresses.len() + 1);
        for address in addresses.into_iter().rev() {
            self.frames(space, address, &mut frames);
        }
        // Functions that were inlined come on top of those that were counted.
        let surplus = frames.len().saturating_sub(MAX_FRAMES - 1);
        frames.drain(..surplus);
        if !complete || surplus > 0 {
            frames.insert(0, Frame::note(BROKEN));
        }
        frames
    }

    /// What runs at an address, from the outermost function to the innermost.
    fn frames(&mut self, space: &Space, address: FrameAddress, frames: &mut Vec<Frame>) {
        // The call, where there is a return address: what follows it may be of another function.
        let address = address.address_for_lookup();
        let at = space.places.partition_point(|place| place.end <= address);
        let Some(place) = space.places.get(at).filter(|place| place.start <= address) else {
            return frames.push(Frame::note("[no code]"));
        };
        let inside = address.wrapping_sub(place.bias);
        match place.module {
            Some(module) => {
                let module = self.modules.get_mut(module);
                let found = module.frames(inside, self.with_lines);
                frames.extend(found.iter().rev().cloned());
                self.notes.extend(module.note());
            }
            None if place.path.is_empty() => frames.push(Frame::note("[generated code]")),
            None => {
                let name = module_name(&place.path);
                frames.push(Frame { module: name.into(), ..Frame::note(&format!("{name}+{inside:#x}")) });
            }
        }
    }
}

#[cfg(not(target_arch = "aarch64"))]
fn start(copy: &Copy, _: &Space) -> UnwindRegsX86_64 {
    let registers = copy.registers;
    UnwindRegsX86_64::new(registers.instruction, registers.stack, registers.frame)
}

#[cfg(target_arch = "aarch64")]
fn start(copy: &Copy, space: &Space) -> UnwindRegsAarch64 {
    let registers = copy.registers;
    let mask = PtrAuthMask::from_max_known_address(space.tables.max_known_code_address());
    UnwindRegsAarch64::new_with_ptr_auth_mask(mask, registers.link, registers.stack, registers.frame)
}
