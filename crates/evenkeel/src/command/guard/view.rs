//! `evenkeel guard top` and `evenkeel guard replay`.

use super::super::Session;
use crate::clock::Clock;
use crate::config::simulate::law_named;
use crate::config::units;
use crate::guard::journal;
use crate::view::screen::Screen;
use crate::guard::status::read;
use crate::guard::top::History;
use crate::view::picture::Frame;
use crate::out;
use anyhow::{Result, bail};
use evenkeel_core::control::law;
use evenkeel_gate::control;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Flags of `evenkeel guard top`.
#[derive(Debug, clap::Args)]
pub struct TopArgs {
    /// Where the guard serves its metrics
    #[arg(value_name = "ADDRESS", default_value = "127.0.0.1:9307")]
    address: String,
    /// From one picture to the next
    #[arg(long, value_name = "TIME", default_value = "500ms")]
    every: String,
    /// One picture, after two readings, and end
    #[arg(long)]
    once: bool,
}

/// Flags of `evenkeel guard replay`.
#[derive(Debug, clap::Args)]
pub struct ReplayArgs {
    /// A journal that a guard has written
    #[arg(value_name = "FILE")]
    journal: PathBuf,
    /// Who is asked
    #[arg(long, value_name = "NAME", default_value = "evenkeel", value_parser = law::NAMES)]
    controller: String,
    /// The limit to begin with [default: the journal's first]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// No limit passes this
    #[arg(long, value_name = "N", default_value_t = 1_024)]
    limit_max: u32,
    /// Every tick, not only changes
    #[arg(long)]
    all: bool,
}

/// How often keys and Ctrl-C are looked at.
const NAP: Duration = Duration::from_millis(50);

/// Draws until q or Ctrl-C.
pub fn top(session: &Session, args: &TopArgs) -> Result<ExitCode> {
    let every = Duration::from(units::duration(&args.every)?);
    let mut history = History::default();
    history.push(read(&args.address)?);
    if args.once || !std::io::stdout().is_terminal() {
        std::thread::sleep(every);
        history.push(read(&args.address)?);
        out::line(history.draw(Frame { width: 200, height: 1_000 }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let screen = Screen::enter()?;
    loop {
        let (width, height) = super::super::console_size();
        screen.draw(&history.draw(Frame { width, height: height.saturating_sub(1) }))?;
        if is_left(session, &screen, every) {
            return Ok(ExitCode::SUCCESS);
        }
        history.push(read(&args.address)?);
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

/// Shows where a controller would have decided otherwise.
pub fn replay(args: &ReplayArgs) -> Result<ExitCode> {
    let recorded = journal::read(&args.journal)?;
    let Some(first) = recorded.first() else { bail!("{} has no tick", args.journal.display()) };
    let start = args.limit.unwrap_or(first.sample.limit);
    let asked = law_named(Some(&args.controller), start, args.limit_max)?.build();
    let ticks = recorded.iter().map(|tick| (&tick.sample, tick.decided));
    let replayed = control::replay(ticks, asked, start, args.limit_max);
    let mut before = start;
    for (tick, then) in replayed.iter().zip(&recorded) {
        if args.all || tick.now.limit != before || tick.now.limit != tick.then {
            let at = then.sample.end.as_secs_f64();
            let differs =
                if tick.now.limit == tick.then { String::new() } else { format!("  (then: {})", then.why) };
            out::line(format!("{at:>10.3} s  {}{differs}", tick.now))?;
        }
        before = tick.now.limit;
    }
    let differing = replayed.iter().filter(|tick| tick.now.limit != tick.then).count();
    out::line(format!("{differing} of {} ticks differ", replayed.len()))?;
    Ok(ExitCode::SUCCESS)
}
