//! Where a listener can be reached.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a listener can be reached. As text: `unix:/run/banyan/socket`, `unix:@name` for a name that is no file,
/// `tcp:10.0.0.1:7777`, `tcp:[::1]:7777`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// A Unix socket in the file system.
    Unix(PathBuf),
    /// A Unix socket of a name that is no file and vanishes with the listener.
    Abstract(String),
    /// TCP.
    Tcp(SocketAddr),
}

/// Text that is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an address; write unix:/path, unix:@name or tcp:HOST-ADDRESS:PORT")]
pub struct AddressError(String);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Abstract(name) => write!(f, "unix:@{name}"),
            Address::Tcp(address) => write!(f, "tcp:{address}"),
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        let wrong = || AddressError(text.to_owned());
        match text.split_once(':').ok_or_else(wrong)? {
            ("unix", name) if name.starts_with('@') && name.len() > 1 => Ok(Address::Abstract(name[1..].to_owned())),
            ("unix", path) if path.starts_with('/') => Ok(Address::Unix(path.into())),
            ("tcp", address) => address.parse().map(Address::Tcp).map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_as_it_is_written() {
        for text in ["unix:/run/socket", "unix:@name", "tcp:10.0.0.1:77", "tcp:[::1]:77"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", "unix:", "unix:@", "unix:relative", "tcp:host:77", "tcp:1.2.3.4", "http://x"] {
            assert_eq!(text.parse::<Address>(), Err(AddressError(text.to_owned())));
        }
    }
}
