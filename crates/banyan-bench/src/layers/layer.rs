//! The layers, from a memory copy to a value that a program can use, and which of them stands on which.
//!
//! Above Unix sockets the ways part: within a host links run over Unix sockets, between hosts over TCP, and are encrypted. Both
//! have a tree above them.

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
    /// A member of a tree, whose agent is reached over TCP.
    TcpHop,
    /// That agent and the front-end add the numbers up.
    TcpFilter,
    /// The numbers are read into a struct, over TCP.
    TcpTyped,
}

impl Layer {
    /// All of them; each stands behind the one it stands on.
    pub const ALL: [Layer; 12] = [
        Layer::Copy,
        Layer::Unix,
        Layer::Link,
        Layer::Hop,
        Layer::Filter,
        Layer::Typed,
        Layer::Tcp,
        Layer::TcpLink,
        Layer::TcpEncrypted,
        Layer::TcpHop,
        Layer::TcpFilter,
        Layer::TcpTyped,
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
            Layer::TcpHop => "tcp_hop",
            Layer::TcpFilter => "tcp_filter",
            Layer::TcpTyped => "tcp_typed",
        }
    }

    /// What people call it, who know which stack it is of.
    pub fn title(self) -> &'static str {
        match self {
            Layer::Copy => "memory copy",
            Layer::Unix => "Unix socket",
            Layer::Link | Layer::TcpLink => "link",
            Layer::Hop | Layer::TcpHop => "hop",
            Layer::Filter | Layer::TcpFilter => "filter",
            Layer::Typed | Layer::TcpTyped => "typed value",
            Layer::Tcp => "TCP",
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
            Layer::TcpHop => Some(Layer::TcpEncrypted),
            Layer::TcpFilter => Some(Layer::TcpHop),
            Layer::TcpTyped => Some(Layer::TcpFilter),
        }
    }

    /// Whether nothing stands on it.
    pub(super) fn is_top(self) -> bool {
        Layer::ALL.iter().all(|layer| layer.below() != Some(self))
    }

    /// Whether it stands on TCP.
    pub(super) fn is_over_tcp(self) -> bool {
        self != Layer::Tcp && self.stack().contains(&Layer::Tcp)
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
        write!(f, "{}{}", self.title(), if self.is_over_tcp() { " over TCP" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_two_stacks_that_share_what_is_below_unix_sockets() {
        let tops: Vec<Layer> = Layer::ALL.into_iter().filter(|layer| layer.is_top()).collect();
        assert_eq!(tops, [Layer::Typed, Layer::TcpTyped]);
        assert_eq!(tops[0].stack()[..2], tops[1].stack()[..2]);
        let titles: Vec<&str> = tops[1].stack().into_iter().map(Layer::title).collect();
        let all = ["memory copy", "Unix socket", "TCP", "link", "encryption", "hop", "filter", "typed value"];
        assert_eq!(titles, all);
    }

    #[test]
    fn no_two_layers_are_called_alike() {
        let mut names: Vec<String> = Layer::ALL.map(|layer| layer.to_string()).into();
        assert!(names.contains(&"hop over TCP".to_owned()), "{names:?}");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Layer::ALL.len());
    }

    #[test]
    fn every_layer_comes_behind_the_one_it_stands_on() {
        for (at, layer) in Layer::ALL.iter().enumerate() {
            assert!(layer.below().is_none_or(|below| Layer::ALL[..at].contains(&below)), "{layer}");
        }
    }
}
