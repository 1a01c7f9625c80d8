//! Where topologies come from: words, files, standard input; and the hosts they are laid over.

use std::io::Read;
use std::path::Path;

use banyan_boot::HostSet;
use banyan_tree::topology::{MAX_TEXT_BYTES, Spec, Topology, TopologyError};

use crate::failure::{Failure, cause};
use crate::records::input;

/// The topology that a word describes.
pub(super) fn of_spec(spec: &Spec, hosts: Option<&HostSet>) -> Result<Topology, Failure> {
    let built = hosts.map_or_else(|| spec.build(), |hosts| spec.build_on(hosts));
    built.map_err(|error| Failure::usage(format!("{spec}: {error}")))
}

/// The topology of a word, or in a file that no word is like.
pub(super) fn of_spec_or_file(name: &str, hosts: Option<&HostSet>) -> Result<Topology, Failure> {
    match name.parse::<Spec>() {
        Ok(spec) => of_spec(&spec, hosts),
        Err(error) if name != "-" && !Path::new(name).exists() => {
            Err(Failure::usage(format!("{name}: no such file, and as a word: {error}")))
        }
        Err(_) => of_file(name, hosts)?.map_err(|error| refused(name, &error)),
    }
}

/// The topology in a file, or why it is none.
pub(super) fn of_file(name: &str, hosts: Option<&HostSet>) -> Result<Result<Topology, TopologyError>, Failure> {
    let mut bytes = Vec::new();
    // One byte more than may be there tells that there are more.
    let mut limited = input(name)?.take(MAX_TEXT_BYTES as u64 + 1);
    let read = limited.read_to_end(&mut bytes);
    read.map_err(|error| Failure::new(format!("{}: cannot be read: {}", title(name), cause(&error))))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        Failure::usage(format!("{}: the byte at offset {offset} is no text; is it a topology?", title(name)))
    })?;
    Ok(Topology::parse(&text, hosts))
}

pub(super) fn refused(name: &str, error: &TopologyError) -> Failure {
    Failure::usage(format!("{}: {error}", title(name)))
}

/// What a file is called in what people read.
pub(super) fn title(name: &str) -> &str {
    if name == "-" { "standard input" } else { name }
}
