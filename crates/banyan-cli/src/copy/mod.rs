//! `banyan copy`: files and directories to every host, through the tree; or from every host, into one directory each.

mod answers;
mod broadcast;
mod gather;
mod inbox;
mod interrupt;
mod sender;
mod size;
mod skips;
mod tell;

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use banyan_boot::{LaunchError, Links, ProcessDistribution, Reading, Session};
use clap::Args;

use crate::failure::{Failure, Outcome};
use crate::hosts::{HEADING, HostChoice, Missing, launch_status};
use interrupt::CopyInterrupt;
use tell::Tell;

/// Copy files and directories to many hosts, or from them
///
/// Each file is read once and broadcast down the tree of agents. It is checked by hash and appears under its name only
/// when it is complete. Files that a host already has with the same content and mode are not sent again, so an
/// interrupted copy resumes when it is repeated. With --partial, it resumes within a large file as well. Other files in
/// a directory on a host are left alone.
#[derive(Args)]
#[command(after_help = "\
DEST is a path on each host; a relative path starts in the home directory. DEST is a directory if it ends with / or \
if there are several FILEs. Otherwise DEST is the name of the copy, or a directory that exists on the host. A directory \
that is itself an earlier copy of FILE is updated in place. {host} in DEST becomes the host's name. Mode bits are kept, \
except setuid, setgid and sticky. FIFOs, sockets, devices and symbolic links that lead out of the directory are skipped \
and counted.

With --gather, FILEs are paths on each host and DEST is a directory on this machine. Files of a host go into \
DEST/HOST. {host} in FILEs becomes the host's name, also in the name of the copy.

Exit status: 0 success; 1 a host failed; 2 wrong usage; 3 a host could not be reached or was lost; 4 time limit; \
5 not permitted.

Examples:
  banyan copy -w node[1-8] solver input.dat /scratch/job/
  banyan copy -w @gpu ~/models /local/models
  banyan copy -w node[1-8] --gather /var/log/messages logs
  banyan copy -w node[1-8] --json data /scratch/ | jq -r 'select(.event == \"problem\") | .cause'")]
pub(crate) struct Copy {
    /// Copy FILEs from every host into DEST/HOST on this machine
    #[arg(long)]
    gather: bool,
    /// Keep the received part of a large file if the copy is interrupted, so that the next copy resumes there
    ///
    /// The part is kept beside the destination, as .banyan-partial- and a number, until a copy to this destination is
    /// complete. Without this option, only whole files are kept.
    #[arg(long, short = 'P')]
    partial: bool,
    /// How to copy symbolic links in directories
    #[arg(long, value_name = "HOW", default_value = "keep")]
    links: LinkChoice,
    /// Preserve modification times
    #[arg(long, short = 'p')]
    times: bool,
    /// One JSON object for each file, host or problem, and one summary
    #[arg(long)]
    json: bool,
    #[command(flatten, next_help_heading = HEADING)]
    hosts: HostChoice,
    /// Offer files to a front-end that gathers them
    #[arg(long, hide = true, conflicts_with = "gather")]
    send: bool,
    /// Files and directories to copy
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The destination
    #[arg(value_name = "DEST", required = true)]
    dest: PathBuf,
}

/// What is done with symbolic links in directories.
#[derive(Clone, Copy, clap::ValueEnum)]
enum LinkChoice {
    /// Copy links that are relative and stay inside of the directory, skip others
    Keep,
    /// Copy what links lead to in their place
    Follow,
    /// Skip all links
    Skip,
}

impl Copy {
    /// How files are read, on whatever machine that is.
    fn reading(&self) -> Reading {
        let links = match self.links {
            LinkChoice::Keep => Links::Keep,
            LinkChoice::Follow => Links::Follow,
            LinkChoice::Skip => Links::Skip,
        };
        Reading::default().links(links).times(self.times)
    }

    pub(crate) fn run(self) -> Outcome {
        if self.send {
            return sender::send(&self.files, self.reading());
        }
        let begin = Instant::now();
        let deadline = self.hosts.deadline(begin)?;
        if self.gather { gather::gather(&self, begin, deadline) } else { broadcast::broadcast(&self, begin, deadline) }
    }

    /// Starts agents, and members if there is something for them to do. Launches that fail are told. From now on signals are
    /// watched for.
    fn launch(
        &self,
        members: ProcessDistribution,
        processes: u32,
        tell: &mut Tell,
    ) -> Result<(Arc<Session>, CopyInterrupt), Failure> {
        let hosts = self.hosts.hosts()?;
        let members = hosts.iter().fold(members, |members, host| members.on(host, processes));
        let interrupt = CopyInterrupt::watch().map_err(|error| no_thread(&error))?;
        let options = (self.hosts.patient_options(hosts.len())?).independent(true);
        match Session::launch(&[members], &options) {
            Ok(session) => {
                tell.begun(session.layout().len(), Missing::of(&self.hosts, session.missing())?);
                let session = Arc::new(session);
                interrupt.stops(&session);
                Ok((session, interrupt))
            }
            Err(error) => Err(not_launched(&error, tell)),
        }
    }
}

fn no_thread(error: &io::Error) -> Failure {
    Failure::system("no thread can be started", error)
}

fn not_launched(error: &LaunchError, tell: &mut Tell) -> Failure {
    let status = launch_status(error);
    match tell.not_launched(error, status) {
        Ok(()) => Failure::with_status(error, status).told(),
        Err(failure) => failure,
    }
}

/// The name something has in the directory it is copied into.
fn name_of(path: &Path) -> Result<OsString, Failure> {
    let no_name = || Failure::usage(format!("{}: has no name to be copied under; name what is in it", path.display()));
    path.file_name().map(ToOwned::to_owned).ok_or_else(no_name)
}

/// Refuses names of which one would replace another.
fn check_names<'n>(names: impl Iterator<Item = &'n OsString>) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            let name = Path::new(name).display();
            return Err(Failure::usage(format!("two of the files are called {name}; copy one of them by itself")));
        }
    }
    Ok(())
}

/// A path in which the name of the host may stand.
fn for_host(path: &Path, host: &str) -> PathBuf {
    path.to_str().map_or_else(|| path.to_owned(), |text| text.replace("{host}", host).into())
}

/// Whether a path goes up again.
fn goes_up(path: &Path) -> bool {
    path.components().any(|component| component == Component::ParentDir)
}
