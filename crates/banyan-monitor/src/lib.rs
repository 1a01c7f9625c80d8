//! Watching and steering running programs.
