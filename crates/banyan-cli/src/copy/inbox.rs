//! What comes from one host when files are gathered. Nothing of it is trusted: names are checked by the store, lines are
//! bounded, and a host that says what makes no sense is not listened to any more.

use std::path::PathBuf;

use banyan_boot::{Assembly, ParcelError, ParcelStore, ProblemKind, Wanted};
use serde_json::Value;

use super::skips::Skips;
use super::tell::Amount;

/// The longest line a host may send: an offer with as many names as it may have.
const LINE: usize = 1 << 20;

/// What the front-end does about what came.
#[derive(Debug)]
pub(super) enum Say {
    /// The offered part is wanted, or not.
    Answer(bool),
    /// A file of the host cannot be copied, and why.
    Problem(ProblemKind, String),
    /// Of the file of this number something was skipped.
    Skipped(usize, Skips),
}

/// See the module.
pub(super) struct Inbox {
    /// Where each of the files goes.
    targets: Vec<PathBuf>,
    state: InboxState,
    /// Whether what has come of a large file is kept when the rest does not come.
    partial: bool,
    /// The large file that is coming.
    assembly: Assembly,
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) amount: Amount,
}

enum InboxState {
    /// The beginning of a line.
    Line(Vec<u8>),
    /// Inside the bytes of a part.
    Content { store: Box<ParcelStore>, left: u64, offer: Offer },
    /// Nobody listens.
    Closed,
}

/// What a host offers.
struct Offer {
    files: u64,
    bytes: u64,
    length: u64,
    description: Vec<u8>,
}

impl Inbox {
    pub(super) fn new(targets: Vec<PathBuf>, partial: bool) -> Inbox {
        let (state, assembly, amount) = (InboxState::Line(Vec::new()), Assembly::default(), Amount::default());
        Inbox { targets, state, partial, assembly, files: 0, bytes: 0, amount }
    }

    /// Bytes from the host. After an error nothing is taken any more, and half a part leaves nothing.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> Result<Vec<Say>, ParcelError> {
        let mut says = Vec::new();
        while !bytes.is_empty() {
            // Closed until it is known how it goes on.
            bytes = match std::mem::replace(&mut self.state, InboxState::Closed) {
                InboxState::Closed => return Ok(says),
                InboxState::Line(line) => self.line(line, bytes, &mut says)?,
                InboxState::Content { store, left, offer } => self.content(store, left, offer, bytes)?,
            };
        }
        Ok(says)
    }

    /// Nothing more comes; true if something was under way.
    pub(super) fn close(&mut self) -> bool {
        let was_open = matches!(std::mem::replace(&mut self.state, InboxState::Closed), InboxState::Content { .. });
        // What has come of a large file goes, too, if it is not to be kept.
        self.assembly = Assembly::default();
        was_open
    }

    fn line<'b>(&mut self, mut line: Vec<u8>, bytes: &'b [u8], says: &mut Vec<Say>) -> Result<&'b [u8], ParcelError> {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        if line.len() + part.len() > LINE {
            return Err(ParcelError::Came("it sent a line that is too long".into()));
        }
        line.extend_from_slice(part);
        if end.is_none() {
            self.state = InboxState::Line(line);
            return Ok(rest);
        }
        self.state = InboxState::Line(Vec::new());
        // The line behind the bytes of a part is empty.
        if !line.is_empty() {
            says.push(self.message(&line)?);
        }
        Ok(&rest[1..])
    }

    fn message(&mut self, line: &[u8]) -> Result<Say, ParcelError> {
        let strange = || ParcelError::Came("it sent what cannot be understood; use one release for all hosts".into());
        let message: Value = serde_json::from_slice(line).map_err(|_| strange())?;
        let file = message["file"].as_u64().and_then(|file| usize::try_from(file).ok()).ok_or_else(strange)?;
        let target = self.targets.get(file).ok_or_else(strange)?;
        if let Some(problem) = message["problem"].as_str() {
            let forbidden = message["forbidden"].as_bool().unwrap_or(false);
            let kind = if forbidden { ProblemKind::NotPermitted } else { ProblemKind::Staging };
            return Ok(Say::Problem(kind, problem.to_owned()));
        }
        if let Some(skipped) = message.get("skipped") {
            return Ok(Say::Skipped(file, Skips::read(skipped).ok_or_else(strange)?));
        }
        let offer = Offer::read(&message).ok_or_else(strange)?;
        match ParcelStore::begin(&offer.description, target, self.partial, &self.assembly)? {
            Wanted::Had => {
                self.count(&offer);
                self.amount.had = self.amount.had.saturating_add(offer.bytes);
                Ok(Say::Answer(false))
            }
            Wanted::Lacks => Ok(Say::Answer(true)),
            Wanted::Needs(store) => {
                self.state = InboxState::Content { store: Box::new(store), left: offer.length, offer };
                Ok(Say::Answer(true))
            }
        }
    }

    fn content<'b>(
        &mut self,
        mut store: Box<ParcelStore>,
        left: u64,
        offer: Offer,
        bytes: &'b [u8],
    ) -> Result<&'b [u8], ParcelError> {
        let count = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
        let (part, rest) = bytes.split_at(count);
        store.push(part)?;
        let left = left - count as u64;
        if left > 0 {
            self.state = InboxState::Content { store, left, offer };
            return Ok(rest);
        }
        store.finish()?;
        self.count(&offer);
        self.amount.delivered = self.amount.delivered.saturating_add(offer.bytes);
        self.state = InboxState::Line(Vec::new());
        Ok(rest)
    }

    fn count(&mut self, offer: &Offer) {
        self.files = self.files.saturating_add(offer.files);
        self.bytes = self.bytes.saturating_add(offer.bytes);
    }
}

impl Offer {
    fn read(message: &Value) -> Option<Offer> {
        let number = |name: &str| message[name].as_u64();
        let (files, bytes, length) = (number("files")?, number("bytes")?, number("length")?);
        let text = message["parcel"].as_str()?.as_bytes();
        let description = text.chunks(2).map(|pair| {
            let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
            u8::from_str_radix(pair, 16).ok()
        });
        // An empty part has a head all the same.
        (length > 0 && bytes <= length).then_some(())?;
        Some(Offer { files, bytes, length, description: description.collect::<Option<Vec<u8>>>()? })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use banyan_boot::{Parcels, Reading};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn inbox(directory: &Path) -> Inbox {
        Inbox::new(vec![directory.join("n1/file")], false)
    }

    /// An offer of what is at a path, and the bytes that follow it.
    fn offer(path: &Path) -> (Value, Vec<u8>) {
        let parcel = Parcels::of(path, Reading::default()).next().unwrap().unwrap();
        let part = parcel.parts().unwrap().next().unwrap();
        let (description, length) = part.describe().unwrap();
        let hex: String = description.iter().map(|byte| format!("{byte:02x}")).collect();
        let bytes: Vec<u8> = part.pieces().flat_map(|piece| piece.unwrap().to_vec()).collect();
        (json!({ "file": 0, "files": 1, "bytes": parcel.bytes(), "length": length, "parcel": hex }), bytes)
    }

    fn is_empty(directory: &Path) -> bool {
        let files = std::fs::read_dir(directory.join("n1")).into_iter().flatten();
        files.count() == 0
    }

    #[test]
    fn a_file_is_taken_in_pieces_of_any_length_and_is_not_wanted_again() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("source"), "some\nlines\n").unwrap();
        let (head, bytes) = offer(&place.path().join("source"));
        let stream = [format!("{head}\n").as_bytes(), &bytes, b"\n", format!("{head}\n").as_bytes()].concat();
        let mut inbox = inbox(place.path());
        let says: Vec<Say> = stream.chunks(3).flat_map(|part| inbox.take(part).unwrap()).collect();
        assert!(matches!(says[..], [Say::Answer(true), Say::Answer(false)]));
        assert_eq!(std::fs::read(place.path().join("n1/file")).unwrap(), b"some\nlines\n");
        assert_eq!((inbox.amount.delivered, inbox.amount.had, inbox.close()), (11, 11, false));
    }

    #[test]
    fn damaged_or_cut_bytes_leave_nothing() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("source"), "some\nlines\n").unwrap();
        let (head, mut bytes) = offer(&place.path().join("source"));
        let mut cut = inbox(place.path());
        cut.take(format!("{head}\n").as_bytes()).unwrap();
        cut.take(&bytes[..36]).unwrap();
        assert!(cut.close());
        assert!(is_empty(place.path()));
        bytes[36] ^= 1;
        let mut damaged = inbox(place.path());
        damaged.take(format!("{head}\n").as_bytes()).unwrap();
        assert!(damaged.take(&bytes).unwrap_err().to_string().contains("its hash is wrong"));
        assert!(is_empty(place.path()));
        assert!(damaged.take(format!("{head}\n").as_bytes()).unwrap().is_empty(), "nobody listens to it any more");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("source"), "x").unwrap();
        let (head, _) = offer(&place.path().join("source"));
        let with = |name: &str, value: Value| {
            let mut head = head.clone();
            head[name] = value;
            format!("{head}\n")
        };
        let strange = [
            "hello\n".to_owned(),
            "{}\n".to_owned(),
            with("file", 1.into()),
            with("length", 0.into()),
            with("bytes", u64::MAX.into()),
            with("parcel", "00".into()),
            with("parcel", "zz".into()),
            "x".repeat(LINE + 1),
        ];
        for line in strange {
            assert!(inbox(place.path()).take(line.as_bytes()).is_err(), "{line:.80}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_of_a_host_panic_or_leave_something(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let place = tempfile::tempdir().unwrap();
            std::fs::write(place.path().join("source"), "some\nlines\n").unwrap();
            let (head, _) = offer(&place.path().join("source"));
            let stream = [format!("{head}\n").as_bytes(), &bytes].concat();
            let mut inbox = inbox(place.path());
            let _ = inbox.take(&stream);
            inbox.close();
            prop_assert!(is_empty(place.path()));
        }
    }
}
