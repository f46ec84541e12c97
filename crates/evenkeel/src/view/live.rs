//! Pictures of something that runs, one after the other, until somebody has seen enough.

use crate::config::units;
use crate::console::{Session, console_size};
use crate::out;
use crate::view::picture::Frame;
use anyhow::{Result, anyhow};
use evenkeel_os::terminal::SingleKeys;
use std::io;
use std::io::{IsTerminal, Read};
use std::process::ExitCode;
use std::sync::mpsc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// How often keys and Ctrl-C are looked at.
const NAP: Duration = Duration::from_millis(50);

/// How it is shown.
#[derive(Debug, clap::Args)]
pub struct LiveFlags {
    /// Time between two pictures
    #[arg(long, value_name = "TIME", default_value = "500ms")]
    every: String,
    /// Show one picture, after two readings, and end
    #[arg(long)]
    once: bool,
}

/// Reads and draws until q or Ctrl-C; one picture where nobody looks at a terminal. A reading that takes long holds up
/// the next picture, never the keys.
///
/// # Errors
/// A reading fails, or the terminal is gone.
pub fn show<T, S: Send + 'static>(
    session: &Session,
    flags: &LiveFlags,
    shown: &mut T,
    read: impl Fn() -> Result<S> + Send + 'static,
    add: impl Fn(&mut T, S),
    draw: impl Fn(&T, Frame) -> String,
) -> Result<ExitCode> {
    let every = Duration::from(units::duration(&flags.every)?);
    add(shown, read()?);
    if flags.once || !std::io::stdout().is_terminal() {
        std::thread::sleep(every);
        add(shown, read()?);
        out::line(draw(shown, Frame { width: 200, height: 1_000 }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let screen = Screen::enter()?;
    let (sender, readings) = mpsc::channel();
    std::thread::spawn(move || {
        std::thread::sleep(every);
        while sender.send(read()).is_ok() {
            std::thread::sleep(every);
        }
    });
    loop {
        let (width, height) = console_size();
        screen.draw(&draw(shown, Frame { width, height: height.saturating_sub(1) }))?;
        let reading = loop {
            if session.stop.is_set() || screen.is_left() {
                return Ok(ExitCode::SUCCESS);
            }
            match readings.recv_timeout(NAP) {
                Ok(reading) => break reading?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(anyhow!("the reading broke off")),
            }
        };
        add(shown, reading);
    }
}

// The terminal as a picture that is drawn anew, and keys that are read without Enter.

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
