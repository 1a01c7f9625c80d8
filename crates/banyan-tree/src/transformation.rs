//! What a node does with the contributions to waves: runs in, one run out.
//!
//! This is the node's view, which knows nothing of formats. [`Combiners`](crate::Combiners) makes transformations of
//! filters, which see one wave at a time.

use std::sync::Arc;
use std::time::Duration;

use banyan_reduce::{Bodies, FilterRole, Recovery};

use crate::run::Run;

/// Combines what came from several children into one.
///
/// It must give the same result however contributions were grouped before, because after a failure a wave's
/// contributions may come to the front-end one by one.
pub trait Transformation: Send {
    /// Combines the first waves of the parts, one or more: one body a wave, which at the root is what the program
    /// receives. All parts are of the same waves, and in the order of their lowest members. What was not combined is
    /// given again, without what was.
    ///
    /// # Errors
    /// If the first wave cannot be combined. Its parts then go on to the front-end one by one, which tries again and
    /// delivers the error in place of the wave.
    fn combine(&mut self, parts: &[Run], place: FilterRole) -> Result<Bodies, TransformationError>;

    /// Looks at partial results that a member made itself, when they come.
    ///
    /// # Errors
    /// If they speak for others.
    fn verify(&mut self, part: &Run) -> Result<(), TransformationError> {
        let _ = part;
        Ok(())
    }

    /// On a stream without waves: what becomes of the first records of a run, one or more. None, one or several bodies of each
    /// record, which keep its number. What a filter below made of a record may be several bodies, too.
    ///
    /// # Errors
    /// If nothing can be said of the first record, which then goes on as it is.
    fn sift(&mut self, run: &Run, place: FilterRole) -> Result<Run, TransformationError> {
        let _ = place;
        Ok(run.clone())
    }

    /// What records lacked that it was given since this was last asked.
    fn missing_fields(&mut self) -> Vec<MissingField> {
        Vec::new()
    }

    /// How its state comes back when its node dies.
    fn recovery(&self) -> Recovery {
        Recovery::Recomputed
    }
}

/// A field that a transformation wants, and that records of a member lack.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingField {
    /// The field, for people.
    pub field: Arc<str>,
    /// Whose records lack it.
    pub member: u32,
}

/// Why contributions could not be combined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TransformationError(pub String);

/// Makes transformations from what a stream was opened with.
pub trait Transformations: Send {
    /// The one of this text.
    ///
    /// # Errors
    /// If this node cannot do that.
    fn make(&self, text: &str) -> Result<Box<dyn Transformation>, TransformationError>;

    /// The time that all of them have taken so far, if that is known.
    fn time(&self) -> Duration {
        Duration::ZERO
    }
}
