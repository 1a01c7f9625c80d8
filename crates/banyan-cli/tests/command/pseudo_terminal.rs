//! The command in a terminal: a pseudo-terminal, what is typed into it, and the screen that a person would see.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// Only so that a broken command does not hang the tests.
const PATIENCE: Duration = Duration::from_secs(120);

/// A command that believes to be in a terminal.
pub(crate) struct PseudoTerminal {
    child: Child,
    keys: File,
    /// The side of the command, for its settings. As long as it is open here, what was written does not end.
    far: Option<OwnedFd>,
    modes: LocalModes,
    heard: Receiver<Vec<u8>>,
    /// Everything that was written so far.
    pub(crate) bytes: Vec<u8>,
    size: (usize, usize),
}

impl PseudoTerminal {
    /// Starts it in a terminal of this size.
    pub(crate) fn start(command: &mut Command, columns: u16, rows: u16) -> PseudoTerminal {
        let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a pseudo-terminal");
        grantpt(&near).and_then(|()| unlockpt(&near)).expect("it is ours");
        let name = ptsname(&near, Vec::new()).expect("it has a name");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let far = rustix::fs::open(name, flags, Mode::empty()).expect("its other side");
        let modes = tcgetattr(&far).expect("settings").local_modes;
        let side = || far.try_clone().expect("a descriptor");
        let child = command.stdin(side()).stdout(side()).stderr(side()).spawn().expect("the command was built");
        // Whoever started it is to keep no side of the terminal open.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let keys = File::from(near);
        let (sender, heard) = channel();
        let mut screen = keys.try_clone().expect("a descriptor");
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut bytes)
                && sender.send(bytes[..count].to_vec()).is_ok()
            {}
        });
        let terminal = PseudoTerminal { child, keys, far: Some(far), modes, heard, bytes: Vec::new(), size: (0, 0) };
        terminal.sized(columns, rows)
    }

    fn sized(mut self, columns: u16, rows: u16) -> PseudoTerminal {
        self.resize(columns, rows);
        self
    }

    /// Gives the terminal another size, and tells the command.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        let size = Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.keys, size).expect("a size");
        self.size = (columns.into(), rows.into());
        self.signal("WINCH");
    }

    /// Sends the command a signal. It has no terminal of its own whose kernel would.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "it runs");
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("it listens");
    }

    /// Waits until the screen is so.
    pub(crate) fn wait(&mut self, what: &str, is_so: impl Fn(&[String]) -> bool) -> Vec<String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            match self.heard.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.bytes.extend(bytes),
                Err(_) => panic!("{what} never came:\n{}", screen.join("\n")),
            }
        }
    }

    /// Takes what is written within a time.
    pub(crate) fn listen(&mut self, time: Duration) {
        let deadline = Instant::now() + time;
        while let Ok(bytes) = self.heard.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.bytes.extend(bytes);
        }
    }

    /// Waits until a text is on the screen.
    pub(crate) fn wait_for(&mut self, text: &str) -> Vec<String> {
        self.wait(text, |screen| screen.iter().any(|line| line.contains(text)))
    }

    /// What a person sees.
    pub(crate) fn screen(&self) -> Vec<String> {
        screen(&String::from_utf8_lossy(&self.bytes), self.size)
    }

    /// Waits for the end of the command; whether the terminal is as it was.
    pub(crate) fn end(mut self) -> (ExitStatus, bool, Vec<u8>) {
        self.end_in_place()
    }

    /// The same, with the screen still there.
    pub(crate) fn end_in_place(&mut self) -> (ExitStatus, bool, Vec<u8>) {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            match self.child.try_wait().expect("it is our child") {
                Some(status) => break status,
                None if Instant::now() > deadline => panic!("it never ended:\n{}", self.screen().join("\n")),
                None => {
                    if let Ok(bytes) = self.heard.recv_timeout(Duration::from_millis(50)) {
                        self.bytes.extend(bytes);
                    }
                }
            }
        };
        let far = self.far.take().expect("it ends once");
        let restored = tcgetattr(&far).expect("settings").local_modes == self.modes;
        // Nobody has the command's side any more: what was written ends, and with it the thread that reads it.
        drop(far);
        loop {
            match self.heard.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.bytes.extend(bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("someone still has the terminal open"),
            }
        }
        (status, restored, std::mem::take(&mut self.bytes))
    }
}

impl Drop for PseudoTerminal {
    fn drop(&mut self) {
        // It has ended, or the test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lays what was written out on a screen. Knows what the command uses: places, clearing and attributes.
fn screen(text: &str, (columns, rows): (usize, usize)) -> Vec<String> {
    let mut lines = vec![vec![' '; columns]; rows];
    let (mut x, mut y) = (0, 0);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\x1b' => {
                letters.next();
                let mut parameters = String::new();
                let end = letters.by_ref().find(|letter| {
                    let is_end = letter.is_ascii_alphabetic();
                    parameters.extend((!is_end).then_some(*letter));
                    is_end
                });
                match end {
                    Some('H') => {
                        let mut places = parameters.split(';').map(|place| place.parse::<usize>().unwrap_or(1) - 1);
                        (y, x) = (places.next().unwrap_or(0), places.next().unwrap_or(0));
                    }
                    Some('J') => lines.iter_mut().for_each(|line| line.fill(' ')),
                    Some('K') => lines
                        .get_mut(y)
                        .into_iter()
                        .flat_map(|line| line.iter_mut().skip(x))
                        .for_each(|cell| *cell = ' '),
                    _ => {}
                }
            }
            '\n' => (x, y) = (0, y + 1),
            '\r' => x = 0,
            letter => {
                if let Some(cell) = lines.get_mut(y).and_then(|line| line.get_mut(x)) {
                    *cell = letter;
                }
                x += 1;
            }
        }
    }
    lines.into_iter().map(|line| line.into_iter().collect::<String>().trim_end().to_owned()).collect()
}
