//! Sends a recording to one server or two, and says how that went.

use super::Args;
use super::lines::Lines;
use crate::command::{Session, mode};
use crate::failure::{FINDING, WithHint};
use crate::progress::{ProgressEvent, View};
use crate::server::place;
use crate::{format, out, signals};
use anyhow::{Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_core::histogram::Histogram;
use evenkeel_lab::replay::play::{Counts, Options, Replay, Who};
use evenkeel_lab::replay::{Played, Recording};
use evenkeel_os::clock::Clock;
use evenkeel_site::server::{Control, Target};
use serde::Serialize;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

const SHOW_EVERY: Nanos = Nanos::from_secs(5);

/// What became of the commands, and of our own punctuality.
#[derive(Clone, Debug, Serialize)]
struct Outcome {
    commands: u64,
    sent: u64,
    writes_not_sent: u64,
    unknown: u64,
    unreadable: u64,
    lost_connections: u64,
    out_of_order: u64,
    took_s: f64,
    /// Sent later than they could be: our own error.
    lag_p50_ms: Option<f64>,
    lag_p99_ms: Option<f64>,
    /// Could be sent later than they were due: the server's.
    behind_p99_ms: Option<f64>,
    finished: bool,
}

#[derive(Default)]
struct Times {
    lag: Histogram,
    behind: Histogram,
}

/// Plays a recording, and prints what came of it.
pub fn run(session: &Session, args: &Args, recording: &Recording) -> Result<ExitCode> {
    let targets =
        args.targets.iter().map(|text| place::target(session, text, "")).collect::<Result<Vec<_>>>()?;
    let options = options(args)?;
    check(session, args, &targets, options)?;
    let lines = args.csv.as_deref().map(|path| Lines::create(path, targets.len())).transpose()?;
    let (counts, times) = (Counts::default(), Mutex::new(Times::default()));
    let take = |played: &Played, sql: &[u8]| {
        times.lock().unwrap_or_else(PoisonError::into_inner).note(played);
        if let Some(lines) = &lines {
            lines.add(played);
        }
        let _ = sql;
    };
    let replay =
        Replay { recording, targets: &targets, options, counts: &counts, stop: &session.stop, take: &take };
    let commands = recording.commands() as u64 * u64::from(clients(options.who));
    let took = shown(session, args, (commands, &counts), &replay)?;
    if let Some(lines) = lines {
        lines.end()?;
    }
    let times = times.into_inner().unwrap_or_else(PoisonError::into_inner);
    let outcome = outcome(commands, &counts, &times, took);
    out::answer(args.json, &outcome, || out::write(&text(&outcome)))?;
    Ok(match (session.stop.is_set(), outcome.sent) {
        (true, _) => signals::exit_code(),
        (false, 0) => ExitCode::from(FINDING),
        (false, _) => ExitCode::SUCCESS,
    })
}

fn options(args: &Args) -> Result<Options> {
    let who = args.clients.map_or(Who::Sessions, Who::Clients);
    if args.order && who != Who::Sessions {
        return Err(anyhow!("--order keeps the order of the recorded sessions"))
            .hint("leave out --order or --clients");
    }
    Ok(Options { who, pace: args.pace.0, writes: args.allow_writes, ordered: args.order })
}

/// Refuses to write where nobody said that it may be written.
fn check(session: &Session, args: &Args, targets: &[Target], options: Options) -> Result<()> {
    if !options.writes {
        return Ok(());
    }
    for (text, target) in args.targets.iter().zip(targets) {
        if text.starts_with("sandbox:") {
            continue;
        }
        let host = Control::connect_until(target, &session.stop)?
            .query_value("SELECT @@hostname")?
            .unwrap_or_default();
        if !args.staging.contains(&host) {
            return Err(anyhow!("the replay would write to {target}, whose host is {host}"))
                .hint(format!("give --staging {host} if its data may change"));
        }
    }
    Ok(())
}

fn clients(who: Who) -> u32 {
    match who {
        Who::Sessions => 1,
        Who::Clients(count) => count,
    }
}

/// Does it, and shows how far it is; how long it took.
fn shown(
    session: &Session,
    args: &Args,
    (commands, counts): (u64, &Counts),
    replay: &Replay<'_>,
) -> Result<Nanos> {
    let (over, clock, lasts) = (AtomicBool::new(false), Clock::start(), replay.lasts());
    let done = thread::scope(|scope| {
        scope.spawn(|| {
            let mut view = View::new(mode(session, args.json));
            let mut next = SHOW_EVERY;
            while !over.load(Ordering::Relaxed) {
                if clock.now() >= next {
                    next += SHOW_EVERY;
                    let text = progress(counts.done(), commands, clock.now(), lasts);
                    view.show(&ProgressEvent::Step { text });
                }
                thread::sleep(Duration::from_millis(50));
            }
        });
        let done = replay.run();
        over.store(true, Ordering::Relaxed);
        done
    });
    done?;
    Ok(clock.now())
}

/// The time left is that of the recording, or goes by what was sent.
fn progress(done: u64, of: u64, took: Nanos, lasts: Option<Nanos>) -> String {
    let share = done as f64 / of.max(1) as f64;
    let by_count = (share > 0.0).then(|| took.as_secs_f64() * (1.0 - share) / share);
    let left = lasts.map_or(by_count, |lasts| Some((lasts - took).as_secs_f64()));
    let left = left.map_or(String::new(), |left| format!(", {} left", format::seconds(left)));
    format!("{} of {} commands{left}", format::count(done), format::count(of))
}

impl Times {
    fn note(&mut self, played: &Played) {
        let first = played.answers.iter().flatten().map(|answered| answered.lag).max();
        self.lag.record(first.unwrap_or_default());
        self.behind.record(played.behind);
    }
}

fn outcome(commands: u64, counts: &Counts, times: &Times, took: Nanos) -> Outcome {
    let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let ms = |histogram: &Histogram, q| histogram.quantile(q).map(Nanos::as_millis_f64);
    Outcome {
        commands,
        sent: get(&counts.played),
        writes_not_sent: get(&counts.writes),
        unknown: get(&counts.unknown),
        unreadable: get(&counts.unreadable),
        lost_connections: get(&counts.lost),
        out_of_order: get(&counts.out_of_order),
        took_s: took.as_secs_f64(),
        lag_p50_ms: ms(&times.lag, 0.5),
        lag_p99_ms: ms(&times.lag, 0.99),
        behind_p99_ms: ms(&times.behind, 0.99),
        finished: counts.done() == commands,
    }
}

fn text(outcome: &Outcome) -> String {
    let mut text = format!(
        "{} of {} commands sent in {}\n",
        format::count(outcome.sent),
        format::count(outcome.commands),
        format::seconds(outcome.took_s)
    );
    let why = [
        (outcome.writes_not_sent, "not sent: they change something (--allow-writes sends them)"),
        (
            outcome.unknown,
            "not sent: they need what only their client had, or had prepared before the recording",
        ),
        (outcome.unreadable, "not sent: the recording cannot be read there"),
        (outcome.lost_connections, "connections lost"),
        (outcome.out_of_order, "sent before another one had ended that had ended before it"),
    ];
    for (count, what) in why.iter().filter(|(count, _)| *count > 0) {
        text += &format!("  {} {what}\n", format::count(*count));
    }
    if let (Some(median), Some(late), Some(behind)) =
        (outcome.lag_p50_ms, outcome.lag_p99_ms, outcome.behind_p99_ms)
    {
        let time = |ms: f64| format::time(ms);
        text += &format!(
            "  lag, our own error: half within {}, 99 % within {}; behind the recording, by the server: 99 % within {}\n",
            time(median),
            time(late),
            time(behind)
        );
    }
    text
}
