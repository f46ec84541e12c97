//! A comparison in words and by kind of statement, the worst first.

use super::{Comparison, Difference, Digest, Mode, Speed, Timing, times};
use crate::format::{count, percent};
use crate::store::caveats;
use evenkeel_core::caveat::{Caveat, Severity};
use serde::Serialize;

/// Kinds of statements whose plans are asked for.
const WORST: usize = 10;
/// Characters of a statement in the headline.
const NAME: usize = 40;
const VERSION: u32 = 1;

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
    /// The worst first.
    pub lines: Vec<Line>,
    /// Of the first of them.
    pub plans: Vec<Planned>,
    #[serde(with = "caveats")]
    pub caveats: Vec<Caveat>,
}

/// A kind of statement.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// In hex; absent of what is no single kind.
    pub digest: Option<String>,
    /// One of them, cut where it is very long.
    pub sql: String,
    pub is_cut: bool,
    pub executions: u64,
    pub set_aside: u64,
    /// Ended in an error at the second side, whatever the first one did.
    pub failed: u64,
    /// Mean of the second side.
    pub rows: f64,
    pub differences: Vec<Difference>,
    pub timing: Option<Timing>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Planned {
    /// Place in the lines.
    pub line: usize,
    /// By server.
    pub plans: Vec<Option<String>>,
}

impl Line {
    fn of(digest: &Digest, timing: Option<Timing>) -> Self {
        Self {
            digest: digest.digest.map(|digest| format!("{digest:016x}")),
            sql: digest.sql.clone(),
            is_cut: digest.is_cut,
            executions: digest.executions,
            set_aside: digest.set_aside,
            failed: digest.failed,
            rows: digest.rows as f64 / digest.executions as f64,
            differences: digest.differences.clone(),
            timing,
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
            0 => "same".to_owned(),
            failed => format!("same, errors: {}", count(failed)),
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

impl Report {
    pub(super) fn of(found: &Comparison, plans: &mut dyn FnMut(usize, &str) -> Option<String>) -> Self {
        let all: Vec<&Digest> = found.digests.iter().chain(&found.others).collect();
        let timings = times::judged(all.iter().map(|digest| &digest.times), found.tolerance);
        let mut lines: Vec<Line> =
            all.iter().zip(timings).map(|(digest, timing)| Line::of(digest, timing)).collect();
        lines.sort_by(|one, other| {
            let key = |line: &Line| (!line.differs(), line.speed());
            key(one).cmp(&key(other)).then(other.ratio().total_cmp(&one.ratio()))
        });
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
            plans: planned(&lines, found, plans),
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
        let times = self.timing.as_ref().map(|timing| format!("; {} times as long over all", timing.words()));
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
        let as_first = match self.mode {
            Mode::Recorded => "recorded".to_owned(),
            Mode::Servers => format!("{} does", self.names[0]),
        };
        match self.lines.iter().filter(|line| line.differs()).count() {
            0 if self.unrecorded == self.executions => {
                let failed = match self.lines.iter().filter(|line| line.failed > 0).count() {
                    0 => "none of".to_owned(),
                    failed => format!("{} of", count(failed as u64)),
                };
                format!(
                    "{second} gives an error to {failed} {all}, and the recording has no answers to compare"
                )
            }
            0 => format!("{second} answers {all} as {as_first}"),
            differ => format!("{second} answers {} of {all} differently", count(differ as u64)),
        }
    }

    fn times(&self) -> String {
        let tolerance = percent(100.0 * self.tolerance);
        let [worse, unknown] = [Speed::Worse, Speed::NotKnown].map(|speed| self.of_speed(speed).len());
        let is_slower = match worse {
            0 if unknown == self.lines.len() => return "; which is faster is not known yet".to_owned(),
            0 => format!(", and none is slower for certain by more than {tolerance}"),
            1 => format!(", and 1 is slower by more than {tolerance}"),
            worse => format!(", and {} are slower by more than {tolerance}", count(worse as u64)),
        };
        match unknown {
            0 => is_slower.replace(" for certain", ""),
            unknown => format!("{is_slower} (not known yet: {})", count(unknown as u64)),
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

fn kinds(number: usize) -> String {
    match number {
        1 => "1 statement".to_owned(),
        number => format!("{} statements", count(number as u64)),
    }
}

/// Plans of the worst that need a look: those that differ, are worse, or may be.
fn planned(
    lines: &[Line],
    found: &Comparison,
    plans: &mut dyn FnMut(usize, &str) -> Option<String>,
) -> Vec<Planned> {
    let servers = if found.mode == Mode::Servers { 0..2 } else { 0..1 };
    let is_asked = |line: &Line| {
        line.is_finding() || line.speed() == Speed::NotKnown && line.ratio() > 1.0 + found.tolerance
    };
    let asked = lines.iter().enumerate().filter(|(_, line)| is_asked(line)).take(WORST);
    let of = |line: &Line, server, plans: &mut dyn FnMut(usize, &str) -> Option<String>| {
        if line.is_cut || line.digest.is_none() { None } else { plans(server, &line.sql) }
    };
    asked
        .map(|(at, line)| Planned {
            line: at,
            plans: servers.clone().map(|server| of(line, server, plans)).collect(),
        })
        .collect()
}

fn caveats_of(found: &Comparison) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let is_timed = found.times.is_known();
    if found.mode == Mode::Recorded && is_timed {
        caveats.push(Caveat::new(
            "recorded-times",
            Severity::Doubt,
            "The recorded times are those of another machine, load or state of caches. Ratios compare all of that, and not the \
             versions alone: replay against two servers to compare these.",
        ));
    }
    let counted = |code, number: u64, severity, text: &str| {
        let text = format!("{} {text}", count(number));
        (number > 0).then(|| Caveat::new(code, severity, text).with("executions", number as f64))
    };
    let set_aside = found.digests.iter().chain(&found.others).map(|digest| digest.set_aside).sum();
    let others = found.others.as_ref().map_or(0, |others| others.executions);
    caveats.extend(counted(
        "set-aside",
        set_aside,
        Severity::Note,
        "executions gave another result when the same server was asked twice (NOW(), LIMIT without ORDER BY, writes in between): \
         their results are not compared.",
    ));
    caveats.extend(counted(
        "unrecorded",
        found.unrecorded,
        Severity::Note,
        "executions have no recorded answer: errors there may be none that are new. A capture (`evenkeel guard --capture`) has \
         answers.",
    ));
    caveats.extend(counted(
        "unanswered",
        found.unanswered,
        Severity::Doubt,
        "executions were not answered by both sides and are not compared.",
    ));
    caveats.extend(counted(
        "other-statements",
        others,
        Severity::Note,
        "executions are of further kinds of statements, which are compared as if they were one.",
    ));
    caveats
}
