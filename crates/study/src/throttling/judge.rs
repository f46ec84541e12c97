//! What the study says of its runs.

use super::record::{Load, Setting, Treatment};
use super::verdict::{FALL_PERCENT, Verdict, verdicts};
use super::words;
use crate::format;
use crate::harness::{Finding, Judgement, Number, Plan, Run, above, cells};

/// A controller that loses less than this share of the peak keeps it.
const KEPT: f64 = 1.0 - FALL_PERCENT / 100.0;

/// Where no hardware counter could be read.
const NO_OVERHEAD: &str = " It is not what the study calls overhead, misses of the data translation buffer and of the data \
                           cache: those could not be counted here.";

pub fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
    let cells = cells(plan, runs);
    let verdicts = verdicts(&cells);
    let sentences = verdicts.iter().flat_map(|verdict| {
        words::sentences(verdict).into_iter().map(|text| (verdict.load.name().to_owned(), text))
    });
    let best =
        verdicts.iter().filter_map(|verdict| Some((verdict.load.name(), verdict.fall.as_ref()?.best.1)));
    let guide = |(load, rate): (&str, f64)| {
        (load.to_owned(), "throughput_per_s", rate, format!("best without control {}", format::rate(rate)))
    };
    Judgement {
        headline: words::headline(&verdicts, runs),
        published: words::PUBLISHED,
        source: words::SOURCE,
        rule: words::rule(),
        setting: words::setting(plan, setting),
        findings: verdicts.iter().flat_map(findings).collect(),
        sentences: sentences.collect(),
        caveats: words::caveats(plan, setting, runs),
        place: place(setting),
        guides: best.map(guide).collect(),
        ..Judgement::default()
    }
}

fn findings(verdict: &Verdict) -> Vec<Finding> {
    [falls(verdict), kept(verdict), overhead(verdict)].into_iter().flatten().collect()
}

/// One run of a point has no spread, and nothing can be told from it.
fn falls(verdict: &Verdict) -> Option<Finding> {
    let fall = verdict.fall.as_ref()?;
    let holds = (fall.runs > 1).then(|| fall.is_shown());
    let published = "throughput falls beyond a peak as clients are added";
    let here = format!("Without control it {}.", words::falls(fall));
    let numbers = vec![
        Number { name: "fall_percent".to_owned(), value: fall.percent, interval: fall.interval },
        Number::plain("best_clients", f64::from(fall.best.0)),
        Number::plain("best_per_s", fall.best.1),
        Number::plain("highest_clients", f64::from(fall.highest.0)),
        Number::plain("highest_per_s", fall.highest.1),
    ];
    Some(Finding::of("throughput-falls", verdict.load.name(), published, holds, here).with(numbers))
}

/// Where nothing falls, nothing has to be kept.
fn kept(verdict: &Verdict) -> Option<Finding> {
    let of = |way: Treatment| verdict.held.iter().find(|held| held.way == way).map(|held| &held.ratio);
    let ratio = of(Treatment::Reflection)?;
    let falls = verdict.fall.as_ref().is_some_and(super::verdict::Fall::is_shown);
    let published = "with the published controller throughput stays at its peak through the overload";
    let here = format!("It keeps {} of the best without control.", format::ratio(ratio));
    let number = |way: Treatment| Number::of(&format!("kept_{}", way.name()), of(way));
    let holds = above(Some(ratio), KEPT).filter(|_| falls);
    let numbers = Treatment::ALL.into_iter().flat_map(number).collect();
    Some(Finding::of("peak-is-kept", verdict.load.name(), published, holds, here).with(numbers))
}

/// Only misses of the hardware are what the study calls overhead.
fn overhead(verdict: &Verdict) -> Option<Finding> {
    let cost = verdict.cost().filter(|_| verdict.load == Load::Reread)?;
    let waits = verdict.lock_wait_percent.map(|percent| Number::plain("lock_wait_percent_max", percent));
    let numbers = [("from", cost.from), ("to", cost.to), ("factor", cost.factor())];
    let numbers = numbers.map(|(name, value)| Number::plain(&format!("{}_{name}", cost.key), value));
    let published = "misses of translation buffer and cache grow with clients, without lock waits";
    let locks = verdict.lock_wait_percent.map_or_else(|| format::ABSENT.to_owned(), format::percent);
    let other = if cost.is_overhead() { "" } else { NO_OVERHEAD };
    let (words, factor) = (cost.words, format::short(cost.factor()));
    let here =
        format!("{words} grow {factor}-fold, row locks are waited for {locks} of the time in flight.{other}");
    let holds = verdict.doubles_without_locks().filter(|_| cost.is_overhead());
    let finding = Finding::of("overhead-grows", verdict.load.name(), published, holds, here);
    Some(finding.with(numbers.into_iter().chain(waits).collect()))
}

fn place(setting: &Setting) -> Vec<(&'static str, String)> {
    let cpus = [
        ("CPUs of the server", setting.server_cpus.clone()),
        ("CPUs of clients and guard", setting.generator_cpus.clone()),
    ];
    setting.machine.known().into_iter().chain(cpus).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{falling, flat, plan, reread, setting};
    use super::*;
    use crate::harness::Outcome;

    fn outcome(runs: &[Run], name: &str) -> Outcome {
        let said = judge(&plan(), &setting(), runs);
        said.findings
            .iter()
            .find(|finding| finding.name == name)
            .map_or(Outcome::NotTestable, |found| found.outcome)
    }

    #[test]
    fn a_fall_that_all_runs_show_holds_and_a_controller_that_does_not_keep_the_peak_is_told() {
        assert_eq!(outcome(&falling(), "throughput-falls"), Outcome::Holds);
        assert_eq!(outcome(&falling(), "peak-is-kept"), Outcome::DoesNotHold, "0.7 of it");
        assert_eq!(outcome(&flat(), "throughput-falls"), Outcome::DoesNotHold);
        assert_eq!(outcome(&flat(), "peak-is-kept"), Outcome::NotTestable, "nothing had to be kept");
        let once: Vec<Run> = falling().into_iter().filter(|run| run.repeat == 1).collect();
        assert_eq!(outcome(&once, "throughput-falls"), Outcome::NotTestable);
    }

    #[test]
    fn overhead_that_cannot_be_counted_is_not_testable_here() {
        assert_eq!(outcome(&reread(), "overhead-grows"), Outcome::NotTestable);
    }
}
