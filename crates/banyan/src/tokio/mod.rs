//! Networks in programs that run on tokio: the calls that wait for something to come are futures (feature `tokio`).
//!
//! [`AsyncNetwork`] and [`AsyncBackEnd`] hold a [`Network`](crate::Network) or a [`BackEnd`](crate::BackEnd), whose other
//! methods they have too. Those are not futures: they return at once unless there is no room to send. Then they block the
//! thread, so give them a limit (`send_timeout`), or call them in `spawn_blocking`, as you do with
//! [`Network::launch`](crate::Network::launch).
//!
//! The runtime needs its I/O driver (`enable_io`). Futures may be dropped at any time: what has come is not lost.
//!
//! ```no_run
//! use banyan::tokio::AsyncNetwork;
//! use banyan::{Network, NetworkOptions, ProcessDistribution, Record};
//!
//! #[derive(Record)]
//! struct Wanted {
//!     samples: u32,
//! }
//!
//! # async fn front_end() -> Result<(), Box<dyn std::error::Error>> {
//! let members = ProcessDistribution::new(std::env::current_exe()?, ["member"]);
//! let options = NetworkOptions::default().topology("4x16".parse()?);
//! let network = AsyncNetwork::new(Network::launch(&members, &options)?)?;
//! let stream = network.open(&network.everyone(), "max(celsius)")?;
//! stream.send(0, &Wanted { samples: 10 })?;
//! loop {
//!     let wave = network.next_wave(&stream).await?;
//!     println!("{wave:?}");
//! }
//! # }
//! ```

mod back_end;
mod network;
mod watched;

pub use back_end::AsyncBackEnd;
pub use network::AsyncNetwork;
