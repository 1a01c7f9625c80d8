//! The live view: one loop that waits for hosts, keys and signals at once, and draws.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ratatui_core::terminal::Terminal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};

use super::keys::{Keyboard, Next, press};
use super::out_of_time;
use super::screen;
use super::terminal::{Painter, Taken};
use super::view::{Model, View};
use super::watch::{AllUsed, Wanted, Watch, Within};
use crate::failure::Failure;
use crate::signals::{self, heeded};

/// How long the rest of a key's sequence may take, over ssh too.
const SEQUENCE: Duration = Duration::from_millis(60);

/// After so long without any answer everyone counts as silent.
const SILENT_AFTER: Duration = Duration::from_secs(3);

/// The cost of the front-end is asked for once in so many ticks: asking costs, too.
const COST_EVERY: u64 = 5;

/// Looks at other rows when they are wanted during a pause: what processes use of cores is known from the second on.
const LOOKS_OWED: u32 = 2;

/// Signals that end the view, unless they were ignored when it began, or change the size of the terminal.
struct Signals {
    bell: UnixStream,
    /// The signal that ends it; 0 if none has come.
    came: Arc<AtomicUsize>,
}

impl Signals {
    fn watch() -> io::Result<Signals> {
        let (bell, rings) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        let came = Arc::new(AtomicUsize::new(0));
        signals::take();
        for signal in heeded([SIGHUP, SIGINT, SIGTERM]) {
            signal_hook::flag::register_usize(signal, Arc::clone(&came), signal.unsigned_abs() as usize)?;
            signal_hook::low_level::pipe::register(signal, rings.try_clone()?)?;
        }
        signal_hook::low_level::pipe::register(SIGWINCH, rings)?;
        Ok(Signals { bell, came })
    }

    /// Takes the rings; the exit status if the view is to end.
    fn end(&mut self) -> Option<u8> {
        let mut rings = [0; 64];
        while matches!(self.bell.read(&mut rings), Ok(count) if count > 0) {}
        let signal = i32::try_from(self.came.load(Ordering::Relaxed)).ok();
        signal.filter(|signal| *signal != 0).map(signals::status)
    }
}

/// The view while it is shown.
struct Live<'w> {
    watch: &'w mut Watch,
    model: Model,
    view: View,
    keyboard: Keyboard,
    /// When the last key was pressed.
    pressed: Instant,
    /// When to ask the hosts again.
    due: Instant,
    /// Asked, and not answered.
    waiting: bool,
    /// When they were asked.
    asked: Instant,
    /// Looks that are taken although the view is paused.
    owed: u32,
    ticks: u64,
}

/// Shows the hosts until someone has seen enough, or the deadline. Gives the exit status.
pub(super) fn show(
    watch: &mut Watch,
    model: Model,
    view: View,
    colors: bool,
    deadline: Option<Instant>,
) -> Result<u8, Failure> {
    let refused = |error: io::Error| Failure::system("the terminal", &error);
    let mut signals = Signals::watch().map_err(refused)?;
    let _taken = Taken::take().map_err(refused)?;
    let mut terminal = Terminal::new(Painter::new(colors)).map_err(refused)?;
    let (keyboard, now) = (Keyboard::default(), Instant::now());
    let mut live =
        Live { watch, model, view, keyboard, pressed: now, due: now, waiting: false, asked: now, owed: 0, ticks: 0 };
    loop {
        live.ask_if_due()?;
        live.take()?;
        let table = live.view.table(&live.model);
        terminal.draw(|frame| screen::draw(frame, &live.model, &live.view, &table)).map_err(refused)?;
        let has_keys = live.wait(&signals, deadline).map_err(refused)?;
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(out_of_time());
        }
        if let Some(status) = signals.end() {
            return Ok(status);
        }
        if live.hear(has_keys).map_err(refused)? == Next::Quit {
            return Ok(live.watch.status(&live.model.silent));
        }
    }
}

impl Live<'_> {
    fn ask_if_due(&mut self) -> Result<(), Failure> {
        let now = Instant::now();
        if self.waiting || self.rests() || now < self.due {
            return Ok(());
        }
        self.owed = self.owed.saturating_sub(1);
        // Soon after the beginning, too: until then nothing is known.
        if self.ticks == 1 || self.ticks > 0 && self.ticks.is_multiple_of(COST_EVERY) {
            self.model.cost = self.watch.cost()?;
        }
        self.ticks += 1;
        self.watch.ask()?;
        self.waiting = true;
        self.asked = now;
        // A tick that is late does not make the next ones come faster.
        self.due = (self.due + self.interval()).max(now);
        Ok(())
    }

    /// Whether nothing is to be asked until someone presses a key.
    fn rests(&self) -> bool {
        self.view.paused && self.owed == 0
    }

    fn interval(&self) -> Duration {
        Duration::from_secs_f64(self.model.interval)
    }

    /// Takes everything that has come.
    fn take(&mut self) -> Result<(), Failure> {
        while let Some(tick) = self.watch.tick()? {
            self.model.silent = self.watch.silent(&tick);
            self.model.tick = tick;
            self.waiting = false;
        }
        // When nobody is left there is no tick that could tell.
        if self.waiting && self.asked.elapsed() > SILENT_AFTER.max(self.interval()) {
            self.model.silent.clone_from(&self.watch.hosts);
        }
        while let Some(used) = self.watch.listing()? {
            self.model.used = used;
        }
        Ok(())
    }

    /// Until something happens; whether keys were pressed.
    fn wait(&self, signals: &Signals, deadline: Option<Instant>) -> io::Result<bool> {
        let now = Instant::now();
        // With a question open the next look is at the network; with a pause there is nothing to wait for.
        let mut until = if self.waiting || self.rests() { now + self.interval() } else { self.due };
        if self.keyboard.is_waiting() {
            until = until.min(self.pressed + SEQUENCE);
        }
        let until = deadline.map_or(until, |deadline| until.min(deadline));
        let left = Timespec::try_from(until.saturating_duration_since(now)).map_err(io::Error::other)?;
        let stdin = io::stdin();
        let mut ready = [
            PollFd::new(&stdin, PollFlags::IN),
            PollFd::from_borrowed_fd(self.watch.as_fd(), PollFlags::IN),
            PollFd::new(&signals.bell, PollFlags::IN),
        ];
        match poll(&mut ready, Some(&left)) {
            Ok(_) => Ok(!ready[0].revents().is_empty()),
            // A signal: its ring is heard next.
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Does what keys say.
    fn hear(&mut self, has_keys: bool) -> io::Result<Next> {
        let keys = if has_keys {
            self.pressed = Instant::now();
            let mut bytes = [0; 256];
            match rustix::io::read(io::stdin(), &mut bytes)? {
                // The terminal is gone.
                0 => return Ok(Next::Quit),
                count => self.keyboard.feed(&bytes[..count]),
            }
        } else if self.pressed.elapsed() >= SEQUENCE {
            self.keyboard.give_up().into_iter().collect()
        } else {
            Vec::new()
        };
        for key in keys {
            let wanted = self.view.wanted();
            let rows: Vec<Option<Within>> = self.view.table(&self.model).rows.into_iter().map(|row| row.into).collect();
            if press(&mut self.view, key, &rows) == Next::Quit {
                return Ok(Next::Quit);
            }
            if self.view.wanted() != wanted {
                self.look_elsewhere(wanted)?;
            }
        }
        Ok(Next::Go)
    }

    /// Other rows are wanted: what was told of the old ones is no answer, and hosts are asked at once. With another filter
    /// what is there stays until they have answered, and for another order it will do until they are asked again.
    fn look_elsewhere(&mut self, before: Option<Wanted>) -> io::Result<()> {
        let now = self.view.wanted();
        let whose = |wanted: &Option<Wanted>| wanted.as_ref().map(|wanted| (wanted.kind, wanted.within.clone()));
        let text = |wanted: &Option<Wanted>| wanted.as_ref().map(|wanted| wanted.text.clone());
        if whose(&before) != whose(&now) {
            self.model.used = AllUsed::default();
        }
        if (whose(&before), text(&before)) != (whose(&now), text(&now)) {
            (self.due, self.owed) = (Instant::now(), LOOKS_OWED);
        }
        self.watch.list(now).map_err(|failure| io::Error::other(failure.message().to_owned()))
    }
}
