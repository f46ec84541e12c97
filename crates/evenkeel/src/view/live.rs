//! Pictures of something that runs, one after the other, until somebody has seen enough.

use crate::config::units;
use crate::console::{Session, console_size};
use crate::format::steers;
use crate::out;
use anyhow::{Result, anyhow};
use evenkeel_os::terminal::SingleKeys;
use std::io::{self, IsTerminal, Read};
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
    pub fn enter() -> io::Result<Self> {
        let screen = Self { keys: io::stdin().is_terminal().then(SingleKeys::begin).flatten() };
        out::raw(ENTER)?;
        Ok(screen)
    }

    /// Shows a picture of at most the terminal's size.
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

#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub width: usize,
    pub height: usize,
}

pub const HISTORY_MAX: usize = 120;

pub fn fit(mut lines: Vec<String>, frame: Frame) -> String {
    lines.truncate(frame.height.max(1));
    let cut = |line: String| line.chars().take(frame.width).collect::<String>();
    lines.into_iter().map(cut).collect::<Vec<_>>().join("\n")
}

/// A name as it may be shown: no commands to the terminal, and not too long.
pub fn name(name: &str, length: usize) -> String {
    name.chars().filter(|letter| !steers(*letter)).take(length).collect()
}

/// Adds a value to the last [`HISTORY_MAX`].
pub fn keep(values: &mut Vec<f64>, value: f64) {
    if values.len() >= HISTORY_MAX {
        values.remove(0);
    }
    values.push(value);
}

/// A time in seconds, in a unit that fits.
pub fn seconds(value: f64) -> String {
    match value {
        value if value >= 1.0 => format!("{value:.1} s"),
        value if value >= 1e-3 => format!("{:.1} ms", value * 1e3),
        value => format!("{:.0} us", value * 1e6),
    }
}

pub fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 => format!("{:.1} M", value / 1e6),
        size if size >= 1e3 => format!("{:.1} k", value / 1e3),
        size if size >= 0.1 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.6}"),
    }
}

/// Seconds as hours, minutes and seconds.
pub fn up(at_s: f64) -> String {
    let seconds = at_s as u64;
    format!("{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// The last values as bars from zero to their greatest.
pub fn spark(values: &[f64], room: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let shown = &values[values.len().saturating_sub(room)..];
    let most = shown.iter().copied().fold(0.0, f64::max);
    let bar =
        |value: &f64| if most > 0.0 { BARS[((value / most * 7.0).round() as usize).min(7)] } else { BARS[0] };
    shown.iter().map(bar).collect()
}
