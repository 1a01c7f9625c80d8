//! One item converted without anything to start: where a single copy or wide vectors do all of it, running the
//! interpreter or generated code takes small records longer than the conversion itself.

use super::interpret::WideItem;
use super::program::Instruction;

/// The conversion of one item, all of it.
#[derive(Debug)]
pub(super) enum Direct {
    /// The target is a part of the source.
    Copy {
        /// Where it begins.
        start: usize,
        /// Bytes of source and target.
        sizes: (usize, usize),
    },
    /// By wide windows.
    Wide(WideItem),
}

impl Direct {
    /// What `steps` do to an item of these sizes, if there is a direct way.
    pub(super) fn new(steps: &[Instruction], sizes: (usize, usize)) -> Option<Direct> {
        match *steps {
            [Instruction::Copy { src, dst: 0, len }] if len as usize == sizes.1 => {
                Some(Direct::Copy { start: src as usize, sizes })
            }
            _ => WideItem::new(steps, sizes).map(Direct::Wide),
        }
    }

    /// Converts the item. False where these are not the bytes of one.
    #[inline(always)]
    pub(super) fn run(&self, src: &[u8], dst: &mut [u8]) -> bool {
        match self {
            Direct::Copy { start, sizes } => {
                let fits = (src.len(), dst.len()) == *sizes;
                if fits {
                    dst.copy_from_slice(&src[*start..*start + sizes.1]);
                }
                fits
            }
            Direct::Wide(item) => item.run(src, dst),
        }
    }
}
