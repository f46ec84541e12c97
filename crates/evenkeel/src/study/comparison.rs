//! What a comparison of two studies or levels says, for people and programs.

mod words;

use crate::format;
use evenkeel_core::experiment::{self, Comparison, Margin, Verdict};
use evenkeel_core::statistics::Estimate;
use evenkeel_study::compare::{
    Carried, CompareError, Compared, Condition, Criterion, LevelPair, More, Parted, Side, Statement, compare,
    level_pairs,
};
use evenkeel_study::profile;
use evenkeel_study::store::Caveats;
use evenkeel_study::store::format::{PlanFile, RunFile};
use serde_json::{Value, json};
use words::{at, by_themselves, carried_line, parted_line, place, places, side, verdict, wanted, word};

/// What a comparison says: the verdict in a sentence, what it is made of, and the same for programs.
#[derive(Clone, Debug)]
pub struct Wording {
    pub head: String,
    pub lines: Vec<String>,
    pub json: Value,
}

impl Wording {
    pub fn text(&self) -> String {
        let lines: String = self.lines.iter().map(|line| format!("  {line}\n")).collect();
        format!("{}\n{lines}", self.head)
    }
}

/// What is compared where nobody says it, the first that both sides tell.
const FIGURES: [Criterion; 3] = [Criterion::Throughput, Criterion::Response, Criterion::Cpu];

/// Further runs that take longer than this, in seconds, are not proposed.
const LONG_S: f64 = 3_600.0;

/// Compares two sides by this figure, or by the first of [`FIGURES`] that both tell, one that is worse before the others, with a line for
/// each of these.
/// Errors: they have nothing in common that could be compared.
pub fn of_two(
    sides: [&Side; 2],
    names: [&str; 2],
    of: Option<Criterion>,
    margin: Margin,
) -> Result<(Wording, Verdict), CompareError> {
    let by = |figure: Criterion| compare(sides[0], sides[1], figure, margin);
    let Some(figure) = of else {
        let (found, errors): (Vec<_>, Vec<_>) = FIGURES.into_iter().map(by).partition(Result::is_ok);
        let mut found: Vec<Compared> = found.into_iter().flatten().collect();
        // One that is worse makes the whole worse.
        found.sort_by_key(|one| one.verdict != Verdict::Worse);
        let mut found = found.into_iter();
        let Some(first) = found.next() else {
            // That there is no rate in common says what to do.
            let mut errors: Vec<CompareError> = errors.into_iter().filter_map(Result::err).collect();
            return Err(errors.swap_remove(1));
        };
        let mut told = told(sides, names, &first);
        let others: Vec<Compared> = found.collect();
        let also = others.iter().flat_map(|other| {
            let left = other.left_out.iter().filter(|left| !first.left_out.contains(left));
            let left = left.map(|left| format!("  left out: {left}"));
            std::iter::once(format!("also {}", head(names, other))).chain(left)
        });
        told.lines.splice(0..0, also);
        return Ok((told, first.verdict));
    };
    let found = by(figure)?;
    Ok((told(sides, names, &found), found.verdict))
}

/// Each level of a study of a file against the first of its factor, over all levels of the other factors.
pub fn of_levels(plan: &PlanFile, runs: &[RunFile], of: Criterion, margin: Margin) -> Vec<Wording> {
    let side = Side::of(plan.clone(), runs.to_vec());
    let pair = |pair: LevelPair| {
        let (first, second) = (side.clone().of_series(pair.series.0), side.clone().of_series(pair.series.1));
        let names = [&pair.first, &pair.second].map(|level| format!("{} {level}", pair.factor));
        let names = [names[0].as_str(), names[1].as_str()];
        of_two([&first, &second], names, Some(of), margin).map(|(told, _)| told).unwrap_or_else(|error| {
            Wording {
                head: format!("{} and {}: {error}", names[1], names[0]),
                lines: Vec::new(),
                json: json!({ "first": names[0], "second": names[1], "error": error.to_string() }),
            }
        })
    };
    level_pairs(&plan.series).into_iter().map(pair).collect()
}

fn told(sides: [&Side; 2], names: [&str; 2], compared: &Compared) -> Wording {
    let (known, open): (Vec<&Statement>, Vec<&Statement>) =
        compared.statements.iter().partition(|found| is_different(found) || compared.statements.len() <= FEW);
    let open = match open.len() {
        0 => None,
        count => Some(format!(
            "{}: the same, or too close to tell (--json)",
            format::counted(count, "other statement")
        )),
    };
    let together = together(&compared.statements).filter(|_| sides[0].name() != sides[1].name());
    let statements = together
        .into_iter()
        .chain(known.into_iter().map(|found| statement(found, compared.figure)))
        .chain(open);
    let conditions = compared.conditions.iter().map(|condition| line(condition, compared.figure));
    let parted = compared.parted.iter().map(parted_line);
    let carried = compared.carried.iter().map(carried_line);
    let unlike = compared.unlike.iter().map(|unlike| format!("differs between the studies: {unlike}"));
    let left = compared.left_out.iter().map(|left| format!("left out: {left}"));
    let unfinished = compared.caveats.iter().map(|caveat| format!("unfinished: {caveat}"));
    let (more, commands) = more(sides, compared);
    let is_open = matches!(compared.verdict, Verdict::NotKnown { .. });
    let nearly = compared.comparison.as_ref().filter(|_| is_open).and_then(nearly);
    let made_of = unlike.chain(conditions).chain(parted).chain(carried).chain(statements).chain(nearly);
    let lines = made_of.chain(more).chain(left).chain(unfinished).collect();
    Wording { head: head(names, compared), lines, json: as_json(names, compared, &commands) }
}

fn head([first, second]: [&str; 2], compared: &Compared) -> String {
    let what = match (compared.figure, compared.conditions.first()) {
        (Criterion::Throughput, Some(Condition { rate_per_s: None, .. })) => "throughput in overload",
        (figure, _) => figure.words(),
    };
    let places = by_themselves(compared);
    let mut clauses = kept_up([first, second], compared);
    // The ratio is that of the rates at which both have a figure, and of no others.
    clauses.extend(compared.comparison.as_ref().map(|found| {
        let all = compared.conditions.iter().map(|condition| place(&condition.label, condition.rate_per_s));
        let all: Vec<String> = all.filter(|place| !place.is_empty()).collect();
        let of_all = if places == all || all.len() > FEW { String::new() } else { at(&all) };
        let ratio = format::ratio(&found.ratio);
        format!("{what} of {second} is {ratio} times that of {first}{of_all}")
    }));
    let verdict = verdict(compared.verdict, compared.margin.share());
    // Without a figure of both, what was left out says why.
    clauses.extend(compared.left_out.first().filter(|_| clauses.is_empty()).cloned());
    format!("{verdict}{}: {}", at(&places), clauses.join("; "))
}

/// Which side alone carried what: a rate, or where no rate says it, more in all.
fn kept_up([first, second]: [&str; 2], compared: &Compared) -> Vec<String> {
    let Some(wanted) = wanted(compared.verdict) else { return Vec::new() };
    let one = if wanted == experiment::Side::Better { second } else { first };
    let parted = compared.parted.iter().filter(|parted| parted.side == wanted);
    let parted: Vec<String> = parted.map(|parted| place(&parted.label, Some(parted.rate_per_s))).collect();
    if !parted.is_empty() {
        return vec![format!("only `{one}` kept up{}", at(&parted))];
    }
    let carried = compared.carried.iter().filter(|carried| carried.side == wanted);
    let carried = carried.map(|carried| {
        let label = if carried.label.is_empty() { String::new() } else { format!("{}: ", carried.label) };
        let (least, most) = (format::short(carried.at_least), format::short(carried.at_most));
        let other = if wanted == experiment::Side::Better { first } else { second };
        format!("{label}{one} carries at least {least}/s, {other} at most {most}/s")
    });
    carried.collect()
}

/// How further runs are made that would tell, in lines, and the commands alone.
fn more(sides: [&Side; 2], compared: &Compared) -> (Vec<String>, Vec<String>) {
    let Verdict::NotKnown { runs_more } = compared.verdict else { return Default::default() };
    let made = compared.comparison.as_ref().map(|found| found.ratio.n as usize);
    let Some((runs_more, made)) = runs_more.zip(made) else {
        return (vec!["too few runs to estimate how many more are needed".to_owned()], Vec::new());
    };
    let mut studies = sides.to_vec();
    studies.dedup_by(|one, other| one.name() == other.name());
    let all: Vec<More> = studies.iter().map(|side| side.more(runs_more, made)).collect();
    let time = all.iter().map(|more| more.seconds).sum::<f64>();
    let runs = format::counted(runs_more as usize, "run");
    if time > LONG_S {
        return (
            vec![format!("it would take {runs} more of each, about {:.0} hours", (time / 3_600.0).ceil())],
            Vec::new(),
        );
    }
    let command = |(side, more): (&&Side, &More)| {
        let command = if side.plan().kind == profile::NAME { "profile" } else { "study" };
        let repeats = more.repeats.map_or_else(String::new, |repeats| format!(" --repeats {repeats}"));
        let times = if more.times > 1 { format!("    # {} times", more.times) } else { String::new() };
        format!("{} {command} --resume {}{repeats}{times}", format::program(), side.name())
    };
    let commands: Vec<String> = studies.iter().zip(&all).map(command).collect();
    let is_own = |side: &&Side| side.plan().targets.iter().any(|target| !target.url.starts_with("sandbox:"));
    let state = if studies.len() > 1 && studies.iter().any(is_own) {
        ". Restore each server to the state it had in that study first"
    } else {
        ""
    };
    let minutes = (time / 60.0).ceil().max(1.0);
    let mut lines =
        vec![format!("{runs} more of each would probably decide, in about {minutes:.0} min{state}:")];
    lines.extend(commands.iter().map(|command| format!("  {command}")));
    (lines, commands)
}

/// So many statements are all shown.
const FEW: usize = 6;

fn is_different(found: &Statement) -> bool {
    matches!(found.comparison.verdict, Verdict::Better | Verdict::Worse)
}

/// That most statements became slower, or faster: those whose ratio is not far from the median, as of a change that is their own.
fn together(statements: &[Statement]) -> Option<String> {
    const FAR: f64 = 2.0;
    const NOTABLE: f64 = 1.1;
    let mut ratios: Vec<f64> = statements.iter().map(|found| found.comparison.ratio.ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let median = *ratios.get(ratios.len() / 2)?;
    ratios.retain(|ratio| (median / FAR..=median * FAR).contains(ratio));
    let (low, high) = (*ratios.first()?, *ratios.last()?);
    let (word, low, high) = if low > 1.0 { ("slower", low, high) } else { ("faster", 1.0 / high, 1.0 / low) };
    let (count, of) = (ratios.len(), statements.len());
    let [least, most] = [low, high].map(|times| format::significant(times, 3));
    let why = "suspect a common cause, the machine or a setting";
    let is_so = low > NOTABLE
        && count > (of / 2).max(2)
        && statements.iter().filter(|found| is_different(found)).count() > 1;
    is_so.then(|| format!("{count} of {of} statements are {least} to {most} times {word}: {why}"))
}

fn statement(found: &Statement, figure: Criterion) -> String {
    const LETTERS_MAX: usize = 40;
    let (first, second) = found.means_ms;
    let name: String = found.name.chars().take(LETTERS_MAX).collect();
    let verdict = word(found.comparison.verdict);
    let what = if figure == Criterion::P95 { "p95" } else { "response" };
    let [first, second] = [first, second].map(|ms| format::significant(ms, 3));
    let nearly = nearly(&found.comparison).map_or_else(String::new, |why| format!("; {why}"));
    format!(
        "{name}: {verdict}, {what} {first} ms, then {second} ms: ratio {}{nearly}",
        format::ratio(&found.comparison.ratio)
    )
}

/// Why it is not known although the interval that is shown leaves out 1.
fn nearly(comparison: &Comparison) -> Option<String> {
    let is_open = matches!(comparison.verdict, Verdict::NotKnown { .. }) && comparison.ratio.differs();
    is_open.then(|| {
        let confidence = format::percent(100.0 * comparison.confidence);
        format!("not significant at the {confidence} level that the verdict needs")
    })
}

fn line(condition: &Condition, figure: Criterion) -> String {
    let mean_of = |values: &[f64]| {
        let unit = if figure == Criterion::Throughput { "/s" } else { " ms" };
        let mean = Estimate::of(values).map_or(f64::NAN, |estimate| estimate.mean);
        format!("{}{unit} over {}", format::significant(mean, 3), format::counted(values.len(), "run"))
    };
    let place = place(&condition.label, condition.rate_per_s);
    let place = if place.is_empty() { place } else { place + ": " };
    let by_itself = condition.by_itself.map_or_else(String::new, |own| format!(": {}", side(own)));
    format!("{place}{}, then {}{by_itself}", mean_of(&condition.pair.first), mean_of(&condition.pair.second))
}

fn as_json([first, second]: [&str; 2], compared: &Compared, commands: &[String]) -> Value {
    let word = |verdict: Verdict| word(verdict).trim_start_matches("the ");
    let runs_more = match compared.verdict {
        Verdict::NotKnown { runs_more } => runs_more,
        _ => None,
    };
    let statement = |found: &Statement| {
        let (ratio, interval) = (&found.comparison.ratio.ratio, found.comparison.ratio.interval);
        json!({
            "name": found.name, "verdict": word(found.comparison.verdict), "ratio": ratio,
            "low": interval.map(|(low, _)| low), "high": interval.map(|(_, high)| high),
            "first_ms": found.means_ms.0, "second_ms": found.means_ms.1,
        })
    };
    let carried = |found: &Carried| json!({ "label": found.label, "side": side(found.side), "at_most": found.at_most, "at_least": found.at_least });
    let condition = |condition: &Condition| {
        json!({
            "label": condition.label, "rate_per_s": condition.rate_per_s, "by_itself": condition.by_itself.map(side),
            "first": condition.pair.first, "second": condition.pair.second,
        })
    };
    let parted = |parted: &Parted| {
        json!({
            "label": parted.label, "rate_per_s": parted.rate_per_s, "side": side(parted.side),
            "runs_first": parted.runs.0, "runs_second": parted.runs.1,
        })
    };
    let comparison = compared.comparison.as_ref();
    let interval = comparison.and_then(|found| found.ratio.interval);
    json!({
        "first": first, "second": second, "of": compared.figure.word(), "margin": compared.margin.share(),
        "ratio": comparison.map(|found| found.ratio.ratio), "low": interval.map(|(low, _)| low),
        "high": interval.map(|(_, high)| high), "confidence_to_differ": comparison.map(|found| found.confidence),
        "verdict": word(compared.verdict), "at": places(compared), "runs_more": runs_more, "commands": commands,
        "statements": compared.statements.iter().map(statement).collect::<Vec<_>>(),
        "carried": compared.carried.iter().map(carried).collect::<Vec<_>>(),
        "conditions": compared.conditions.iter().map(condition).collect::<Vec<_>>(),
        "parted": compared.parted.iter().map(parted).collect::<Vec<_>>(),
        "left_out": compared.left_out, "unlike": compared.unlike, "caveats": Caveats(&compared.caveats),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    /// Two studies whose runs differ among themselves by more than the studies do, each run so long after the one before.
    fn told(apart_s: u64) -> String {
        let side = |id: &str, turn: u32| {
            let mut fixture = fixture::demo();
            fixture.plan.id = id.to_owned();
            for (at, run) in fixture.runs.iter_mut().enumerate() {
                run.response.mean_ms *= if (run.repeat + turn).is_multiple_of(2) { 0.8 } else { 1.25 };
                run.started_unix_s = apart_s * at as u64;
            }
            Side::of(fixture.plan, fixture.runs)
        };
        let margin = Margin::new(0.05).unwrap();
        let sides = [&side("one", 0), &side("two", 1)];
        of_two(sides, ["one", "two"], Some(Criterion::Response), margin).unwrap().0.text()
    }

    #[test]
    fn what_is_too_close_to_tell_names_the_commands_that_tell_unless_they_take_long() {
        let near = told(0);
        assert!(near.starts_with("too close to tell: response time of two is 0."), "{near}");
        assert!(near.contains("more of each would probably decide, in about "), "{near}");
        for name in ["one", "two"] {
            assert!(near.contains(&format!("\n    evenkeel profile --resume {name} --repeats ")), "{near}");
        }
        let far = told(100_000);
        assert!(far.contains(" hours") && !far.contains("--resume"), "{far}");
    }

    #[test]
    fn the_first_line_names_the_rate_that_one_side_alone_carried_and_those_of_the_ratio() {
        let pair = experiment::Pair { first: vec![9.0, 10.0, 9.5], second: vec![0.5, 0.45, 0.48] };
        let margin = Margin::new(0.05).unwrap();
        let comparison = Comparison::of(std::slice::from_ref(&pair), margin, experiment::Better::Lower);
        let condition = Condition {
            label: String::new(),
            rate_per_s: Some(40.0),
            pair,
            by_itself: Some(experiment::Side::Better),
        };
        let parted =
            Parted { label: String::new(), rate_per_s: 400.0, runs: (3, 3), side: experiment::Side::Better };
        let mut compared = Compared {
            figure: Criterion::Response,
            margin,
            conditions: vec![condition],
            parted: vec![parted],
            carried: Vec::new(),
            statements: Vec::new(),
            comparison,
            verdict: Verdict::Better,
            left_out: vec!["400 requests/s: it did not settle".to_owned()],
            unlike: Vec::new(),
            caveats: Vec::new(),
        };
        let names = ["before", "after"];
        let first = head(names, &compared);
        let start =
            "better at 40 requests/s: only `after` kept up at 400 requests/s; response time of after is 0.0";
        assert!(first.starts_with(start), "{first}");
        compared.conditions[0].by_itself = None;
        let first = head(names, &compared);
        assert!(first.starts_with("better: only `after` kept up at 400 requests/s; response"), "{first}");
        assert!(first.ends_with(" times that of before at 40 requests/s"), "{first}");
        compared = Compared { comparison: None, conditions: Vec::new(), parted: Vec::new(), ..compared };
        compared.verdict = Verdict::NotKnown { runs_more: None };
        assert_eq!(head(names, &compared), "too close to tell: 400 requests/s: it did not settle");
    }

    #[test]
    fn most_statements_that_became_slower_tell_of_the_machine() {
        let told = |ratios: [f64; 4]| {
            let statement = |ratio: f64| {
                let pair = experiment::Pair { first: vec![1.0], second: vec![ratio] };
                let margin = Margin::new(0.05).unwrap();
                let mut comparison = Comparison::of(&[pair], margin, experiment::Better::Lower).unwrap();
                comparison.verdict = Verdict::Worse;
                Statement { name: String::new(), comparison, means_ms: (1.0, ratio) }
            };
            together(&ratios.map(statement))
        };
        assert!(told([8.0, 1.17, 1.71, 1.3]).unwrap().contains("3 of 4 statements are 1.17 to 1.71 "));
        assert_eq!(told([8.0, 1.17, 1.71, 1.05]), None);
    }
}
