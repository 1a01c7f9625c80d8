//! The terminal: taken while the live view runs, and given back however it ends.
//!
//! Writes what every terminal of today understands, over ssh and in multiplexers too. `docs/dependencies.md` says why this
//! is not a crate.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Stdout, Write};

use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier, Style};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// No colour and no emphasis.
pub(super) const PLAIN: &str = "\x1b[0m";

/// A page of its own, so that what was on the terminal before comes back; and no cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
const LEAVE: &str = "\x1b[0m\x1b[?25h\x1b[?1049l";

/// The size of terminals that do not know theirs.
const USUAL: Size = Size { width: 80, height: 24 };

/// The width of standard output, if that is a terminal.
pub(super) fn width() -> Option<usize> {
    let out = io::stdout();
    let size = out.is_terminal().then(|| tcgetwinsize(&out)).and_then(Result::ok)?;
    Some(if size.ws_col == 0 { USUAL.width.into() } else { size.ws_col.into() })
}

/// The terminal while it is taken. Dropping it gives it back.
pub(super) struct Taken {
    before: Termios,
}

impl Taken {
    /// Takes the terminal. A panic gives it back before it says anything.
    pub(super) fn take() -> io::Result<Taken> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        let taken = Taken { before: before.clone() };
        let says = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back(&before);
            says(panic);
        }));
        let mut out = io::stdout();
        out.write_all(ENTER.as_bytes())?;
        out.flush()?;
        Ok(taken)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back(&self.before);
    }
}

/// A terminal that has gone away needs nothing back.
fn give_back(before: &Termios) {
    let mut out = io::stdout();
    let _ = out.write_all(LEAVE.as_bytes()).and_then(|()| out.flush());
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
}

/// What the terminal is told to show a style.
pub(super) fn attributes(style: Style) -> String {
    let mut codes = String::from("\x1b[0");
    for (modifier, code) in [(Modifier::BOLD, 1), (Modifier::REVERSED, 7)] {
        if style.add_modifier.contains(modifier) {
            let _ = write!(codes, ";{code}");
        }
    }
    match style.fg {
        Some(Color::Cyan) => codes += ";36",
        Some(Color::Yellow) => codes += ";33",
        Some(Color::DarkGray) => codes += ";90",
        Some(Color::Indexed(number)) => {
            let _ = write!(codes, ";38;5;{number}");
        }
        // The page has no others.
        _ => {}
    }
    codes + "m"
}

/// Draws on standard output. What was gathered goes out in one write.
pub(super) struct Painter {
    out: Stdout,
    gathered: String,
    colors: bool,
}

impl Painter {
    pub(super) fn new(colors: bool) -> Painter {
        Painter { out: io::stdout(), gathered: String::new(), colors }
    }

    fn style(&self, cell: &Cell) -> Style {
        let style = Style::new().add_modifier(cell.modifier);
        if self.colors { style.fg(cell.fg) } else { style }
    }
}

impl Backend for Painter {
    type Error = io::Error;

    fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(&mut self, content: I) -> io::Result<()> {
        let mut next = None;
        let mut last = None;
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                let _ = write!(self.gathered, "\x1b[{};{}H", y.saturating_add(1), x.saturating_add(1));
            }
            let style = self.style(cell);
            if last != Some(style) {
                self.gathered += &attributes(style);
                last = Some(style);
            }
            self.gathered += cell.symbol();
            next = x.checked_add(1).map(|x| (x, y));
        }
        self.gathered += PLAIN;
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.gathered += "\x1b[?25l";
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.gathered += "\x1b[?25h";
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let Position { x, y } = position.into();
        let _ = write!(self.gathered, "\x1b[{};{}H", y.saturating_add(1), x.saturating_add(1));
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.gathered += "\x1b[0m\x1b[2J";
        Ok(())
    }

    fn clear_region(&mut self, _: ClearType) -> io::Result<()> {
        // The whole page is drawn anew after this.
        self.clear()
    }

    fn size(&self) -> io::Result<Size> {
        let size = tcgetwinsize(&self.out)?;
        let size = Size { width: size.ws_col, height: size.ws_row };
        Ok(if size.width == 0 || size.height == 0 { USUAL } else { size })
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::default() })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(self.gathered.as_bytes())?;
        self.gathered.clear();
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_are_what_terminals_understand() {
        assert_eq!(attributes(Style::new()), "\x1b[0m");
        let hot = Style::new().fg(Color::Indexed(196)).add_modifier(Modifier::REVERSED | Modifier::BOLD);
        assert_eq!(attributes(hot), "\x1b[0;1;7;38;5;196m");
    }

    #[test]
    fn neighbours_are_drawn_without_moving() {
        let mut painter = Painter::new(true);
        let mut cells = [Cell::new("a"), Cell::new("b"), Cell::new("c")];
        cells[2].fg = Color::Cyan;
        let places = [(4, 0), (5, 0), (5, 1)];
        painter.draw(places.iter().zip(&cells).map(|((x, y), cell)| (*x, *y, cell))).expect("it is only gathered");
        assert_eq!(painter.gathered, "\x1b[1;5H\x1b[0mab\x1b[2;6H\x1b[0;36mc\x1b[0m");
    }

    #[test]
    #[ignore = "a part of the test below, which runs it in a terminal"]
    fn panics_while_the_terminal_is_taken() {
        let _taken = Taken::take().expect("a terminal");
        panic!("on purpose");
    }

    #[test]
    fn a_panic_gives_the_terminal_back_before_it_is_told() {
        use rustix::fs::{Mode, OFlags};
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

        let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&near).and_then(|()| unlockpt(&near)).expect("it is ours");
        let name = ptsname(&near, Vec::new()).expect("it has a name");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let far = rustix::fs::open(name, flags, Mode::empty()).expect("its other side");
        let before = tcgetattr(&far).expect("settings");
        let side = || far.try_clone().expect("a descriptor");
        let test = "top::terminal::tests::panics_while_the_terminal_is_taken";
        let mut program = std::process::Command::new(std::env::current_exe().expect("this program"));
        program.args([test, "--exact", "--ignored", "--nocapture"]).env("RUST_BACKTRACE", "0");
        let status = program.stdin(side()).stdout(side()).stderr(side()).status().expect("it runs");
        assert!(!status.success());
        assert_eq!(tcgetattr(&far).expect("settings").local_modes, before.local_modes);
        // The command keeps descriptors of the other side, and would be waited for.
        drop((far, program));
        let (mut shown, mut near) = (Vec::new(), std::fs::File::from(near));
        // A terminal whose other side is closed ends with an error.
        let _ = io::Read::read_to_end(&mut near, &mut shown);
        let shown = String::from_utf8_lossy(&shown);
        let (taken, told) = (shown.find(ENTER), shown.find("on purpose"));
        let given_back = shown.find(LEAVE);
        assert!(taken.is_some() && taken < given_back && given_back < told, "{shown:?}");
    }
}
