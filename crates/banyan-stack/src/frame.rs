//! One step of a stack.

use std::fmt;
use std::sync::Arc;

/// Frames of a stack at most. Trees are gone through step by step into the depth, in threads with little stack of their
/// own; beyond this it is a recursion that has run away.
pub(crate) const MAX_FRAMES: usize = 2048;

/// A function on a stack. Two processes are in the same place if function, module and line are the same; at which
/// address the function lies in either of them makes no difference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame {
    /// Its name, or module and offset where it has none.
    pub function: Arc<str>,
    /// The file it is in, without directories; empty for what is no function.
    pub module: Arc<str>,
    /// `file:line` of the source, where it was asked for and is known.
    pub line: Option<Arc<str>>,
}

impl Frame {
    /// Something that is no function.
    pub(crate) fn note(text: &str) -> Frame {
        Frame { function: text.into(), module: "".into(), line: None }
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.function)?;
        match &self.line {
            Some(line) => write!(out, " at {line}"),
            None => Ok(()),
        }
    }
}
