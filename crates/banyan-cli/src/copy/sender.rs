//! The side of a host when files are gathered: offers one part after the other, and sends those that are wanted.
//!
//! On standard output a line of JSON is an offer (`file`, `files`, `bytes`, `length`, `parcel`), followed by `length`
//! bytes and a newline if it was accepted, unless it was a question; or a problem (`file`, `problem`); or what was skipped
//! (`file`, `skipped`). Standard input has the answers for all hosts: the name of the host, and `send` or `skip`.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};

use banyan_boot::{Parcels, Part, Reading, StageError, staged_path};
use serde_json::json;

use super::for_host;
use super::skips::Skips;
use crate::failure::{Failure, Outcome};
use crate::output;

/// The variable in which agents tell members what their host is called.
const HOST: &str = "BANYAN_HOST";

/// Bytes that stand for those that could not be read.
const FILLING: [u8; 4096] = [0; 4096];

pub(super) fn send(files: &[PathBuf], reading: Reading) -> Outcome {
    let host = std::env::var(HOST).map_err(|_| Failure::usage("--send is for members of a session"))?;
    let answers = answers(host.clone()).map_err(|error| Failure::system("no thread can be started", &error))?;
    let mut sender = Sender { out: output::stdout(), answers };
    for (index, file) in files.iter().enumerate() {
        let path = for_host(file, &host);
        match sender.offer_all(index, &path, reading) {
            Ok(()) => {}
            Err(ProblemSummary::Here { problem, forbidden }) => {
                sender.line(&json!({ "file": index, "problem": problem, "forbidden": forbidden }))?;
            }
            Err(ProblemSummary::Output(failure)) => return Err(failure),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Answers for this host. Those for others are thrown away, and input is read whatever else is done: nobody waits.
fn answers(host: String) -> std::io::Result<Receiver<bool>> {
    let (sender, answers) = channel();
    std::thread::Builder::new().spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let mut words = line.split(' ');
            if words.next() == Some(&*host) && sender.send(words.next() == Some("send")).is_err() {
                return;
            }
        }
    })?;
    Ok(answers)
}

struct Sender<W: Write> {
    out: W,
    answers: Receiver<bool>,
}

enum ProblemSummary {
    /// A file cannot be sent; perhaps because the system forbids to read it.
    Here { problem: String, forbidden: bool },
    /// Nobody listens any more.
    Output(Failure),
}

impl From<StageError> for ProblemSummary {
    fn from(error: StageError) -> ProblemSummary {
        ProblemSummary::Here { problem: error.to_string(), forbidden: error.is_forbidden() }
    }
}

impl From<std::io::Error> for ProblemSummary {
    fn from(error: std::io::Error) -> ProblemSummary {
        ProblemSummary::Output(error.into())
    }
}

impl<W: Write> Sender<W> {
    fn offer_all(&mut self, index: usize, path: &Path, reading: Reading) -> Result<(), ProblemSummary> {
        let path = staged_path(path).map_err(|problem| ProblemSummary::Here { problem, forbidden: false })?;
        let mut parcels = Parcels::of(&path, reading);
        for parcel in parcels.by_ref() {
            for part in parcel?.parts()? {
                let wanted = self.offer(index, &part)?;
                match part.is_question() {
                    // Slices follow only if the file is lacking.
                    true if !wanted => break,
                    true => {}
                    false if wanted => self.content(&part)?,
                    false => {}
                }
            }
        }
        for skips in Skips::of(parcels.skipped()) {
            self.line(&json!({ "file": index, "skipped": skips.to_json() }))?;
        }
        Ok(())
    }

    /// Offers a part; whether it is wanted.
    fn offer(&mut self, index: usize, part: &Part<'_>) -> Result<bool, ProblemSummary> {
        let (description, length) = part.describe()?;
        let description: String = description.iter().map(|byte| format!("{byte:02x}")).collect();
        self.line(&json!({
            "file": index,
            "files": part.files(),
            "bytes": part.bytes(),
            "length": length,
            "parcel": description,
        }))?;
        let gone = || ProblemSummary::Output(Failure::new("the front-end does not answer any more"));
        self.answers.recv().map_err(|_| gone())
    }

    /// The bytes of a part: as many as were promised, whatever can be read. Whoever receives them sees by the hash if
    /// they are not those that were offered.
    fn content(&mut self, part: &Part<'_>) -> Result<(), ProblemSummary> {
        let (_, mut left) = part.describe()?;
        for piece in part.pieces().map_while(Result::ok) {
            let count = usize::try_from(left).map_or(piece.len(), |left| left.min(piece.len()));
            self.out.write_all(&piece[..count])?;
            left -= count as u64;
        }
        while left > 0 {
            let count = left.min(FILLING.len() as u64);
            self.out.write_all(&FILLING[..count as usize])?;
            left -= count;
        }
        self.out.write_all(b"\n")?;
        Ok(self.out.flush()?)
    }

    fn line(&mut self, object: &serde_json::Value) -> std::io::Result<()> {
        writeln!(self.out, "{object}")?;
        self.out.flush()
    }
}
