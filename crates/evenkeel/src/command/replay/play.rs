//! Sends a recording to one server or two, and says how that went.

use super::flags::Args;
use super::lines::Lines;
use super::past::Sent;
use crate::command::{Session, look, mode};
use crate::failure::{FINDING, WithHint};
use crate::progress::{ProgressEvent, View};
use crate::server::{identity, is_same, place};
use crate::{format, out, signals};
use anyhow::{Context, Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_core::histogram::Histogram;
use evenkeel_lab::replay::play::{Counts, Options, PastOf, Replay, Who};
use evenkeel_lab::replay::{Played, Recording, SIDES, explain};
use evenkeel_lab::workload::user::ColumnReader;
use evenkeel_os::clock::{self, Clock};
use evenkeel_site::server::{Control, Target};
use evenkeel_study::replay::{Comparison, Mode, Report};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Rows of a large result; the smallest of the published study had 64,415.
const LARGE: u64 = 10_000;
/// Less is nothing to speak of.
const BEHIND_MIN_MS: f64 = 0.01;
/// Results that wait to be compared and written, at most.
const QUEUE: usize = 1 << 13;
/// As much of a statement goes with each of them: more than a comparison keeps.
const SQL_MAX: usize = 9 << 10;
const SHOW_EVERY: Nanos = Nanos::from_secs(5);

/// What became of the commands, and of our own punctuality.
#[derive(Debug, Serialize)]
struct Outcome {
    commands: u64,
    sent: u64,
    /// Of these by the replay that is continued.
    earlier: u64,
    /// Of the recording, which cannot send them.
    left_out: u64,
    writes_not_sent: u64,
    unknown: u64,
    unreadable: u64,
    unreachable: u64,
    lost_connections: u64,
    out_of_order: u64,
    renumbered: u64,
    took_s: f64,
    /// Sent later than they could be: our own error.
    lag_p50_ms: Option<f64>,
    lag_p99_ms: Option<f64>,
    /// Could be sent later than they were due: the server's.
    behind_p99_ms: Option<f64>,
    finished: bool,
    comparison: Report,
}

#[derive(Default)]
struct Times {
    lag: Histogram,
    behind: Histogram,
}

/// Plays a recording, and prints what came of it.
pub fn run(session: &Session, args: &Args, recording: &Recording, left_out: u64) -> Result<ExitCode> {
    let targets = args.targets.iter().map(|text| target(session, text)).collect::<Result<Vec<_>>>()?;
    let options = options(args, recording)?;
    let controls = targets.iter().map(|target| Control::connect_until(target, &session.stop));
    let mut controls = controls.collect::<Result<Vec<_>, _>>()?;
    check(args, recording, &targets, &mut controls)?;
    let stored = &stored(&targets, &mut controls)?;
    let (time_zone, settings) = super::settings::compared(&mut controls)?;
    drop(controls);
    let (past, lines) = files(args, recording, targets.len())?;
    let counts = &Counts::default();
    let mut results = Results {
        times: Times::default(),
        comparison: Comparison::new(compared(&targets), names(args, &targets), args.tolerance / 100.0),
        lines,
    };
    let find = past.as_ref().map(|past| |client, number| past.find(client, number));
    let past_of = find.as_ref().map(|find| find as PastOf<'_>);
    let (targets, stop) = (&targets[..], &session.stop);
    let time_zone = time_zone.as_deref();
    // What comes of it is taken by a thread of its own: whoever sends waits for nobody's lock and file.
    let (sender, receiver) = mpsc::sync_channel::<(Played, Vec<u8>)>(QUEUE);
    let (commands, took) = thread::scope(|scope| {
        let results = &mut results;
        scope.spawn(move || receiver.into_iter().for_each(|(played, sql)| results.take(&played, &sql)));
        let take = move |played: &Played, sql: &[u8]| {
            let _ = sender.send((played.clone(), sql[..sql.len().min(SQL_MAX)].to_vec()));
        };
        let take = &take;
        let replay =
            Replay { recording, targets, options, time_zone, stored, counts, stop, take, past: past_of };
        let commands = replay.commands();
        (commands, sent(session, args, (commands, counts), &replay))
    });
    let Results { times, comparison, lines } = results;
    let written = lines.map_or(Ok(()), Lines::end);
    let mut report = comparison.report(&mut |server, line| {
        let mut control = Control::connect_within(targets.get(server)?, Duration::from_secs(5)).ok()?;
        explain(recording, &mut control, line.example, &line.sql)
    });
    report.caveats.extend(settings);
    let earlier = past.as_ref().map_or(0, Sent::count);
    let outcome = Outcome { earlier, left_out, ..outcome(commands, counts, &times, (took, report)) };
    let code = shown(session, args, &outcome)?;
    written.map(|()| code)
}

/// The files that are written and read. An earlier one was kept until now, where the servers have let us in.
fn files(args: &Args, recording: &Recording, servers: usize) -> Result<(Option<Sent>, Option<Lines>)> {
    if let Some(path) = &args.page {
        // Now, and not after hours.
        let made = File::options().append(true).create(true).open(path);
        made.with_context(|| format!("cannot write {}", path.display()))?;
    }
    let of = (servers, fingerprint(args, recording));
    match &args.csv {
        Some(path) if args.resume => {
            let (past, file) = Sent::open(path, of, recording)?;
            Ok((Some(past), Some(Lines::after(path, file, of.1))))
        }
        Some(path) => Ok((None, Some(Lines::create(path, of)?))),
        None => Ok((None, None)),
    }
}

/// Prints it, and makes the page.
fn shown(session: &Session, args: &Args, outcome: &Outcome) -> Result<ExitCode> {
    let table = || crate::table::replay::replay(&outcome.comparison, look(), args.wide);
    out::answer(args.json, outcome, || out::painted(&(table() + "\n" + &text(outcome, args.csv.is_some()))))?;
    if let Some(path) = &args.page {
        let page = crate::report::replay::html(&outcome.comparison);
        out::file(path, &page).with_context(|| format!("writing {}", path.display()))?;
    }
    let is_fine = outcome.sent > 0 && outcome.unreachable == 0 && !outcome.comparison.is_finding;
    Ok(match session.stop.is_set() {
        true => signals::exit_code(),
        false if is_fine => ExitCode::SUCCESS,
        false => ExitCode::from(FINDING),
    })
}

/// Of the log, the servers, and how it is sent: a replay continues one that has the same.
fn fingerprint(args: &Args, recording: &Recording) -> u64 {
    let headers: Vec<String> = recording.headers.iter().map(ToString::to_string).collect();
    let log = (headers, recording.began(), recording.commands());
    let mut hasher = DefaultHasher::new();
    (log, &args.targets, args.clients, args.spread, args.shift_dates).hash(&mut hasher);
    hasher.finish()
}

/// A sandbox has whatever databases the recording names, and none that it begins with.
fn target(session: &Session, text: &str) -> Result<Target> {
    let target = place::target(session, text, "")?;
    let names_none = text.starts_with("sandbox:") && !text.contains('/');
    Ok(Target { database: target.database.filter(|_| !names_none), ..target })
}

/// What comes of all commands.
struct Results {
    times: Times,
    comparison: Comparison,
    lines: Option<Lines>,
}

impl Results {
    fn take(&mut self, played: &Played, sql: &[u8]) {
        self.times.note(played);
        self.comparison.take(played, &String::from_utf8_lossy(sql));
        if let Some(lines) = &mut self.lines {
            lines.add(played);
        }
    }
}

fn compared(targets: &[Target]) -> Mode {
    if targets.len() == SIDES { Mode::Servers } else { Mode::Recorded }
}

/// What the sides are called.
fn names(args: &Args, targets: &[Target]) -> [String; SIDES] {
    let name = |(text, target): (&String, &Target)| match text.starts_with("sandbox:") {
        true => text.clone(),
        false => target.to_string(),
    };
    let mut names = args.targets.iter().zip(targets).map(name);
    match (names.next(), names.next()) {
        (Some(first), Some(second)) => [first, second],
        (first, _) => ["the recording".to_owned(), first.unwrap_or_default()],
    }
}

fn options(args: &Args, recording: &Recording) -> Result<Options> {
    let who = args.clients.map_or(Who::Sessions, Who::Clients);
    if args.order && who != Who::Sessions {
        return Err(anyhow!("--order keeps the order of the recorded sessions"))
            .hint("leave out --order or --clients");
    }
    if let Who::Clients(clients) = who
        && clients < recording.logs()
    {
        return Err(anyhow!("--mix needs a client for each log")).hint("give --clients 2 or more");
    }
    if args.shift_dates && recording.headers.iter().any(|header| header["times"] == "none") {
        return Err(anyhow!("the log has no times, so that its age is not known")).hint(
            "put a line as `-- 2026-11-30 10:00:00` before its first statement, or leave out --shift-dates",
        );
    }
    let shift_to = args.shift_dates.then(|| Nanos::from(clock::unix_time()).0);
    Ok(Options {
        who,
        pace: args.pace,
        writes: args.allow_writes,
        ordered: args.order,
        spread: args.spread.then_some(LARGE),
        hashes: args.targets.len() == SIDES || args.csv.is_some(),
        shift_to,
    })
}

/// How many of them there are.
const TRIGGERS_AND_ROUTINES: &str = "SELECT (SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA NOT IN ('mysql', 'sys')) + \
                      (SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA NOT IN ('mysql', 'sys'))";

/// Refuses to write to the server that was recorded, and where nobody said that it may be written.
fn check(args: &Args, recording: &Recording, targets: &[Target], controls: &mut [Control]) -> Result<()> {
    if !args.allow_writes {
        return Ok(());
    }
    for ((text, target), control) in args.targets.iter().zip(targets).zip(controls) {
        let own = identity(control)?;
        let host = own.get("hostname").map(String::as_str).unwrap_or_default();
        if recording.headers.iter().any(|header| is_same(&header["server"], &own)) {
            return Err(anyhow!(
                "{target} is the server that was recorded, and the replay would write to it"
            ))
            .hint("send it to a copy of the server, or leave out --allow-writes");
        }
        let is_general = recording.headers.iter().any(|header| header["source"] == "general-log");
        if is_general && control.query_value(TRIGGERS_AND_ROUTINES)?.is_some_and(|count| count != "0") {
            return Err(anyhow!("{target} has triggers or stored routines, and a general log has their statements too: they would be executed twice"))
                .hint("replay a capture or a slow log, or leave out --allow-writes");
        }
        if !text.starts_with("sandbox:") && !args.staging.iter().any(|name| name == host) {
            return Err(anyhow!("the replay would write to {target}, whose host is {host}"))
                .hint(format!("give --staging {host} if its data may change"));
        }
    }
    Ok(())
}

/// Names of the stored functions of all servers.
fn stored(targets: &[Target], controls: &mut [Control]) -> Result<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    for (target, control) in targets.iter().zip(controls) {
        let found = control
            .stored_functions()
            .map_err(|error| anyhow!("cannot list stored functions of {target}: {error}"));
        all.append(&mut found.hint("give the account the right to read information_schema.ROUTINES")?);
    }
    Ok(all)
}

/// Does it, and shows how far it is; how long it took.
fn sent(session: &Session, args: &Args, (commands, counts): (u64, &Counts), replay: &Replay<'_>) -> Nanos {
    let (over, clock, lasts) = (AtomicBool::new(false), Clock::start(), replay.lasts());
    thread::scope(|scope| {
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
        replay.run();
        over.store(true, Ordering::Relaxed);
    });
    clock.now()
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

fn outcome(commands: u64, counts: &Counts, times: &Times, (took, comparison): (Nanos, Report)) -> Outcome {
    let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let ms = |histogram: &Histogram, q| histogram.quantile(q).map(Nanos::as_millis_f64);
    Outcome {
        commands,
        sent: get(&counts.played),
        earlier: 0,
        left_out: 0,
        writes_not_sent: get(&counts.writes),
        unknown: get(&counts.unknown),
        unreadable: get(&counts.unreadable),
        unreachable: get(&counts.unreachable),
        lost_connections: get(&counts.lost),
        out_of_order: get(&counts.out_of_order),
        renumbered: get(&counts.renumbered),
        took_s: took.as_secs_f64(),
        lag_p50_ms: ms(&times.lag, 0.5),
        lag_p99_ms: ms(&times.lag, 0.99),
        behind_p99_ms: ms(&times.behind, 0.99),
        finished: counts.done() == commands,
        comparison,
    }
}

fn text(outcome: &Outcome, has_lines: bool) -> String {
    let mut text = format!(
        "{} of {} commands sent in {}\n",
        format::count(outcome.sent),
        format::count(outcome.commands),
        format::seconds(outcome.took_s)
    );
    let why = [
        (outcome.earlier, "sent by the replay that was continued"),
        (outcome.writes_not_sent, "not sent: they change something (--allow-writes sends them)"),
        (outcome.unknown, "not sent: their prepared statement, file or login is not in the recording"),
        (outcome.unreadable, "not sent: the recording cannot be read there"),
        (outcome.left_out, "not in the recording: they were left out (--check says why)"),
        (outcome.unreachable, "without an answer: a server could not be reached"),
        (outcome.lost_connections, "connections lost"),
        (outcome.renumbered, "inserted with other AUTO_INCREMENT numbers: the account may not set insert_id"),
        (outcome.out_of_order, "sent out of order: still waiting for an earlier command after 10 s"),
    ];
    for (count, what) in why.iter().filter(|(count, _)| *count > 0) {
        text += &format!("  {} {what}\n", format::count(*count));
    }
    if !outcome.finished && has_lines {
        text += "  stopped before the end: --resume sends the rest\n";
    }
    if let (Some(median), Some(late), Some(behind)) =
        (outcome.lag_p50_ms, outcome.lag_p99_ms, outcome.behind_p99_ms)
    {
        let [median, late, behind_text] = [median, late, behind].map(format::time);
        text += &format!("  lag (delay added by evenkeel): median {median}, 99th percentile {late}");
        if behind >= BEHIND_MIN_MS {
            text += &format!("; behind the recording, by slower answers: 99th percentile {behind_text}");
        }
        text.push('\n');
    }
    text
}
