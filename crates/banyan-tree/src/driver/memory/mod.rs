//! Memory that a node shares with those below it on its host: small frames go through it, in one order with those that take the
//! socket ([`banyan_link::shared`]).
//!
//! What that saves is system calls and turns of the processor. A node wakes all its children with one call. A child that
//! contributes to a wave makes none at all, unless it is the last that the node waits for; so a node sleeps until a wave is
//! there, and not until the next child has spoken.
//!
//! Whoever takes a child in on its own host makes a place for it, memory that nobody else maps, and offers it; the descriptors
//! come along. The child answers when it reads there. Until then, and wherever the system refuses, there is the socket.

mod above;
mod below;

pub(super) use above::ParentMemory;
pub(super) use below::ChildrenMemory;
