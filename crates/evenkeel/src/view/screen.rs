//! The terminal as a picture that is drawn anew, and keys that are read without Enter.

use crate::out;
use evenkeel_os::terminal::SingleKeys;
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
    keys: Option<SingleKeys>,
}

impl Screen {
    /// Takes the terminal of stdout; keys are read where stdin is a terminal too.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn enter() -> io::Result<Self> {
        let screen = Self { keys: io::stdin().is_terminal().then(SingleKeys::begin).flatten() };
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
        let count = if self.keys.is_some() { io::stdin().read(&mut keys).unwrap_or(0) } else { 0 };
        keys[..count].iter().any(|key| matches!(key, b'q' | b'Q'))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        drop(self.keys.take());
        // A terminal that is gone needs nothing back.
        let _ = out::raw(LEAVE);
    }
}
