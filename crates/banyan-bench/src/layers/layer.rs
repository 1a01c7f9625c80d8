//! The layers, from a memory copy to a value that a program can use, and which of them stands on which.
//!
//! Above Unix sockets the ways part: on one host links run over Unix sockets, with the tree above them; between hosts they
//! run over TCP, and are encrypted.

use std::fmt;

/// One layer: everything below it, and what it adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// The bytes, from one place in memory to another, by one process.
    Copy,
    /// The bytes through a Unix socket to another process.
    Unix,
    /// Frames, with credit, over a Unix socket whose other end has proved who it is.
    Link,
    /// A member of a tree instead of a peer: an agent stands between, and passes waves on as they are.
    Hop,
    /// The agent and the front-end add the numbers up (`sum(values)`).
    Filter,
    /// The numbers are read into a struct.
    Typed,
    /// The bytes through TCP over loopback.
    Tcp,
    /// Frames over TCP.
    TcpLink,
    /// Frames over TCP, encrypted.
    TcpEncrypted,
}

impl Layer {
    /// All of them; each stands behind the one it stands on.
    pub const ALL: [Layer; 9] = [
        Layer::Copy,
        Layer::Unix,
        Layer::Link,
        Layer::Hop,
        Layer::Filter,
        Layer::Typed,
        Layer::Tcp,
        Layer::TcpLink,
        Layer::TcpEncrypted,
    ];

    /// The name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Copy => "copy",
            Layer::Unix => "unix",
            Layer::Link => "link",
            Layer::Hop => "hop",
            Layer::Filter => "filter",
            Layer::Typed => "typed",
            Layer::Tcp => "tcp",
            Layer::TcpLink => "tcp_link",
            Layer::TcpEncrypted => "tcp_encrypted",
        }
    }

    /// What people call it.
    pub fn title(self) -> &'static str {
        match self {
            Layer::Copy => "memory copy",
            Layer::Unix => "Unix socket",
            Layer::Link => "link",
            Layer::Hop => "hop",
            Layer::Filter => "filter",
            Layer::Typed => "typed value",
            Layer::Tcp => "TCP",
            Layer::TcpLink => "link (TCP)",
            Layer::TcpEncrypted => "encryption",
        }
    }

    /// The one it stands on.
    pub fn below(self) -> Option<Layer> {
        match self {
            Layer::Copy => None,
            Layer::Unix => Some(Layer::Copy),
            Layer::Link | Layer::Tcp => Some(Layer::Unix),
            Layer::Hop => Some(Layer::Link),
            Layer::Filter => Some(Layer::Hop),
            Layer::Typed => Some(Layer::Filter),
            Layer::TcpLink => Some(Layer::Tcp),
            Layer::TcpEncrypted => Some(Layer::TcpLink),
        }
    }

    /// Whether nothing stands on it.
    pub(super) fn is_top(self) -> bool {
        Layer::ALL.iter().all(|layer| layer.below() != Some(self))
    }

    /// It and everything below it, from the bottom.
    pub(super) fn stack(self) -> Vec<Layer> {
        let mut stack: Vec<Layer> = std::iter::successors(Some(self), |layer| layer.below()).collect();
        stack.reverse();
        stack
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_two_stacks_that_share_what_is_below_unix_sockets() {
        let tops: Vec<Layer> = Layer::ALL.into_iter().filter(|layer| layer.is_top()).collect();
        assert_eq!(tops, [Layer::Typed, Layer::TcpEncrypted]);
        assert_eq!(tops[0].stack()[..2], tops[1].stack()[..2]);
        assert_eq!(tops[1].stack(), [Layer::Copy, Layer::Unix, Layer::Tcp, Layer::TcpLink, Layer::TcpEncrypted]);
    }

    #[test]
    fn every_layer_comes_behind_the_one_it_stands_on() {
        for (at, layer) in Layer::ALL.iter().enumerate() {
            assert!(layer.below().is_none_or(|below| Layer::ALL[..at].contains(&below)), "{layer}");
        }
    }
}
