//! Clocks of other hosts: how far they are ahead, how fast that changes, and a bound on the error.
//!
//! Two hosts exchange messages. An [`Exchange`] is the four times of a message there and its answer. A [`PeerClock`] takes
//! them and gives an [`Estimate`] for any time: offset, rate and bound. The bound is not a guess from a round trip: no way takes
//! less than no time, so each exchange limits the offset from both sides, and all of them together limit the line that the
//! offset follows. What is assumed of the clocks is in [`Limits`], and a clock that breaks it is noticed.
//!
//! ```
//! use banyan_clock::{Exchange, Limits, PeerClock};
//!
//! // The peer is one second ahead. Each way takes 100 µs.
//! let mut peer = PeerClock::new(Limits::default());
//! for time in (0..10).map(|second| second * 1_000_000_000) {
//!     let heard = time + 100_000 + 1_000_000_000;
//!     let exchange = Exchange { sent: time, heard, answered: heard + 5_000, received: time + 205_000 };
//!     peer.observe(&exchange).unwrap();
//! }
//! let now = peer.estimate(10_000_000_000).unwrap();
//! assert!((now.offset() - 1_000_000_000).abs() <= now.bound());
//! // Its stamps in the own time.
//! let event = now.correct(11_000_000_000);
//! assert!((event.time - 10_000_000_000).abs() <= event.bound);
//! ```
//!
//! All times are nanoseconds since a moment that each clock chooses for itself. They should come from a clock that nobody
//! sets or slews, such as the processor's time-stamp counter or `CLOCK_MONOTONIC_RAW`.

mod estimate;
mod exchange;
mod peer;
mod timeline;

pub use estimate::{Corrected, Estimate};
pub use exchange::{Exchange, ExchangeError};
pub use peer::{Limits, Observed, PeerClock};
pub use timeline::{Cause, Counts, Event, Ordered, Timeline};
