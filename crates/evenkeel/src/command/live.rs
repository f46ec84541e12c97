//! Pictures of something that runs, one after the other, until somebody has seen enough.

use super::Session;
use crate::clock::Clock;
use crate::config::units;
use crate::out;
use crate::view::picture::Frame;
use crate::view::screen::Screen;
use anyhow::Result;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

/// How often keys and Ctrl-C are looked at.
const NAP: Duration = Duration::from_millis(50);

/// How it is shown.
#[derive(Debug, clap::Args)]
pub struct LiveFlags {
    /// From one picture to the next
    #[arg(long, value_name = "TIME", default_value = "500ms")]
    every: String,
    /// One picture, after two readings, and end
    #[arg(long)]
    once: bool,
}

/// Reads and draws until q or Ctrl-C; one picture where nobody looks at a terminal.
///
/// # Errors
/// A reading fails, or the terminal is gone.
pub fn show<T>(
    session: &Session,
    flags: &LiveFlags,
    shown: &mut T,
    read: impl Fn(&mut T) -> Result<()>,
    draw: impl Fn(&T, Frame) -> String,
) -> Result<ExitCode> {
    let every = Duration::from(units::duration(&flags.every)?);
    read(shown)?;
    if flags.once || !std::io::stdout().is_terminal() {
        std::thread::sleep(every);
        read(shown)?;
        out::line(draw(shown, Frame { width: 200, height: 1_000 }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let screen = Screen::enter()?;
    loop {
        let (width, height) = super::console_size();
        screen.draw(&draw(shown, Frame { width, height: height.saturating_sub(1) }))?;
        if is_left(session, &screen, every) {
            return Ok(ExitCode::SUCCESS);
        }
        read(shown)?;
    }
}

/// Waits for the next picture; whether somebody wants no more of them.
fn is_left(session: &Session, screen: &Screen, every: Duration) -> bool {
    let clock = Clock::start();
    loop {
        if session.stop.is_set() || screen.is_left() {
            return true;
        }
        let left = every.saturating_sub(clock.now().into());
        if left.is_zero() {
            return false;
        }
        std::thread::sleep(left.min(NAP));
    }
}
