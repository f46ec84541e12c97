//! The sentences of the study.

use super::findings::{AtRate, Found, costs};
use super::parts::RATES;
use super::record::Setting;
use super::seen;
use crate::format;
use crate::harness::{Plan, Run, of_runs};
use evenkeel_core::caveat::{Caveat, Severity};
use evenkeel_core::variance::{Components, Level};
use evenkeel_core::why::{LITTLE, NEIGHBOURS_MIN, Ruling, SHARE_MIN, STOLEN_MIN, Suspect, Why};

pub(super) const PUBLISHED: &str = "Profiles of servers that should be alike agree up to a utilisation of 50 %; beyond that they differ by disk I/O, whose root \
                                    is the storage layout: reloaded from a dump they agree up to 80 %.";
/// Where it was published.
pub(super) const SOURCE: &str = "variation study: MySQL 5.1 with InnoDB on Xen 4.1.2, four nodes of four cores at 3.1 GHz, guests with one virtual CPU; and ten \
                                 servers of Amazon EC2";

pub(super) fn rule() -> String {
    format!(
        "The slowest and the fastest server are compared, start by start, or run by run if there is a \
         single start. They differ if the 95 % interval is above 0 and the difference is at least {:.0} % \
         of the response time. A suspect is the cause if they differ, its part of a request differs too, and that part \
         makes at least {:.0} % of the difference. It is not the cause if the whole interval is below that, \
         or, if servers do not differ, below {:.0} % of the response time. Other findings (plans, pages, pools, small \
         probes of a far network) can leave a suspect undecided, and its sentence says so. A suspect that may be a \
         consequence of another cause (locks that are held longer, CPU work of reads) is left undecided. Stolen CPU time \
         needs {STOLEN_MIN} points more, neighbours {NEIGHBOURS_MIN}, and no other cause. Of syncs of data files the part is \
         what a request may meet of one; they need longer syncs, and no other cause. Runs and servers are \
         trusted as in a profile: a standard error of at most 10 % of the response time (90 % confidence) \
         and a spread of at most 40 %. Where runs differ by more, a cause is named if the 95 % interval of the \
         difference reaches at most 30 % below it.",
        100.0 * LITTLE,
        100.0 * SHARE_MIN,
        100.0 * LITTLE
    )
}

pub(super) fn setting(plan: &Plan, setting: &Setting) -> String {
    let part = plan.part(RATES).or_else(|| plan.parts.first());
    let starts = part.map_or(0, |part| part.repeats / setting.runs_of_start.max(1));
    let servers = format::counted(setting.targets.len(), "server");
    let at_once = if setting.duet { ", each run on all of them at once" } else { "" };
    format!(
        "{servers} ({}), {} of each with {} of {} s, {}{at_once}, seed {}",
        setting.targets.iter().map(|target| target.words()).collect::<Vec<_>>().join(", "),
        format::counted(starts as usize, "start"),
        format::counted(setting.runs_of_start as usize, "run"),
        setting.duration_s,
        setting.workload,
        plan.seed
    )
}

/// The first sentence: what differs, and why.
pub(super) fn headline(setting: &Setting, found: &Found<'_>) -> String {
    let Some(at) = found.judged() else {
        return format!(
            "Nothing has been measured yet of the part `{RATES}`, which says what differs and why."
        );
    };
    let Some(why) = &at.why else { return "No request was answered.".to_owned() };
    let name = |target: usize| name_of(setting, target);
    let ahead = match at.point.as_ref().and_then(|point| point.invalid.as_ref()) {
        Some(code) => format!("Runs failed ({code}), so delays of the generator are in all response times. "),
        None if found.is_settled => String::new(),
        None => "At no rate did all servers keep up. ".to_owned(),
    };
    let rate = format::significant(at.rate, 3);
    if why.slow == why.fast && setting.targets.len() > 1 {
        let alone = name(why.slow);
        return format!(
            "{ahead}At {rate} requests per second only {alone} answered: there is nothing to compare it with."
        );
    }
    let Some(gap) = why.gap else {
        return format!("{ahead}At {rate} requests per second: {}", dominates(found.components.as_ref()));
    };
    let more = |value: f64| format::significant(value, 3);
    let gap = format!("{} ms ({} to {})", more(gap.mean), more(gap.low), more(gap.high));
    if !why.differs() {
        return format!(
            "{ahead}At {rate} requests per second {} and {} do not differ clearly: a request to the slower one takes {gap} longer of {} ms. {}",
            name(why.slow),
            name(why.fast),
            more(why.fast_ms),
            dominates(found.components.as_ref())
        );
    }
    // Starts make response times vary, which is no reason why one server is slower in the mean.
    let causes: Vec<&str> =
        why.causes().filter(|suspect| *suspect != Suspect::Start).map(Suspect::words).collect();
    let because = match causes.as_slice() {
        [] if at.untrusted.is_some() => {
            format!("no cause is named, since {}", at.untrusted.as_deref().unwrap_or_default())
        }
        [] => "no cause was found, the difference is unexplained".to_owned(),
        [one] => format!("the cause is {one}{}", unexplained(why)),
        many => format!("the causes are {}{}", format::listed(many), unexplained(why)),
    };
    format!(
        "{ahead}At {rate} requests per second a request to {} takes {gap} longer than to {}, where it takes {} ms: {because}.",
        name(why.slow),
        name(why.fast),
        more(why.fast_ms)
    )
}

/// What the causes leave, if it is a good part.
fn unexplained(why: &Why) -> String {
    let least_ms = why.gap.map_or(0.0, |gap| SHARE_MIN * gap.mean);
    let left = why.unexplained_ms.filter(|ms| *ms >= least_ms);
    left.map_or_else(String::new, |ms| format!("; {} ms are unexplained", format::significant(ms, 3)))
}

fn name_of(setting: &Setting, target: usize) -> String {
    setting.targets.get(target).map(|target| target.name.clone()).unwrap_or_default()
}

fn dominates(components: Option<&Components>) -> String {
    let Some(dominant) = components.and_then(Components::dominant) else {
        return "There are too few runs to say what varies most.".to_owned();
    };
    let between = match dominant.level {
        Level::Target => "between servers",
        Level::Population => "between populations of the tables",
        Level::Start => "between starts of a server",
        Level::Run => "between runs of a start",
        Level::Request => "between the requests of a run",
    };
    let certain = if dominant.is_certain { "" } else { ", though their intervals overlap" };
    format!("Most of the variance of a run ({:.0} %) lies {between}{certain}.", 100.0 * dominant.share)
}

pub(super) fn sentences(setting: &Setting, found: &Found<'_>) -> Vec<(String, String)> {
    let mut said = Vec::new();
    let mut say = |text: String| said.push((RATES.to_owned(), text));
    if let Some(components) = &found.components {
        say(dominates(Some(components)));
        match (setting.duet, one_more(setting, components)) {
            (true, _) => say(format!(
                "Components are those of {} alone: servers that are measured at once share the machine.",
                found
                    .judged()
                    .and_then(|at| Some(name_of(setting, at.why.as_ref()?.slow)))
                    .unwrap_or_default()
            )),
            (false, Some(text)) => say(text),
            (false, None) => {}
        }
    }
    say(format!("Response times and servers are {}.", found.limit));
    if let Some(share) = found.judged().and_then(|at| seen::statistics_move(setting, &at.runs)) {
        say(format!(
            "Statistics of indexes differ by {:.1} % at most between starts of a server.",
            100.0 * share
        ));
    }
    // The last one stands beside the headline, so that it is of its rate.
    let others = found.rates.iter().enumerate().filter(|(place, _)| Some(*place) != found.judged);
    for at in others.map(|(_, at)| at).chain(found.judged()) {
        if let Some(why) = &at.why {
            say(at_rate(at, why));
        }
    }
    said
}

/// Which suspects are named at a rate.
fn at_rate(at: &AtRate<'_>, why: &Why) -> String {
    let of = |ruling: Ruling| -> Vec<&str> {
        why.verdicts.iter().filter(|one| one.ruling == ruling).map(|one| one.suspect.words()).collect()
    };
    let list = |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    format!(
        "At {} requests per second: cause: {}; undecided: {}.",
        format::significant(at.rate, 3),
        list(of(Ruling::Cause)),
        list(of(Ruling::Undecided))
    )
}

/// Where one more repeat pays most.
fn one_more(setting: &Setting, components: &Components) -> Option<String> {
    let now = components.variance_of_mean();
    let best = components.repeats(&costs(setting)).into_iter().next()?;
    Some(format!(
        "One more {} helps most: in {} s it reduces the standard error of the overall mean from {} to {} ms.",
        if best.level == Level::Target { "server" } else { best.level.word() },
        format::significant(best.cost, 2),
        format::significant(now.max(0.0).sqrt(), 3),
        format::significant(best.variance_after.max(0.0).sqrt(), 3)
    ))
}

/// Doubts about the whole and about runs.
pub(super) fn caveats(setting: &Setting, runs: &[Run]) -> Vec<Caveat> {
    let mut found = Vec::new();
    if setting.may_differ {
        let text = "Servers may differ in settings and data, since that was allowed: what is found may be that difference.";
        found.push(Caveat::new("targets-may-differ", Severity::Doubt, text));
    }
    let stay: Vec<&str> = setting
        .targets
        .iter()
        .filter(|target| !target.restarts())
        .map(|target| target.name.as_str())
        .collect();
    if !stay.is_empty() {
        let text = format!(
            "Servers that were not restarted: {}. There the effect of a start is part of the difference \
             between servers. Name a command by reset=URL=COMMAND.",
            stay.join(", ")
        );
        found.push(Caveat::new("starts-not-made", Severity::Doubt, text));
    }
    let stolen =
        runs.iter().flat_map(|run| &run.figures).filter(|(name, _)| name.starts_with(super::figures::STOLEN));
    found.extend(stolen.map(|(_, percent)| *percent).reduce(f64::max).and_then(Caveat::steal));
    found.extend(of_runs(runs));
    found
}
