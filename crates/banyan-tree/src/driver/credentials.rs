//! How the links of a node are set up, and how it proves who it is.

use std::time::Duration;

use banyan_link::{Heartbeat, LinkOptions, Secret, SessionId, Slabs, frame_cost};

use super::note::{Note, secret_of};
use super::tree_link::LONGEST_PAYLOAD;
use crate::format_book::MOST_FORMATS;
use crate::ids::NodeId;
use crate::wire::{CLOCKS, SHARED_MEMORY};

/// Memory that an agent keeps while large records pass: what some dozens of children have under way.
const SPARE_BYTES: usize = 64 << 20;

/// How links of this node are set up and proved.
#[derive(Debug, Clone)]
pub(crate) struct Credentials {
    pub(crate) network: SessionId,
    /// What proves that this node is who it says.
    pub(crate) own: Secret,
    /// From it follows what proves others; nodes that never have children have none.
    pub(crate) all: Option<Secret>,
    pub(crate) links: LinkOptions,
    /// How long another host may acknowledge nothing.
    pub(crate) silence: Duration,
}

impl Credentials {
    /// Of an agent, whose thread can give signs of life whenever they are due.
    pub(crate) fn agent(note: &Note, node: NodeId) -> Credentials {
        let heartbeat = Heartbeat::default().every(note.heartbeat).lost_after(note.silence);
        Credentials {
            network: note.network,
            own: secret_of(&note.secret, node),
            all: Some(note.secret.clone()),
            links: link_options().heartbeat(heartbeat).slabs(Slabs::keeping(SPARE_BYTES)).encryption(note.encryption),
            silence: note.silence,
        }
    }

    /// Of the front-end, which is silent while its caller computes.
    pub(crate) fn front_end(note: &Note) -> Credentials {
        Credentials {
            network: note.network,
            own: secret_of(&note.secret, NodeId::ROOT),
            all: Some(note.secret.clone()),
            links: silent_links(note.silence).encryption(note.encryption),
            silence: note.silence,
        }
    }

    /// Of a member, which is silent while its caller computes and knows no secret but its own.
    pub(crate) fn member(note: &Note, slabs: Slabs) -> Credentials {
        let silence = note.members_silence();
        Credentials {
            network: note.network,
            own: note.secret.clone(),
            all: None,
            links: silent_links(silence).slabs(slabs).encryption(note.encryption),
            silence,
        }
    }
}

/// Every link of a tree: four large frames under way, and as many formats as a node knows.
fn link_options() -> LinkOptions {
    let max_payload = LONGEST_PAYLOAD;
    let (window, formats) = (4 * frame_cost(max_payload), MOST_FORMATS);
    let capabilities = SHARED_MEMORY | CLOCKS;
    LinkOptions::default()
        .max_payload(max_payload)
        .window(window)
        .formats(formats)
        .heartbeat(None)
        .capabilities(capabilities)
}

/// Links of those who compute: they give no signs of life, and notice when agents give none for so long.
pub(crate) fn silent_links(silence: Duration) -> LinkOptions {
    let heartbeat = Heartbeat::default().every(Duration::ZERO).lost_after(silence);
    link_options().heartbeat(heartbeat)
}
