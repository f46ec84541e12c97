//! Pictures of something that runs, one after the other, until somebody has seen enough.

use crate::config::units;
use crate::console::console_size;
use crate::out;
use crate::session::Session;
use crate::view::picture::Frame;
use crate::view::screen::Screen;
use anyhow::{Result, anyhow};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
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
