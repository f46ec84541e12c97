//! What standard output, the error stream and the terminal can show.

use crate::progress::Mode;
use crate::table::Look;
use evenkeel_os::Stop;
use evenkeel_os::terminal::size;
use std::io::IsTerminal;
use std::path::PathBuf;

/// Where nobody looks at a terminal, no column is dropped.
const WIDE: usize = 200;

pub fn look() -> Look {
    let terminal = std::io::stdout().is_terminal();
    let width = if terminal { console_size().0 } else { WIDE };
    Look { width, colour: terminal && may_colour() }
}

pub fn look_at_errors() -> Look {
    Look { width: WIDE, colour: std::io::stderr().is_terminal() && may_colour() }
}

fn may_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

pub fn mode(session: &Session, json: bool) -> Mode {
    match (json, session.quiet, std::io::stderr().is_terminal()) {
        (true, ..) => Mode::Json,
        (_, true, _) => Mode::Quiet,
        (.., true) => Mode::Live,
        (.., false) => Mode::Lines,
    }
}

/// Columns and rows of the terminal; 80 and 24 where nobody says.
pub fn console_size() -> (usize, usize) {
    size().unwrap_or((80, 24))
}

/// What every command gets.
pub struct Session {
    /// Folder for sandboxes and studies.
    pub home: PathBuf,
    /// Results and errors only.
    pub quiet: bool,
    /// Set by Ctrl-C and SIGTERM.
    pub stop: Stop,
}

impl Session {
    /// Folder for studies.
    pub fn runs_dir(&self, output: Option<&PathBuf>) -> PathBuf {
        output.cloned().unwrap_or_else(|| self.home.join("runs"))
    }
}
