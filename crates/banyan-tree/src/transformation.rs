//! What a node does with the contributions to a wave.

use crate::run::{Bodies, Run};

/// Combines what came from several children into one.
///
/// It must give the same result however contributions were grouped before, because after a failure a wave's
/// contributions may come to the front-end one by one.
pub trait Transformation: Send {
    /// Combines, wave by wave. All parts are of the same waves, and in the order of their lowest members.
    ///
    /// # Errors
    /// If the parts cannot be combined. They then go on to the front-end one by one, which tries again and delivers the
    /// error in place of the wave.
    fn combine(&mut self, parts: &[Run]) -> Result<Bodies, TransformationError>;
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
}
