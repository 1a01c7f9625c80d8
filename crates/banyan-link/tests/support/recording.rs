//! Recordings: what programs of a protocol say, byte by byte, in files that later releases must still understand.
//!
//! A test says today what was said then, and gets back the bytes of the file: they are to be the same, and to be understood.
//! `BANYAN_RECORD=1` writes the files anew, on purpose only: `docs/protocol.md` says what to do instead.
//! Records travel as they lie in memory, so the bytes are compared on machines like the one that recorded them, and understood
//! on all.

use std::fs;
use std::path::Path;

/// What was said at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    /// Who says what, for people.
    pub(crate) what: String,
    pub(crate) bytes: Vec<u8>,
}

impl Said {
    pub(crate) fn new(what: &str, bytes: impl Into<Vec<u8>>) -> Said {
        assert!(!what.starts_with([' ', '#']) && !what.contains('\n'), "{what:?} cannot stand in a recording");
        Said { what: what.to_owned(), bytes: bytes.into() }
    }
}

/// Bytes in one line of a file.
const LINE: usize = 32;

/// The recording in this file, after it was compared with what is said today.
pub(crate) fn recorded(path: &Path, today: &[Said]) -> Vec<Said> {
    if std::env::var_os("BANYAN_RECORD").is_some_and(|value| value == "1") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, write(today)).unwrap();
    }
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let then = read(&text);
    if cfg!(all(target_endian = "little", target_pointer_width = "64")) {
        let heard = |said: &[Said]| said.iter().map(|said| said.what.clone()).collect::<Vec<_>>();
        assert_eq!(heard(today), heard(&then), "{} holds something else; {REMEDY}", path.display());
        for (now, then) in today.iter().zip(&then) {
            assert!(
                now.bytes == then.bytes,
                "{}: {:?} has other bytes than in the recording; {REMEDY}\nrecorded:\n{}now:\n{}",
                path.display(),
                then.what,
                hexadecimal(&then.bytes),
                hexadecimal(&now.bytes)
            );
        }
    }
    then
}

const REMEDY: &str = "programs that are out there may not understand that: let it depend on a capability, or give the protocol a \
                      new number; if nothing but the order or the moment of messages has changed, BANYAN_RECORD=1 records \
                      them anew (docs/protocol.md, \"How to change it\")";

fn write(said: &[Said]) -> String {
    let begin =
        "# Recorded: what a line says, and its bytes. Not to be edited; docs/protocol.md says more.\n".to_owned();
    said.iter().fold(begin, |text, said| text + "\n" + &said.what + "\n" + &hexadecimal(&said.bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    let line = |line: &[u8]| {
        let words = line.chunks(4).map(|word| word.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        format!("  {}\n", words.collect::<Vec<_>>().join(" "))
    };
    bytes.chunks(LINE).map(line).collect()
}

fn read(text: &str) -> Vec<Said> {
    let mut all: Vec<Said> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match (line.strip_prefix("  "), all.last_mut()) {
            (None, _) => all.push(Said::new(line, [])),
            (Some(digits), Some(said)) => {
                let digits: Vec<u32> = digits.chars().filter_map(|digit| digit.to_digit(16)).collect();
                said.bytes.extend(digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8));
            }
            (Some(_), None) => panic!("bytes before anything is said: {line}"),
        }
    }
    all
}
