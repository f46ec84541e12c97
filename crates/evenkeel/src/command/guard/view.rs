//! `evenkeel guard top` and `evenkeel guard replay`.

use super::super::Session;
use crate::config::control::named;
use crate::guard::journal;
use crate::guard::status::read;
use crate::guard::top::History;
use crate::out;
use crate::view::live::{self, LiveFlags};
use anyhow::{Result, bail};
use evenkeel_core::control::{Bounds, algorithm};
use evenkeel_guard::control;
use std::path::PathBuf;
use std::process::ExitCode;

/// Flags of `evenkeel guard top`.
#[derive(Debug, clap::Args)]
pub struct TopArgs {
    /// Address at which the guard serves its metrics
    #[arg(value_name = "ADDRESS", default_value = "127.0.0.1:9307")]
    address: String,
    /// How it is shown
    #[command(flatten)]
    live: LiveFlags,
}

/// Flags of `evenkeel guard replay`.
#[derive(Debug, clap::Args)]
pub struct ReplayArgs {
    /// A journal that a guard has written
    #[arg(value_name = "FILE")]
    journal: PathBuf,
    /// Controller that decides
    #[arg(long, value_name = "NAME", default_value = "evenkeel", value_parser = algorithm::NAMES)]
    controller: String,
    /// Maximum limit, as `max_limit` of the guard
    #[arg(long, value_name = "N", default_value_t = 1_024)]
    max_limit: u32,
    /// Show every tick, not only changes
    #[arg(long)]
    all: bool,
}

/// Draws until q or Ctrl-C.
pub fn top(session: &Session, args: &TopArgs) -> Result<ExitCode> {
    let mut history = History::default();
    let address = args.address.clone();
    live::show(session, &args.live, &mut history, move || read(&address), History::push, History::draw)
}

/// Shows where a controller would have decided otherwise.
pub fn replay(args: &ReplayArgs) -> Result<ExitCode> {
    let recorded = journal::read(&args.journal)?;
    let Some(first) = recorded.first() else { bail!("{} has no tick", args.journal.display()) };
    let (initial, most) = (first.sample.limit, args.max_limit);
    let bounds = Bounds { initial, range: (1, most) };
    let asked = named(&args.controller, bounds)?.build();
    let ticks = recorded.iter().map(|tick| (&tick.sample, tick.decided));
    let replayed = control::replay(ticks, asked, initial, most);
    let mut before = initial;
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
