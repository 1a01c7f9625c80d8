//! Tunnels of extensions, in the links of this node: to the node above for its own extension, from agents below to it.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

use banyan_link::{Frame, Poller};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};

use super::token::Token;
use super::{Node, Up};
use crate::message;
use crate::tunnel::{TUNNELS, Tunnels, Violation};

/// A slot of the tunnels over the link to the parent, or to a child agent, as the poller knows it.
fn token(link: Token, slot: usize) -> Token {
    match link {
        Token::Agent(index) => Token::TunnelBelow(index * TUNNELS as u32 + slot as u32),
        _ => Token::TunnelAbove(slot as u32),
    }
}

impl Node {
    /// The tunnels over a link.
    fn tunnels(&mut self, link: Token) -> Option<(&mut Tunnels, &Poller, &mut Vec<u8>)> {
        let tunnels = match link {
            Token::Parent => &mut self.tunnels_above,
            Token::Agent(index) => &mut self.agents.get_mut(index as usize)?.tunnels,
            _ => return None,
        };
        Some((tunnels, &self.poller, &mut self.read_buffer))
    }

    /// The extension wants a tunnel to the node above. Without a link, or with too many tunnels, it finds the socket closed.
    pub(super) fn open_tunnel(&mut self, socket: OwnedFd) {
        let Up::Parent(_) = self.up else { return };
        let mut out = Vec::new();
        if let Some(slot) = self.tunnels_above.open(socket, &mut out) {
            self.send_tunnelled(Token::Parent, out);
            self.serve_tunnel(Token::Parent, slot);
        }
    }

    /// A tunnel's socket is ready.
    pub(super) fn tunnel_ready(&mut self, token: Token) {
        match token {
            Token::TunnelAbove(slot) => self.serve_tunnel(Token::Parent, slot as usize),
            Token::TunnelBelow(number) => {
                let (index, slot) = (number / TUNNELS as u32, number as usize % TUNNELS);
                self.serve_tunnel(Token::Agent(index), slot);
            }
            _ => {}
        }
    }

    /// A frame of the parent about a tunnel.
    pub(super) fn tunnel_from_parent(&mut self, frame: &Frame) {
        match self.tunnels_above.take(frame) {
            Ok(slot) => self.serve_tunnel(Token::Parent, slot),
            Err(violation) => self.give_up(&format!("the parent sent {violation}")),
        }
    }

    /// A frame of a child agent about a tunnel.
    pub(super) fn tunnel_from_agent(&mut self, index: usize, frame: &Frame) {
        let port = self.extension_port();
        let has_extension = self.assignment.note.is_some();
        let tunnels = &mut self.agents[index].tunnels;
        let slot = match frame.kind {
            message::TUNNEL_OPEN if !has_extension => Err(Violation::NoExtension),
            message::TUNNEL_OPEN => tunnels.opened(frame.stream, || port.and_then(|port| socket_to(port).ok())),
            _ => tunnels.take(frame),
        };
        let token = Token::Agent(index as u32);
        match slot {
            Ok(slot) => self.serve_tunnel(token, slot),
            Err(violation) => self.broken(token, &violation.to_string()),
        }
    }

    fn serve_tunnel(&mut self, link: Token, slot: usize) {
        let mut out = Vec::new();
        let Some((tunnels, poller, buffer)) = self.tunnels(link) else { return };
        tunnels.serve(slot, buffer, poller, &mut out);
        if !tunnels.watch(slot, poller, token(link, slot).number()) {
            // Without a place in the poller nobody would serve it.
            tunnels.close(slot, poller, &mut out);
        }
        self.send_tunnelled(link, out);
    }

    fn send_tunnelled(&mut self, link: Token, frames: Vec<Frame>) {
        if let Some(wire) = self.wire(link).filter(|_| !frames.is_empty()) {
            frames.into_iter().for_each(|frame| wire.link.send(frame));
            self.flow.touch(link);
        }
    }

    /// The link is gone, and with it all tunnels over it.
    pub(super) fn end_tunnels(&mut self, link: Token) {
        if let Some((tunnels, poller, _)) = self.tunnels(link) {
            tunnels.end(poller);
        }
    }
}

/// A connection to this machine, which is there in a moment or is closed.
fn socket_to(port: u16) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    match connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}
