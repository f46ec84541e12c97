//! A comparison in words and by kind of statement, the worst first.

use super::{Comparison, Difference, Digest, Mode, Responses, Speed, Timing, times};
use crate::format::{count, percent, significant};
use crate::store::caveats;
use evenkeel_core::caveat::{Caveat, Severity};
use serde::Serialize;

/// Kinds of statements whose plans are asked for.
const WORST: usize = 10;
/// Characters of a statement in the headline.
const NAME: usize = 40;
const VERSION: u32 = 1;

/// How a server (0 or 1) would execute a statement, where that can be had.
pub type Plans<'a> = &'a mut dyn FnMut(usize, &Line) -> Option<String>;

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub version: u32,
    pub mode: Mode,
    pub names: [String; 2],
    /// 0.1 for 10 %.
    pub tolerance: f64,
    pub headline: String,
    /// Whether a result differs or a kind of statement is worse.
    pub is_finding: bool,
    pub executions: u64,
    /// Those of which the recording does not say what they answered: of these nothing is compared but times.
    pub unrecorded: u64,
    /// Of them all.
    pub timing: Option<Timing>,
    /// Time of the second side over that of the first, in sum.
    pub sum_ratio: Option<f64>,
    /// The worst first.
    pub lines: Vec<Line>,
    #[serde(with = "caveats")]
    pub caveats: Vec<Caveat>,
}

/// A kind of statement.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// In hex; absent of what is no single kind.
    pub digest: Option<String>,
    /// Number of the first of them in the recording.
    pub example: u64,
    /// Its text, cut where it is very long.
    pub sql: String,
    pub is_cut: bool,
    pub executions: u64,
    pub set_aside: u64,
    /// Ended in an error at the second side, whatever the first one did.
    pub failed: u64,
    /// With the same error on both sides.
    pub failed_twice: u64,
    /// Of which the answer of the first side is known, and the same when it is asked again.
    pub compared: u64,
    /// Mean of the second side.
    pub rows: f64,
    /// By side; `None` where no time is known.
    pub mean_ms: [Option<f64>; 2],
    pub longest_ms: [Option<f64>; 2],
    pub differences: Vec<Difference>,
    pub timing: Option<Timing>,
    /// By server, of the worst; empty of others.
    pub plans: Vec<Option<String>>,
}

impl Line {
    fn of(digest: &Digest, timing: Option<Timing>) -> Self {
        Self {
            digest: digest.digest.map(|digest| format!("{digest:016x}")),
            example: digest.example,
            sql: digest.sql.clone(),
            is_cut: digest.is_cut,
            executions: digest.executions,
            set_aside: digest.set_aside,
            failed: digest.failed,
            failed_twice: digest.failed_twice,
            compared: digest.compared,
            rows: digest.rows as f64 / digest.executions as f64,
            mean_ms: digest.responses.each_ref().map(Responses::mean_ms),
            longest_ms: digest.responses.each_ref().map(Responses::longest_ms),
            differences: digest.differences.clone(),
            timing,
            plans: Vec::new(),
        }
    }

    /// Whether it gave another result.
    pub fn differs(&self) -> bool {
        self.differences.iter().any(|difference| difference.kind.is_result())
    }

    pub fn speed(&self) -> Speed {
        self.timing.as_ref().map_or(Speed::NotKnown, |timing| timing.speed)
    }

    pub fn is_finding(&self) -> bool {
        self.differs() || self.speed() == Speed::Worse
    }

    /// What differs and how often.
    pub fn answers(&self) -> String {
        let of = |found: &Difference| format!("{}: {}", found.kind.words(), count(found.executions));
        match self.failed {
            _ if !self.differences.is_empty() => {
                self.differences.iter().map(of).collect::<Vec<_>>().join(", ")
            }
            failed => {
                let same = if self.compared > 0 { "same" } else { "not compared" };
                let more = [(failed, "errors"), (self.set_aside, "set aside")];
                let more = more.into_iter().filter(|(number, _)| *number > 0);
                more.fold(same.to_owned(), |text, (number, what)| {
                    format!("{text}, {what}: {}", count(number))
                })
            }
        }
    }

    fn ratio(&self) -> f64 {
        self.timing.as_ref().map_or(0.0, |timing| timing.ratio)
    }

    /// The statement on one line, in at most so many characters.
    pub fn name(&self, most: usize) -> String {
        if self.digest.is_none() {
            return "all other statements".to_owned();
        }
        let text = self.sql.split_whitespace().collect::<Vec<_>>().join(" ");
        match text.char_indices().nth(most.saturating_sub(1)) {
            Some((end, _)) if text.chars().count() > most => format!("{}…", text[..end].trim_end()),
            _ => text,
        }
    }
}

impl Comparison {
    /// What it comes to.
    pub fn report(&self, plans: Plans<'_>) -> Report {
        Report::of(self, plans)
    }
}

impl Report {
    fn of(found: &Comparison, plans: Plans<'_>) -> Self {
        let all: Vec<&Digest> = found.digests.iter().chain(&found.others).collect();
        let timings = times::judged(all.iter().map(|digest| &digest.times), found.tolerance);
        let mut lines: Vec<Line> =
            all.iter().zip(timings).map(|(digest, timing)| Line::of(digest, timing)).collect();
        lines.sort_by(|one, other| {
            let key = |line: &Line| (!line.differs(), line.speed());
            key(one).cmp(&key(other)).then(other.ratio().total_cmp(&one.ratio()))
        });
        plan(&mut lines, found, plans);
        let mut report = Self {
            version: VERSION,
            mode: found.mode,
            names: found.names.clone(),
            tolerance: found.tolerance,
            headline: String::new(),
            unrecorded: found.unrecorded,
            is_finding: lines.iter().any(Line::is_finding),
            executions: lines.iter().map(|line| line.executions).sum(),
            timing: times::judged([&found.times].into_iter(), found.tolerance).remove(0),
            sum_ratio: sum_ratio(&all),
            lines,
            caveats: caveats_of(found),
        };
        report.headline = report.headline();
        report
    }

    /// What was replayed and how long it took over all.
    pub fn setting(&self) -> String {
        let executions = count(self.executions);
        let [first, second] = &self.names;
        if self.unrecorded == self.executions && self.timing.is_none() {
            return format!("{executions} executions of {}", kinds(self.lines.len()));
        }
        let times = self.timing.as_ref().zip(self.sum_ratio).map(|(timing, sum)| {
            format!("; {} times as long in sum, typically {}", significant(sum, 3), timing.words())
        });
        format!(
            "{executions} executions of {}; first {first}, second {second}{}",
            kinds(self.lines.len()),
            times.unwrap_or_default()
        )
    }

    fn of_speed(&self, speed: Speed) -> Vec<&Line> {
        self.lines.iter().filter(|line| line.speed() == speed).collect()
    }

    fn headline(&self) -> String {
        if self.lines.is_empty() {
            return "No statement was answered by both sides: there is nothing to compare".to_owned();
        }
        format!("{}{}{}", self.answers(), self.times(), self.examples())
    }

    fn answers(&self) -> String {
        let (second, all) = (&self.names[1], kinds(self.lines.len()));
        let number = |is: fn(&Line) -> bool| self.lines.iter().filter(|line| is(line)).count() as u64;
        let (differ, fail) = (number(Line::differs), number(|line| line.failed > 0));
        let both = match number(|line| line.failed_twice > 0) {
            0 => String::new(),
            failed => format!(" (errors on both sides: {})", count(failed)),
        };
        let is_known = self.unrecorded < self.executions;
        let nothing = "; the recording has no answers to compare";
        match self.mode {
            _ if differ > 0 => format!("{second} answers {} of {all} differently", count(differ)),
            Mode::Recorded if !is_known && fail == 0 => {
                format!("{second} answers {all} without an error{nothing}")
            }
            Mode::Recorded if !is_known => {
                format!("{second} answers {} of {all} with an error{nothing}", count(fail))
            }
            Mode::Recorded => {
                format!("{second} answers {all} with as many rows and the same errors as recorded{both}")
            }
            Mode::Servers => format!("{second} answers {all} as {} does{both}", self.names[0]),
        }
    }

    fn times(&self) -> String {
        if self.timing.is_none() {
            return String::new();
        }
        let tolerance = percent(100.0 * self.tolerance);
        let [worse, unknown] = [Speed::Worse, Speed::NotKnown].map(|speed| self.of_speed(speed).len());
        let is_slower = match worse {
            0 if unknown == self.lines.len() => {
                return "; too few executions to tell which is faster".to_owned();
            }
            0 => format!(", and none is certainly slower by more than {tolerance}"),
            1 => format!(", and 1 is slower by more than {tolerance}"),
            worse => format!(", and {} are slower by more than {tolerance}", count(worse as u64)),
        };
        match unknown {
            0 => is_slower.replace("certainly ", ""),
            unknown => format!("{is_slower} (too few executions to tell: {})", count(unknown as u64)),
        }
    }

    /// The worst of each.
    fn examples(&self) -> String {
        let differs = self.lines.iter().find(|line| line.differs());
        let differs = differs.and_then(|line| {
            let first = line.differences.iter().find(|difference| difference.kind.is_result())?;
            Some(format!("{} gives {}", line.name(NAME), first.words()))
        });
        let slower = self.of_speed(Speed::Worse).first().and_then(|line| {
            let ratio = line.timing.as_ref()?.words();
            Some(format!("{} takes {ratio} times as long", line.name(NAME)))
        });
        let examples: Vec<String> = differs.into_iter().chain(slower).collect();
        if examples.is_empty() { String::new() } else { format!(": {}", examples.join("; ")) }
    }
}

fn sum_ratio(all: &[&Digest]) -> Option<f64> {
    let sum = |side: usize| all.iter().map(|digest| digest.responses[side].sum_ms).sum::<f64>();
    Some(sum(1) / sum(0)).filter(|ratio| ratio.is_finite())
}

fn kinds(number: usize) -> String {
    match number {
        1 => "1 statement".to_owned(),
        number => format!("{} statements", count(number as u64)),
    }
}

/// Asks for the plans of the worst that need a look: those that differ, are worse, or may be.
fn plan(lines: &mut [Line], found: &Comparison, plans: Plans<'_>) {
    let servers = if found.mode == Mode::Servers { 0..2 } else { 0..1 };
    let is_slow = |line: &Line| line.speed() == Speed::NotKnown && line.ratio() > 1.0 + found.tolerance;
    for line in lines.iter_mut().filter(|line| line.is_finding() || is_slow(line)).take(WORST) {
        let is_whole = !line.is_cut && line.digest.is_some();
        let mut ask = |server| if is_whole { plans(server, line) } else { None };
        let all = servers.clone().map(&mut ask).collect();
        line.plans = all;
    }
}

const RECORDED: &str = "were timed by the recording, on another machine, load or state of caches. Ratios compare all of that, and not the \
                        versions alone: replay against two servers to compare these.";
const SET_ASIDE: &str = "gave different results when the first server ran them twice (NOW(), LIMIT without ORDER BY, \
                         concurrent writes): these results are not compared.";
const UNRECORDED: &str = "have no recorded answer, so that whether an error is new is not known. A capture \
                          (`evenkeel guard --capture`) has answers.";
const UNANSWERED: &str = "got no answer of both sides and are not compared.";
const OTHERS: &str = "belong to statements beyond the first 2,000, which are compared as one group.";

fn caveats_of(found: &Comparison) -> Vec<Caveat> {
    let recorded = if found.mode == Mode::Recorded { found.times.executions() } else { 0 };
    let set_aside = found.digests.iter().chain(&found.others).map(|digest| digest.set_aside).sum();
    let others = found.others.as_ref().map_or(0, |others| others.executions);
    let all = [
        ("recorded-times", recorded, Severity::Doubt, RECORDED),
        ("set-aside", set_aside, Severity::Note, SET_ASIDE),
        ("unrecorded", found.unrecorded, Severity::Note, UNRECORDED),
        ("unanswered", found.unanswered, Severity::Doubt, UNANSWERED),
        ("other-statements", others, Severity::Note, OTHERS),
    ];
    let caveat = |(code, number, severity, text): (_, u64, _, &str)| {
        Caveat::new(code, severity, format!("Of the executions {} {text}", count(number)))
            .with("executions", number as f64)
    };
    all.into_iter().filter(|(_, number, ..)| *number > 0).map(caveat).collect()
}
