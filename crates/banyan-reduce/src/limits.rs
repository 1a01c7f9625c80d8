//! Bounds on what a reduction holds.

/// Bounds on the state of one reduction. All nodes of a stream use the same ones, or what is cut would depend on the
/// shape of the tree.
///
/// What is not bounded here is bounded by the bytes of the records and partial results of one wave.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReductionLimits {
    /// Groups of a `by`. The smallest keys are kept; what belongs to others is counted as `ungrouped`.
    pub groups: usize,
    /// Bytes that the fixed parts of all groups may take: fewer groups are kept where each one is large, as with
    /// histograms and distinct counts.
    pub group_bytes: usize,
    /// Values of one `concat`, `classes` or `union`. The first, or smallest, are kept, and the result says so.
    pub items: usize,
    /// Bytes of one text or blob that is kept: as key, class, or item. A longer one is an error, because a part of
    /// it would be another value.
    pub value_bytes: usize,
    /// Items of one array that is reduced element by element.
    pub elements: usize,
    /// Formats whose compiled steps are remembered. When there are more, they are compiled anew.
    pub formats: usize,
}

banyan_ndr::setters!(ReductionLimits {
    groups: usize,
    group_bytes: usize,
    items: usize,
    value_bytes: usize,
    elements: usize,
    formats: usize,
});

impl Default for ReductionLimits {
    fn default() -> Self {
        ReductionLimits {
            groups: 1 << 12,
            group_bytes: 64 << 20,
            items: 1 << 16,
            value_bytes: 64 << 10,
            elements: 1 << 26,
            formats: 256,
        }
    }
}
