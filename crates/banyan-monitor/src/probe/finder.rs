//! Finds segments: at once where the kernel tells of files, and by looking now and then.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use banyan_sensor::observe::{Found, directories, find};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;

/// How often to look where nothing was told: directories that are made later, and file systems that tell nothing.
const LOOK: Duration = Duration::from_secs(1);

pub(super) struct Finder {
    /// Without one, looking now and then is enough.
    told: Option<OwnedFd>,
    due: Instant,
}

impl Finder {
    pub(super) fn new() -> Finder {
        let told = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        Finder { told, due: Instant::now() }
    }

    /// Ready when something has changed.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.told.as_ref().map(AsFd::as_fd)
    }

    /// When to look next, whatever is told.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// Whether it is time to look.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        self.is_told() || now >= self.due
    }

    /// Looks at the next opportunity.
    pub(super) fn hurry(&mut self) {
        self.due = Instant::now();
    }

    /// The segments that there are.
    pub(super) fn look(&mut self) -> Vec<Found> {
        self.due = Instant::now() + LOOK;
        // First this: what is made while looking is told.
        if let Some(told) = &self.told {
            let flags = WatchFlags::MOVED_TO | WatchFlags::DELETE | WatchFlags::ONLYDIR;
            for directory in directories() {
                // It may be made later. Watching twice is watching once.
                let _ = inotify::add_watch(told, &directory, flags);
            }
        }
        find()
    }

    /// Takes what the kernel has told; only that it was something counts.
    fn is_told(&mut self) -> bool {
        let Some(told) = &self.told else { return false };
        let mut is_told = false;
        let mut space = [0; 4096];
        loop {
            match rustix::io::read(told, &mut space) {
                Ok(1..) => is_told = true,
                Err(Errno::INTR) => {}
                Ok(0) | Err(_) => return is_told,
            }
        }
    }
}

/// Which segments this process sees: names of directories, and of what holds them.
pub(super) fn machine() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let device = |path: &Path| {
        let mut there = path.ancestors().filter_map(|path| std::fs::metadata(path).ok());
        there.next().map_or(0, |metadata| metadata.dev())
    };
    let directories = directories();
    let named = directories.iter().map(|path| format!("{}:{}", path.display(), device(path)));
    format!("{} {}", boot.trim(), named.collect::<Vec<_>>().join(" "))
}
