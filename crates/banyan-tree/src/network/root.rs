//! The root of a network that comes up: a driver that lets agents in, and what those are told.
//!
//! Each attempt to launch has a root of its own, with another secret and other listeners. Numbers of nodes begin anew with
//! each, so those of one attempt mean nothing in the next.

use std::sync::Arc;
use std::time::{Duration, Instant};

use banyan_boot::{Launch, Session, SessionOptions};
use banyan_link::{Bell, Encryption, Secret, SessionId};

use super::NetworkOptions;
use crate::combiner::Combiners;
use crate::driver::{Credentials, Driver, NodeAbove, Note};
use crate::error::TreeError;
use crate::format_book::FormatBook;
use crate::ids::{Level, NodeId};
use crate::node::Node;
use crate::registered_filters::registered_filters;

/// See the module.
pub(super) struct Root {
    pub(super) driver: Driver,
    /// What everyone below is told.
    pub(super) note: Note,
}

impl Root {
    /// Listens to this host, and to others if there are any.
    pub(super) fn new(options: &NetworkOptions, is_one_host: bool) -> Result<Root, TreeError> {
        let encryption = if options.session.encrypt { Encryption::BetweenHosts } else { Encryption::Never };
        let mut note = Note {
            network: SessionId::random()?,
            secret: Secret::random()?,
            options: options.node.clone(),
            heartbeat: options.heartbeat,
            silence: options.silence,
            encryption,
            above: Vec::new(),
            member: None,
        };
        let formats = FormatBook::new();
        let filters = Combiners::new(registered_filters(), formats.clone());
        let node = Node::front_end(options.node.clone(), Arc::new(filters));
        let mut driver = Driver::new(node, formats, Credentials::front_end(&note))?;
        let addresses = driver.listen(is_one_host, options.only_tcp)?;
        note.above.push(NodeAbove { node: NodeId::ROOT, level: Level(0), addresses });
        Ok(Root { driver, note })
    }

    /// Starts the session while its agents are let in; `None` if another attempt is to be made.
    pub(super) fn attempt(
        &mut self,
        launch: &mut Launch,
        options: &SessionOptions,
    ) -> Result<Option<Session>, TreeError> {
        let bell = Bell::new()?;
        self.driver.watch_bell(&bell)?;
        std::thread::scope(|scope| {
            let launched = std::thread::Builder::new().name("launch".into()).spawn_scoped(scope, || {
                let session = launch.attempt(options);
                bell.ring();
                session
            })?;
            while !launched.is_finished() {
                self.driver.turn(Some(Instant::now() + Duration::from_millis(100)))?;
            }
            match launched.join() {
                Ok(session) => Ok(session?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }
}
