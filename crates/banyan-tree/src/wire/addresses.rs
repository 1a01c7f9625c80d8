//! Addresses as bytes: what kind it is (8 bits), then
//!
//! | | |
//! | --- | --- |
//! | 1: a socket in the file system | length of its path (8 bits), the path |
//! | 2: a socket of a name | length of the name (8 bits), the name |
//! | 3: TCP over IPv4 | address (4 bytes), port (16 bits) |
//! | 4: TCP over IPv6 | address (16 bytes), port (16 bits), flow and scope (32 bits each) |

use std::ffi::OsStr;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use banyan_link::Address;

use crate::ids::NodeId;

use super::error::WireError;
use super::reader::Reader;

/// Addresses that are told of one node: a socket on its host, and some networks. Further ones are left out.
pub(super) const ADDRESSES_OF_NODE: usize = 8;

const UNIX: u8 = 1;
const ABSTRACT: u8 = 2;
const TCP_4: u8 = 3;
const TCP_6: u8 = 4;

/// Appends a node and its addresses, as far as they mean anything to others.
pub(super) fn push(bytes: &mut Vec<u8>, node: NodeId, addresses: &[Address]) {
    bytes.extend_from_slice(&node.0.to_le_bytes());
    let count = bytes.len();
    bytes.push(0);
    for address in addresses.iter().filter(|address| is_for_others(address)).take(ADDRESSES_OF_NODE) {
        push_address(bytes, address);
        bytes[count] += 1;
    }
}

/// Whether it can be told: no system takes longer names, and a path that depends on who reads it leads nowhere.
fn is_for_others(address: &Address) -> bool {
    match address {
        Address::Unix(path) => is_path(path.as_os_str().as_bytes()),
        Address::Abstract(name) => is_name(name),
        Address::Tcp(_) => true,
    }
}

fn is_path(path: &[u8]) -> bool {
    path.starts_with(b"/") && u8::try_from(path.len()).is_ok() && !path.contains(&0)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && u8::try_from(name.len()).is_ok()
}

fn push_address(bytes: &mut Vec<u8>, address: &Address) {
    match address {
        Address::Unix(path) => push_name(bytes, UNIX, path.as_os_str().as_bytes()),
        Address::Abstract(name) => push_name(bytes, ABSTRACT, name.as_bytes()),
        Address::Tcp(SocketAddr::V4(address)) => {
            bytes.push(TCP_4);
            bytes.extend_from_slice(&address.ip().octets());
            bytes.extend_from_slice(&address.port().to_le_bytes());
        }
        Address::Tcp(SocketAddr::V6(address)) => {
            bytes.push(TCP_6);
            bytes.extend_from_slice(&address.ip().octets());
            bytes.extend_from_slice(&address.port().to_le_bytes());
            bytes.extend_from_slice(&address.flowinfo().to_le_bytes());
            bytes.extend_from_slice(&address.scope_id().to_le_bytes());
        }
    }
}

fn push_name(bytes: &mut Vec<u8>, kind: u8, name: &[u8]) {
    // Longer ones are not for others.
    bytes.extend_from_slice(&[kind, name.len() as u8]);
    bytes.extend_from_slice(name);
}

impl Reader<'_> {
    /// A node and its addresses.
    pub(super) fn node_with_addresses(&mut self) -> Result<(NodeId, Arc<[Address]>), WireError> {
        let node = NodeId(self.u32("a node")?);
        let count = self.u8("how many addresses there are")?;
        if usize::from(count) > ADDRESSES_OF_NODE {
            return Err(self.value("how many addresses there are", count));
        }
        let addresses = (0..count).map(|_| self.address()).collect::<Result<Vec<Address>, WireError>>()?;
        Ok((node, addresses.into()))
    }

    fn address(&mut self) -> Result<Address, WireError> {
        let at = self.at();
        match self.u8("the kind of an address")? {
            UNIX => {
                let path = self.name()?;
                let path = is_path(path).then(|| Path::new(OsStr::from_bytes(path)).to_owned());
                path.map(Address::Unix).ok_or_else(|| self.malformed("a path", at))
            }
            ABSTRACT => {
                let name = std::str::from_utf8(self.name()?).ok().filter(|name| is_name(name));
                name.map(|name| Address::Abstract(name.to_owned())).ok_or_else(|| self.malformed("a name", at))
            }
            TCP_4 => {
                let ip = Ipv4Addr::from(self.array::<4>("an address")?);
                Ok(Address::Tcp(SocketAddrV4::new(ip, self.u16("a port")?).into()))
            }
            TCP_6 => {
                let ip = Ipv6Addr::from(self.array::<16>("an address")?);
                let port = self.u16("a port")?;
                let (flow, scope) = (self.u32("a flow")?, self.u32("a scope")?);
                Ok(Address::Tcp(SocketAddrV6::new(ip, port, flow, scope).into()))
            }
            kind => Err(self.value("the kind of an address", kind)),
        }
    }

    fn name(&mut self) -> Result<&[u8], WireError> {
        let length = self.u8("the length of a name")?;
        self.bytes("a name", length.into())
    }
}
