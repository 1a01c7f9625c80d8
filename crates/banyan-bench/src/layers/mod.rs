//! `banyan bench layers`: where the performance goes, from a memory copy to a value that a program can use.
//!
//! Each layer does the same, with everything below it and what it adds: round trips of a message, and messages in one
//! direction as fast as they come, between real processes over real sockets of this machine. Layers take turns,
//! repetition by repetition, so that a slow minute of the machine hits all of them; the middle repetition counts, and
//! what the others say shows how much of a difference is noise.

mod copy;
mod layer;
mod link;
mod order;
mod pass;
mod path;
mod picture;
mod rows;
mod socket;
mod tree;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use banyan_link::{Address, Encryption};

use crate::channel::Channel;
use crate::pace::{Spread, fill};
use crate::peer::{Peer, be_peer};
use path::Path;

pub use layer::Layer;
pub use pass::add_filters;
pub use path::Cause;
pub use picture::layers_plot;
pub use rows::{LayerRow, Measure, layers_json, layers_table, layers_words};

/// Sizes of messages that are measured if nothing else is said.
pub const SIZES: [usize; 5] = [64, 1 << 10, 16 << 10, 64 << 10, LONGEST];

/// The longest message: the longest frame of a link, by default.
pub const LONGEST: usize = 1 << 20;

/// Messages of arrays of doubles have multiples of this many bytes.
pub const STEP: usize = path::NUMBER;

/// How long to measure.
#[derive(Debug, Clone, Copy)]
pub struct LayersEffort {
    /// How often all of it is done.
    pub repetitions: usize,
    /// How long one figure is measured within that.
    pub within: Duration,
}

impl LayersEffort {
    /// For a first look.
    pub const QUICK: LayersEffort = LayersEffort { repetitions: 3, within: Duration::from_millis(20) };
    /// For figures worth publishing.
    pub const FULL: LayersEffort = LayersEffort { repetitions: 9, within: Duration::from_millis(100) };
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct LayersPlan {
    /// With messages of how many bytes: multiples of [`STEP`] up to [`LONGEST`].
    pub sizes: Vec<usize>,
    /// How long.
    pub effort: LayersEffort,
}

/// Why the bench could not be run.
#[derive(Debug, thiserror::Error)]
#[error("{layer}: {cause}")]
#[non_exhaustive]
pub struct LayersError {
    /// Which layer did not work.
    pub layer: Layer,
    /// Why.
    #[source]
    pub cause: Box<Cause>,
}

/// Measures everything in the plan. This program has to have [registered](banyan_tree::register_filters) what [`add_filters`]
/// adds.
///
/// # Errors
/// If a layer does not work here.
pub fn run(plan: &LayersPlan, progress: &mut dyn FnMut(&str)) -> Result<Vec<LayerRow>, LayersError> {
    progress("processes start");
    let mut paths = start()?;
    let mut rows = Vec::new();
    for bytes in &plan.sizes {
        let mut figures = vec![[Vec::new(), Vec::new()]; paths.len()];
        for repetition in 1..=plan.effort.repetitions {
            for ((layer, path), figures) in paths.iter_mut().zip(&mut figures) {
                progress(&format!("{layer}, {bytes} B, {repetition} of {}", plan.effort.repetitions));
                let measured = measure(&mut **path, *bytes, plan.effort.within);
                let measured = measured.map_err(|cause| LayersError { layer: *layer, cause: Box::new(cause) })?;
                figures.iter_mut().zip(measured).for_each(|(figures, figure)| figures.push(figure));
            }
        }
        for ((layer, _), figures) in paths.iter().zip(figures) {
            let spreads = Measure::ALL.into_iter().zip(figures.map(Spread::of));
            rows.extend(spreads.map(|(measure, seconds)| LayerRow::new(*layer, measure, *bytes, seconds)));
        }
    }
    rows::compare(&mut rows);
    Ok(rows)
}

/// The seconds of a round trip, and of each message when they come as fast as they can.
fn measure(path: &mut dyn Path, bytes: usize, within: Duration) -> Result<[f64; 2], Cause> {
    let mut times = Vec::new();
    fill(within, 1, |count| {
        let begin = Instant::now();
        times = path.round_trips(bytes, count)?;
        Ok::<_, Cause>(begin.elapsed())
    })?;
    let message = fill(within, 1, |count| path.messages(bytes, count))?;
    Ok([Spread::of(times).middle, message])
}

/// A layer, and the way to the process at its other end.
type Started = (Layer, Box<dyn Path>);

/// All layers, with the processes they need.
fn start() -> Result<Vec<Started>, LayersError> {
    let failed = |layer| move |cause| LayersError { layer, cause: Box::new(cause) };
    let tree = tree::LayerTree::start(false).map_err(failed(Layer::Hop))?;
    let tcp_tree = tree::LayerTree::start(true).map_err(failed(Layer::TcpHop))?;
    let path = |layer| -> Result<Box<dyn Path>, Cause> {
        let member = |tree: &Rc<tree::LayerTree>| tree::Member { layer, tree: Rc::clone(tree) };
        Ok(match layer {
            Layer::Copy => Box::new(copy::Copy::default()),
            Layer::Unix => Box::new(socket::Socket::start(Channel::unix()?)?),
            Layer::Tcp => Box::new(socket::Socket::start(Channel::tcp()?)?),
            Layer::Link => Box::new(link::Linked::start(&on_this_host(), Encryption::Never)?),
            Layer::TcpLink => Box::new(link::Linked::start(&loopback(), Encryption::Never)?),
            Layer::TcpEncrypted => Box::new(link::Linked::start(&loopback(), Encryption::Always)?),
            Layer::Hop | Layer::Filter | Layer::Typed => Box::new(member(&tree)),
            Layer::TcpHop | Layer::TcpFilter | Layer::TcpTyped => Box::new(member(&tcp_tree)),
        })
    };
    Layer::ALL.into_iter().map(|layer| Ok((layer, path(layer).map_err(failed(layer))?))).collect()
}

fn on_this_host() -> Address {
    Address::Abstract(format!("banyan-bench-layers-{}", std::process::id()))
}

fn loopback() -> Address {
    Address::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
}

/// What a process of this bench is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Socket,
    Link,
}

impl Role {
    /// The first argument of such a process.
    fn word(self) -> &'static str {
        match self {
            Role::Socket => "bench-layers-socket",
            Role::Link => "bench-layers-link",
        }
    }
}

/// Starts the process at the other end, for links with the address to dial and how.
fn start_peer(role: Role, dial: Option<(&str, &str)>, stdin: OwnedFd) -> io::Result<Peer> {
    let arguments: Vec<&str> =
        [role.word()].into_iter().chain(dial.into_iter().flat_map(|(address, how)| [address, how])).collect();
    Peer::start(&arguments, stdin)
}

/// Never returns in a process that this bench has started. Call it first of all in `main`.
pub fn become_process_if_asked() {
    tree::become_member_if_asked();
    let mut arguments = std::env::args().skip(1);
    let word = arguments.next();
    let role = [Role::Socket, Role::Link].into_iter().find(|role| Some(role.word()) == word.as_deref());
    match role {
        Some(Role::Socket) => be_peer("layers", socket::serve),
        Some(Role::Link) => be_peer("layers", || link::serve(&arguments.collect::<Vec<_>>())),
        None => {}
    }
}
