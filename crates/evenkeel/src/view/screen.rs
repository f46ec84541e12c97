//! The terminal as a picture that is drawn anew, and keys that are read without Enter.

use crate::out;
use std::io::{self, IsTerminal, Read};

/// Another screen without a cursor, and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// To the corner, with the rest of each line and of the screen cleared.
const CORNER: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K\n";
const CLEAR_REST: &str = "\x1b[K\x1b[J";

/// The terminal while pictures are drawn; dropping it gives the terminal back as it was.
pub struct Screen {
    before: Option<libc::termios>,
}

impl Screen {
    /// Takes the terminal of stdout; keys are read where stdin is a terminal too.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn enter() -> io::Result<Self> {
        let screen = Self { before: io::stdin().is_terminal().then(single_keys).flatten() };
        out::raw(ENTER)?;
        Ok(screen)
    }

    /// Shows a picture of at most the terminal's size.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn draw(&self, picture: &str) -> io::Result<()> {
        let lines = out::harmless(picture).replace('\n', CLEAR_LINE);
        out::raw(&format!("{CORNER}{lines}{CLEAR_REST}"))
    }

    /// Whether somebody pressed q since the last look. Does not wait.
    pub fn is_left(&self) -> bool {
        let mut keys = [0; 64];
        // Without a terminal nothing is read: what was piped in is not for us.
        let count = if self.before.is_some() { io::stdin().read(&mut keys).unwrap_or(0) } else { 0 };
        keys[..count].iter().any(|key| matches!(key, b'q' | b'Q'))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // SAFETY: the pointer is to a termios that tcgetattr filled in.
            unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, before) };
        }
        // A terminal that is gone needs nothing back.
        let _ = out::raw(LEAVE);
    }
}

/// Keys come one by one, are not shown, and reading does not wait; Ctrl-C stays a signal. Gives what was before.
fn single_keys() -> Option<libc::termios> {
    // SAFETY: all zeroes are a valid termios.
    let mut before: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: tcgetattr writes one termios to the address given.
    (unsafe { libc::tcgetattr(libc::STDIN_FILENO, &raw mut before) } == 0).then_some(())?;
    let mut now = before;
    now.c_lflag &= !(libc::ICANON | libc::ECHO);
    (now.c_cc[libc::VMIN], now.c_cc[libc::VTIME]) = (0, 0);
    // SAFETY: the pointer is to a termios of this function.
    (unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, &raw const now) } == 0).then_some(before)
}
