//! Questions about events, as text.
