//! Keys: what a terminal sends for them, and what they do to the view.

use super::view::{By, View};
use super::watch::Within;

/// A key that means something here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Letter(char),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Erase,
    Escape,
    Interrupt,
}

/// Bytes of a sequence at most; what is longer is none.
const MAX_SEQUENCE: usize = 16;

/// Rows of a page.
const PAGE: usize = 10;

/// Letters of a filter at most.
const MAX_FILTER: usize = 64;

/// Makes keys of bytes. A sequence may come in pieces.
#[derive(Debug, Default)]
pub(super) struct Keyboard {
    pending: Vec<u8>,
}

impl Keyboard {
    /// The keys that are complete now.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        let mut rest = &self.pending[..];
        while let Some((key, length)) = first(rest) {
            keys.extend(key);
            rest = &rest[length..];
        }
        self.pending = if rest.len() > MAX_SEQUENCE { Vec::new() } else { rest.to_vec() };
        keys
    }

    /// Whether something has come that may be the beginning of a key.
    pub(super) fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Nothing more has come: an escape alone is the key of that name.
    pub(super) fn give_up(&mut self) -> Option<Key> {
        let is_escape = self.pending.first() == Some(&0x1b);
        self.pending.clear();
        is_escape.then_some(Key::Escape)
    }
}

/// The first key in bytes and how many of them it takes; a key that means nothing here is none.
fn first(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let key = |key| Some((Some(key), 1));
    match bytes {
        [] => None,
        [b'\r' | b'\n', ..] => key(Key::Enter),
        [0x7f | 0x08, ..] => key(Key::Erase),
        [0x03, ..] => key(Key::Interrupt),
        [0x1b, 0x1b, ..] => key(Key::Escape),
        [0x1b, b'[' | b'O', rest @ ..] => {
            let end = rest.iter().position(|byte| (0x40..=0x7e).contains(byte))?;
            Some((sequence(&rest[..end], rest[end]), end + 3))
        }
        [0x1b] => None,
        // A letter with Alt.
        [0x1b, _, ..] => Some((None, 2)),
        [0x00..0x20, ..] => Some((None, 1)),
        _ => letter(bytes),
    }
}

fn sequence(parameters: &[u8], end: u8) -> Option<Key> {
    Some(match (end, parameters) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'C', _) => Key::Right,
        (b'D', _) => Key::Left,
        (b'H', _) | (b'~', b"1" | b"7") => Key::Home,
        (b'F', _) | (b'~', b"4" | b"8") => Key::End,
        (b'~', b"5") => Key::PageUp,
        (b'~', b"6") => Key::PageDown,
        _ => return None,
    })
}

fn letter(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let length = match bytes[0] {
        0x00..0x80 => 1,
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => return Some((None, 1)),
    };
    let letter = std::str::from_utf8(bytes.get(..length)?).ok().and_then(|text| text.chars().next());
    Some(letter.map_or((None, 1), |letter| (Some(Key::Letter(letter)), length)))
}

/// What to do after a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Go,
    Quit,
}

/// Does what a key says. `rows` are what rows can be looked into by, in the order of the table.
pub(super) fn press(view: &mut View, key: Key, rows: &[Option<Within>]) -> Next {
    if key == Key::Interrupt {
        return Next::Quit;
    }
    if view.typing {
        type_filter(view, key);
        return Next::Go;
    }
    let last = rows.len().saturating_sub(1);
    match key {
        Key::Letter('q') => return Next::Quit,
        Key::Up | Key::Letter('k') => view.selected = view.selected.min(last).saturating_sub(1),
        Key::Down | Key::Letter('j') => view.selected = (view.selected + 1).min(last),
        Key::PageUp => view.selected = view.selected.min(last).saturating_sub(PAGE),
        Key::PageDown => view.selected = (view.selected + PAGE).min(last),
        Key::Home => view.selected = 0,
        Key::End => view.selected = last,
        Key::Left | Key::Letter('<') => sort_by_neighbour(view, -1),
        Key::Right | Key::Letter('>' | 's') => sort_by_neighbour(view, 1),
        Key::Letter('r') => view.reversed = !view.reversed,
        Key::Letter('/') => view.typing = true,
        Key::Letter('b') => look_by(view, next_by(view.by)),
        Key::Letter('p' | ' ') => view.paused = !view.paused,
        Key::Enter => {
            if let Some(Some(into)) = rows.get(view.selected) {
                (view.within, view.selected, view.filter) = (Some(into.clone()), 0, String::new());
            }
        }
        Key::Escape | Key::Erase => go_back(view),
        _ => {}
    }
    Next::Go
}

fn type_filter(view: &mut View, key: Key) {
    match key {
        Key::Letter(letter) if view.filter.chars().count() < MAX_FILTER => view.filter.push(letter),
        Key::Erase => drop(view.filter.pop()),
        Key::Enter => view.typing = false,
        Key::Escape => (view.typing, view.filter) = (false, String::new()),
        _ => {}
    }
    view.selected = 0;
}

fn sort_by_neighbour(view: &mut View, step: isize) {
    let columns = view.columns();
    let at = view.sorted_by().saturating_add_signed(step).min(columns.len().saturating_sub(1));
    view.sort = columns[at].key.into();
}

fn next_by(by: By) -> By {
    match by {
        By::Host => By::Job,
        By::Job => By::User,
        By::User => By::Process,
        By::Process => By::Host,
    }
}

fn look_by(view: &mut View, by: By) {
    (view.by, view.within, view.selected) = (by, None, 0);
}

/// Out of a host, job or user, and away with the filter: what was looked for within says nothing about others.
fn go_back(view: &mut View) {
    if view.within.take().is_some() {
        view.selected = 0;
    }
    view.filter.clear();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn terminals_say_the_same_in_several_ways() {
        let mut keyboard = Keyboard::default();
        let keys = keyboard.feed("q\x1b[A\x1bOB\x1b[5~\x1b[1;5C\x1b[H\rä\x7f\x03".as_bytes());
        use Key::*;
        assert_eq!(keys, [Letter('q'), Up, Down, PageUp, Right, Home, Enter, Letter('ä'), Erase, Interrupt]);
        assert!(!keyboard.is_waiting());
    }

    #[test]
    fn a_sequence_may_come_in_pieces_and_an_escape_alone_is_a_key() {
        let mut keyboard = Keyboard::default();
        assert_eq!(keyboard.feed(b"\x1b"), []);
        assert_eq!(keyboard.feed(b"["), []);
        assert_eq!(keyboard.feed(b"B"), [Key::Down]);
        assert_eq!(keyboard.feed(b"\x1b"), []);
        assert!(keyboard.is_waiting());
        assert_eq!(keyboard.give_up(), Some(Key::Escape));
        assert_eq!(keyboard.give_up(), None);
    }

    #[test]
    fn enter_looks_into_a_host_or_a_job_and_escape_comes_back() {
        let mut view = View::new(By::Host);
        let rows = [Some(Within::Host(7)), Some(Within::Host(3))];
        press(&mut view, Key::Down, &rows);
        press(&mut view, Key::Down, &rows);
        assert_eq!(view.selected, 1);
        press(&mut view, Key::Enter, &rows);
        assert_eq!((&view.within, view.selected), (&Some(Within::Host(3)), 0));
        // There is nothing within a process.
        press(&mut view, Key::Enter, &[None]);
        assert_eq!(view.within, Some(Within::Host(3)));
        view.filter = "solver".into();
        press(&mut view, Key::Escape, &[None]);
        assert_eq!(view, View::new(By::Host));
        press(&mut view, Key::Letter('b'), &rows);
        let job = Some(Within::Job("slurm 7".into()));
        press(&mut view, Key::Enter, std::slice::from_ref(&job));
        assert_eq!(view.within, job);
        press(&mut view, Key::Erase, &[None]);
        assert_eq!(view, View::new(By::Job));
    }

    #[test]
    fn a_filter_is_typed_and_q_belongs_to_it() {
        let mut view = View::new(By::Host);
        for key in [Key::Letter('/'), Key::Letter('q'), Key::Letter('x'), Key::Erase, Key::Enter] {
            assert_eq!(press(&mut view, key, &[]), Next::Go);
        }
        assert_eq!((view.filter.as_str(), view.typing), ("q", false));
        assert_eq!(press(&mut view, Key::Letter('q'), &[]), Next::Quit);
        view.typing = true;
        assert_eq!(press(&mut view, Key::Interrupt, &[]), Next::Quit, "^C always ends it");
    }

    #[test]
    fn columns_are_walked_through_to_both_ends() {
        let mut view = View::new(By::Process);
        for _ in 0..20 {
            press(&mut view, Key::Right, &[]);
        }
        assert_eq!(view.sort, "disk_write");
        for _ in 0..20 {
            press(&mut view, Key::Left, &[]);
        }
        assert_eq!(view.sort, "name");
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..10)) {
            let (mut keyboard, mut view) = (Keyboard::default(), View::new(By::Host));
            for piece in pieces {
                for key in keyboard.feed(&piece) {
                    press(&mut view, key, &[Some(Within::Host(0)), None]);
                }
                prop_assert!(keyboard.pending.len() <= MAX_SEQUENCE);
            }
        }
    }
}
