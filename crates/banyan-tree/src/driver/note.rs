//! What a node of a network is told by the one above it, before there is a link between them: as text, which every
//! machine reads the same. The number of the protocol stands first, in every protocol. Lines that begin with a word that a
//! node does not know are for nodes of later releases.
//!
//! The front-end's note goes to the agents below it with their work; each agent adds itself and hands the note on. A
//! member gets it as the first frame of the socket that it inherits, with its own number in it and a secret that proves
//! no more than that it is this member.

use std::fmt::Write;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use banyan_link::{Address, Encryption, OtherProtocol, PROTOCOL_VERSION, Secret, SecretBytes, SessionId};

use crate::ids::{Level, NodeId};
use crate::message::{Ancestor, Ancestry, Candidate};
use crate::node::NodeOptions;

/// The first word of the first line; behind it is the number of the protocol that the node above speaks.
const HEAD: &str = "banyan-tree";

/// Text of a note at most: a tree of the greatest depth with sixteen addresses for each ancestor.
const TEXT_BYTES: usize = 1 << 20;

/// Members hear of their agent so much less often than agents of each other, and wait so much longer: there are many of
/// them, and each has to wake up for it.
const MEMBERS_TIMES: u32 = 4;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Note {
    pub(crate) network: SessionId,
    /// For agents: from it the secret of every node follows. For a member: its own.
    pub(crate) secret: Secret,
    pub(crate) options: NodeOptions,
    /// Signs of life between agents, and how long they may be missing.
    pub(crate) heartbeat: Duration,
    pub(crate) silence: Duration,
    /// When links are encrypted.
    pub(crate) encryption: Encryption,
    /// Those above, nearest first.
    pub(crate) above: Vec<NodeAbove>,
    /// Whom it is for, if it is a member.
    pub(crate) member: Option<Invited>,
}

/// A node above.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeAbove {
    pub(crate) node: NodeId,
    pub(crate) level: Level,
    pub(crate) addresses: Vec<Address>,
}

/// A member that is to take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Invited {
    pub(crate) node: NodeId,
    pub(crate) rank: u32,
    pub(crate) size: u32,
    /// Which of the processes that have been this member it is, from 0.
    pub(crate) life: u32,
}

/// A note that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoteError {
    #[error("the note of the node above cannot be read: {0}; use one release for the whole network")]
    Unreadable(String),
    #[error("{}; {}", .0.cause("the node above", "this program"), .0.remedy("the program of the network", "this program"))]
    Version(#[from] OtherProtocol),
}

impl Note {
    /// The same, for those below a node.
    pub(crate) fn below(&self, node: NodeId, level: Level, addresses: Vec<Address>) -> Note {
        let mut note = self.clone();
        note.above.insert(0, NodeAbove { node, level, addresses });
        note
    }

    /// The same for a member, which learns no secret but its own.
    pub(crate) fn for_member(&self, invited: Invited) -> Note {
        Note { secret: secret_of(&self.secret, invited.node), member: Some(invited), ..self.clone() }
    }

    /// How often a member hears of its agent, …
    pub(crate) fn members_heartbeat(&self) -> Duration {
        self.heartbeat * MEMBERS_TIMES
    }

    /// … and how long that may be missing.
    pub(crate) fn members_silence(&self) -> Duration {
        self.silence * MEMBERS_TIMES
    }

    /// The ancestry that a node begins with.
    pub(crate) fn ancestry(&self) -> Ancestry {
        let one = |above: &NodeAbove| Ancestor {
            itself: Candidate { node: above.node, level: above.level },
            children: Vec::new(),
        };
        self.above.iter().map(one).collect::<Vec<_>>().into()
    }

    /// Where each of those above listens.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = (NodeId, Arc<[Address]>)> {
        self.above.iter().map(|above| (above.node, above.addresses.clone().into()))
    }

    /// Whether nodes dial each other over TCP alone: the front-end has no other listener then.
    pub(crate) fn only_tcp(&self) -> bool {
        let root = self.above.last();
        root.is_some_and(|root| root.addresses.iter().all(|address| matches!(address, Address::Tcp(_))))
    }

    /// As text.
    pub(crate) fn to_text(&self) -> SecretBytes {
        let NodeOptions {
            capacity,
            window_waves,
            window_bytes,
            ahead_packets,
            ahead_bytes,
            adrift,
            orphan,
            unanswered,
            stopped,
            seed,
            ..
        } = &self.options;
        let mut text = SecretBytes::default();
        push(&mut text, format_args!("{HEAD} {PROTOCOL_VERSION}\nnetwork {}\nsecret ", self.network));
        text.push_hex(&self.secret);
        push(&mut text, format_args!("\nwindow {window_waves} {window_bytes} {ahead_packets} {ahead_bytes}\n"));
        // None is no time at all.
        let [unanswered, stopped] = [unanswered, stopped].map(|time| time.unwrap_or_default());
        let [adrift, orphan, heartbeat, silence, unanswered, stopped] =
            [*adrift, *orphan, self.heartbeat, self.silence, unanswered, stopped].map(|time| time.as_millis());
        push(&mut text, format_args!("patience {adrift} {orphan} {heartbeat} {silence} {unanswered} {stopped}\n"));
        let encrypts = u8::from(self.encryption != Encryption::Never);
        push(&mut text, format_args!("tree {capacity} {seed} {encrypts}\n"));
        for NodeAbove { node, level, addresses } in &self.above {
            push(&mut text, format_args!("above {} {}", node.0, level.0));
            addresses.iter().for_each(|address| push(&mut text, format_args!(" {address}")));
            text.push(b"\n");
        }
        if let Some(Invited { node, rank, size, life }) = self.member {
            push(&mut text, format_args!("member {} {rank} {size} {life}\n", node.0));
        }
        text
    }
}

/// What proves that someone is this node.
pub(crate) fn secret_of(network: &Secret, node: NodeId) -> Secret {
    network.derive("tree node", node.0)
}

fn push(text: &mut SecretBytes, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = text.write_fmt(arguments);
}

impl FromStr for Note {
    type Err = NoteError;

    fn from_str(text: &str) -> Result<Note, NoteError> {
        let wrong = |line: &str| NoteError::Unreadable(format!("{:?}", line.chars().take(40).collect::<String>()));
        // What is wrong about the secret says something of it.
        let shown = |line| if str::starts_with(line, "secret") { "secret" } else { line };
        let mut lines = text.lines();
        let head = lines.next().and_then(|line| line.strip_prefix(HEAD)).filter(|_| text.len() <= TEXT_BYTES);
        let number = head.and_then(|head| head.strip_prefix(' ')?.split(' ').next()?.parse().ok());
        OtherProtocol::check(number.ok_or_else(|| NoteError::Unreadable("it does not begin as notes do".into()))?)?;
        let (mut network, mut secret, mut member) = (None, None, None);
        let mut options = NodeOptions::default();
        let (mut heartbeat, mut silence) = (Duration::ZERO, Duration::ZERO);
        let mut encryption = Encryption::default();
        let mut above = Vec::new();
        for line in lines {
            let mut words = line.split(' ');
            let keyword = words.next().unwrap_or_default();
            let words: Vec<&str> = words.collect();
            let read = match keyword {
                "network" => hexadecimal(&words).map(|bytes| network = Some(SessionId(bytes))),
                "secret" => match words[..] {
                    [digits] => Secret::from_hex(digits).map(|read| secret = Some(read)),
                    _ => None,
                },
                "window" => numbers(&words).map(|[waves, bytes, packets, ahead]: [u64; 4]| {
                    options.window_waves = waves;
                    options.window_bytes = bytes as usize;
                    options.ahead_packets = packets as usize;
                    options.ahead_bytes = ahead as usize;
                }),
                "patience" => numbers(&words).map(|times: [u64; 6]| {
                    let (unanswered, stopped);
                    [options.adrift, options.orphan, heartbeat, silence, unanswered, stopped] =
                        times.map(Duration::from_millis);
                    [options.unanswered, options.stopped] =
                        [unanswered, stopped].map(|time| Some(time).filter(|time| !time.is_zero()));
                }),
                "tree" => numbers(&words).map(|[capacity, seed, encrypts]: [u64; 3]| {
                    options.capacity = capacity as usize;
                    options.seed = seed;
                    encryption = if encrypts == 0 { Encryption::Never } else { Encryption::BetweenHosts };
                }),
                "above" => read_above(&words).map(|node| above.push(node)),
                "member" => numbers(&words).and_then(|numbers: [u64; 4]| {
                    let [node, rank, size, life] = numbers.map(|number| u32::try_from(number).ok());
                    member = Some(Invited { node: NodeId(node?), rank: rank?, size: size?, life: life? });
                    Some(())
                }),
                _ => Some(()),
            };
            read.ok_or_else(|| wrong(shown(line)))?;
        }
        let network = network.ok_or_else(|| wrong("network"))?;
        let secret = secret.ok_or_else(|| wrong("secret"))?;
        if above.is_empty() {
            return Err(wrong("above"));
        }
        Ok(Note { network, secret, options, heartbeat, silence, encryption, above, member })
    }
}

fn read_above(words: &[&str]) -> Option<NodeAbove> {
    let [node, level, addresses @ ..] = words else { return None };
    let addresses: Result<Vec<Address>, _> = addresses.iter().map(|word| word.parse()).collect();
    Some(NodeAbove { node: NodeId(node.parse().ok()?), level: Level(level.parse().ok()?), addresses: addresses.ok()? })
}

fn numbers<const N: usize>(words: &[&str]) -> Option<[u64; N]> {
    let numbers: Result<Vec<u64>, _> = words.iter().map(|word| word.parse()).collect();
    numbers.ok()?.try_into().ok()
}

fn hexadecimal<const N: usize>(words: &[&str]) -> Option<[u8; N]> {
    let [word] = words else { return None };
    if word.len() != 2 * N || !word.is_ascii() {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, digits) in bytes.iter_mut().zip(word.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note() -> Note {
        let above = NodeAbove {
            node: NodeId(3),
            level: Level(2),
            addresses: vec!["unix:@name".parse().unwrap(), "tcp:[::1]:77".parse().unwrap()],
        };
        let top = NodeAbove { node: NodeId(0), level: Level(0), addresses: Vec::new() };
        Note {
            network: SessionId([7; 16]),
            secret: Secret::from_bytes([9; 32]),
            options: NodeOptions { window_waves: 17, seed: 5, ..NodeOptions::default() },
            heartbeat: Duration::from_millis(250),
            silence: Duration::from_secs(1),
            encryption: Encryption::Never,
            above: vec![above, top],
            member: None,
        }
    }

    fn text(note: &Note) -> String {
        note.to_text().expose_text().unwrap().to_owned()
    }

    #[test]
    fn a_note_of_another_protocol_is_refused_however_it_goes_on() {
        let error = "banyan-tree 2 and more\nsealed\n".parse::<Note>().unwrap_err().to_string();
        assert_eq!(
            error,
            "the node above speaks protocol 2 of Banyan, this program protocol 1; update this program: build it with a \
             release of Banyan that speaks protocol 2"
        );
    }

    #[test]
    fn a_note_of_another_release_reads_the_same() {
        let text = text(&note());
        let later = text.replacen("banyan-tree 1\n", "banyan-tree 1 0.9.0\nbark 5 rough\n", 1) + "leaves\n";
        assert!(later.contains("bark"));
        assert_eq!(super::tests::text(&later.parse().unwrap()), text);
    }

    #[test]
    fn a_note_reads_as_it_was_written() {
        let invited = Invited { node: NodeId(12), rank: 4, size: 8, life: 1 };
        for note in [note(), note().for_member(invited), note().below(NodeId(4), Level(3), Vec::new())] {
            let read: Note = text(&note).parse().unwrap();
            assert_eq!(read.to_text(), note.to_text());
            assert_eq!((read.above.len(), read.member), (note.above.len(), note.member));
            assert_eq!(read.encryption, Encryption::Never);
        }
    }

    #[test]
    fn a_member_does_not_learn_the_secret_of_the_network() {
        let invited = Invited { node: NodeId(12), rank: 4, size: 8, life: 0 };
        let note = note();
        assert!(note.for_member(invited).secret != note.secret);
    }

    #[test]
    fn what_is_no_note_is_refused_with_the_line() {
        let good = text(&note());
        for (from, to) in
            [("above 3 2", "above 3"), ("secret 09", "secret 9"), ("\ntree ", "\ntree x"), ("tcp:", "tpc:")]
        {
            let bad = good.replacen(from, to, 1);
            let error = bad.parse::<Note>().unwrap_err().to_string();
            assert!(error.contains("cannot be read") && !error.contains("0909"), "{error}");
        }
        assert!("".parse::<Note>().is_err());
        assert!(good.lines().take(3).collect::<Vec<_>>().join("\n").parse::<Note>().is_err(), "nobody is above");
    }
}
