//! The bounds on topologies. Each is checked before the memory it bounds is taken.

/// Nodes of one topology: four times a million members, so that a slip such as `64x64x64x64` is an error at once and
/// not a machine out of memory.
pub const MAX_NODES: u32 = 4 << 20;

/// Levels below the front-end. Balanced trees need a handful; a chain of agents this long is a mistake in a file.
pub const MAX_DEPTH: u32 = 256;

/// Bytes of one topology file: the most nodes there may be, with names of a usual length.
pub const MAX_TEXT_BYTES: usize = 128 << 20;
