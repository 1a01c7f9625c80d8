//! Frames between two processes.
