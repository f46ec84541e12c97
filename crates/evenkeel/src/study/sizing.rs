//! What a load needs, for people and programs.

mod doubts;
mod json;

use super::narrower::Narrower;
use crate::format;
use doubts::{ALIKE, doubts};
use evenkeel_core::caveat::threshold::NEIGHBOURS_MUCH;
use evenkeel_core::digits::{ceiling, floor};
use evenkeel_core::size::{Answer, Needed, Prediction, Server, SizeError, Statistic};
use evenkeel_study::size::Sized;
pub use json::as_json;
use std::fmt::Write as _;

/// Hours of a month, a twelfth of a year.
const HOURS: f64 = 730.0;
/// Statements that are named, the slowest of them.
const STATEMENTS_MOST: usize = 5;

/// What was asked of a profile.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    pub study: &'a str,
    /// Requests per second of all servers together.
    pub rate: f64,
    /// The rate as it was given; `None` where it is the highest that meets the objective.
    pub words: Option<String>,
    /// Statistic and time in seconds that it has to be within.
    pub objective: Option<(Statistic, f64)>,
    /// How many servers there are, where that was said.
    pub servers: Option<u32>,
    /// Money for an hour of a server, where that was said.
    pub cost: Option<f64>,
}

/// What one server of the profile says.
#[derive(Debug)]
pub struct Answers<'a> {
    pub sized: &'a Sized,
    /// What it says, or why it says nothing.
    pub found: Result<Answered, SizeError>,
    /// The profile that would say more.
    pub narrower: Narrower,
}

/// Servers, and what each does.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// How many there are, and what each of them does.
    pub needed: Needed,
    /// The mean response of each statement of a mix, or why there is none.
    pub statements: Vec<(String, Result<Prediction, SizeError>)>,
}

impl Answered {
    /// Whether each server meets the objective, also at the upper end of the interval; without one, whether it carries the rate.
    pub fn meets(&self, asked: &Asked<'_>, server: &Server) -> bool {
        let limit = asked.objective.map_or(f64::MAX, |(_, seconds)| seconds);
        let figure = asked.objective.map_or(Statistic::Mean, |(figure, _)| figure);
        self.needed.each.of(figure).high <= limit && self.needed.each.rate <= ALIKE * surely(server)
    }

    /// What that says of servers that were not chosen for the objective.
    fn objective(&self, asked: &Asked<'_>, server: &Server) -> Option<String> {
        let (figure, seconds) = asked.objective.filter(|_| asked.servers.is_some())?;
        let what = format!("{} within {}", figure.word(), format::time(1e3 * seconds));
        Some(match self.needed.each.of(figure).response <= seconds {
            true if self.meets(asked, server) => format!("{what}: met"),
            true if self.needed.each.of(figure).high > seconds => {
                format!("{what}: probably met, but the interval ends above it")
            }
            true => format!(
                "{what}: met if it carries that much; it surely carries {}",
                format::rate(surely(server))
            ),
            false => format!("{what}: probably missed"),
        })
    }
}

/// What a server carries, also where the profile saw no end.
fn surely(server: &Server) -> f64 {
    if server.most().is_finite() { server.most() } else { server.certain() }
}

/// The answer first, then what it is made of.
pub fn text(asked: &Asked<'_>, answers: &[Answers<'_>]) -> String {
    let mut text = String::new();
    for answer in answers {
        let label =
            if answer.sized.label.is_empty() { String::new() } else { format!("{}: ", answer.sized.label) };
        let _ = match (&answer.found, &answer.sized.server) {
            (Ok(found), Ok(server)) => {
                writeln!(text, "{label}{}", lines(asked, answer, server, found).join("\n  "))
            }
            (Err(error), _) | (_, Err(error)) => {
                writeln!(text, "{label}{error}\n  hint: {}", next(error, asked, &answer.narrower))
            }
        };
    }
    text
}

/// What to do about an error, with the command of a profile that would do.
pub fn next(error: &SizeError, asked: &Asked<'_>, narrower: &Narrower) -> String {
    let what = match error {
        SizeError::NotARate(_) => {
            return "give a lower --rate".to_owned();
        }
        SizeError::NothingSettled => "measure lower rates, in longer runs",
        SizeError::Saturates { .. } => "use more --servers, or omit it; to measure what one server carries",
        SizeError::OutOfReach { .. } => "measure lower rates; a faster server or an index may help",
        SizeError::NoEnd { .. } => "measure up to the limit, on a copy of a server that is in use",
    };
    format!("{what}:\n    {}", commands(asked, narrower))
}

/// The profile that says more, and the question to both.
fn commands(asked: &Asked<'_>, narrower: &Narrower) -> String {
    let Narrower { command, seconds } = narrower;
    let (begin, _) = command.split_once(" profile ").unwrap_or(("evenkeel", ""));
    let objective = asked.objective.map_or_else(String::new, |(figure, seconds)| {
        format!(" --objective {}={}ms", figure.word(), (1e6 * seconds).round() / 1e3)
    });
    let servers = asked.servers.map_or_else(String::new, |servers| format!(" --servers {servers}"));
    let rate = asked.words.as_ref().map_or_else(String::new, |words| format!(" --rate {words}"));
    let cost = asked.cost.map_or_else(String::new, |cost| format!(" --cost {cost}/h"));
    let (more, named) =
        if command.contains(" profile ") { more(asked.study) } else { ("last".to_owned(), String::new()) };
    let again = format!("{begin} size {} {more}{rate}{servers}{objective}{cost}", asked.study);
    format!("{command}{named}   (takes {:.0} min)\n    {again}", (seconds / 60.0).ceil())
}

/// A name for the profile that says more beside these, and the flag that gives it.
fn more(studies: &str) -> (String, String) {
    let first = studies.split(' ').next().unwrap_or_default();
    let tail = first.char_indices().rev().nth(3).map_or(first, |(at, _)| &first[at..]);
    let name = format!("more-{tail}-{}", studies.split(' ').count());
    (name.clone(), format!(" --name {name}"))
}

fn headline(asked: &Asked<'_>, sized: &Sized, found: &Answered, guess: &str) -> String {
    let Needed { servers, each, .. } = &found.needed;
    let wanted =
        asked.objective.filter(|_| asked.servers.is_none()).map_or_else(String::new, |(figure, seconds)| {
            format!(" with {} within {}", figure.word(), format::time(1e3 * seconds))
        });
    let share = if *servers > 1 { format!(", {} each", format::rate(each.rate)) } else { String::new() };
    let servers = format::counted(usize::try_from(*servers).unwrap_or(usize::MAX), "server");
    let (rate, workload) = (format::rate(asked.rate), &sized.workload);
    match asked.objective {
        Some((figure, seconds)) if asked.words.is_none() => {
            let within = format::time(1e3 * seconds);
            format!("{} within {within} ({workload}) on {servers}: {guess}up to {rate}{share}", figure.word())
        }
        _ if asked.servers.is_some() => format!("{guess}{rate} ({workload}) on {servers}{share}"),
        _ => format!("{rate}{wanted} ({workload}): {guess}{servers}{share}"),
    }
}

/// The answer, how far to believe it and what it follows from.
pub(in crate::study) fn lines(
    asked: &Asked<'_>,
    answer: &Answers<'_>,
    server: &Server,
    found: &Answered,
) -> Vec<String> {
    let (sized, each) = (answer.sized, &found.needed.each);
    let doubts = doubts(sized, server, each.rate);
    let is_wide = [&each.mean, &each.p95].iter().any(|found| found.is_wide() && found.high.is_finite());
    let guess = match () {
        () if !doubts.is_empty() => "a guess: ",
        () if is_wide => "roughly ",
        () => "",
    };
    let mut lines = vec![headline(asked, sized, found, guess), response(each)];
    lines.extend(found.objective(asked, server));
    lines.extend(each.mean.high.is_infinite().then(|| "the server may not carry this rate".to_owned()));
    lines.extend(spare(asked, found.needed.servers));
    lines.extend(asked.cost.map(|cost| money(asked.rate, found.needed.servers, cost)));
    lines.extend(statements(&found.statements));
    let open = fewer(asked, server, found);
    let is_open = open.is_some();
    lines.extend(open);
    lines.extend(limits(asked, sized, server, found));
    let is_guess = !doubts.is_empty();
    if is_guess {
        lines.push(format!("a guess, because\n    {}", doubts.join("\n    ")));
    }
    lines.extend(is_wide.then(|| "wide: the upper end is more than twice the lower end".to_owned()));
    lines.push(basis(sized, server));
    lines.extend(server.misfit().is_none().then(|| errors(server)).flatten());
    if is_wide || is_guess || is_open || each.mean.high.is_infinite() {
        let is_beside = sized.bounds.taken_percent.is_some_and(|taken| taken >= NEIGHBOURS_MUCH);
        let when = if is_beside { ", at a quieter time" } else { "" };
        lines.push(format!("a better answer{when}:\n    {}", commands(asked, &answer.narrower)));
    }
    lines
}

/// One server more than are needed carries the load while one is down.
fn spare(asked: &Asked<'_>, servers: u64) -> Option<String> {
    let is_chosen = asked.servers.is_none() && asked.words.is_some() && servers > 1;
    is_chosen.then(|| format!("with one to spare (N+1): {} servers", servers + 1))
}

/// Where the profile does not say that it takes so many.
fn fewer(asked: &Asked<'_>, server: &Server, found: &Answered) -> Option<String> {
    let is_chosen = found.needed.by_range || asked.objective.is_some() && asked.servers.is_none();
    let is_asked = asked.words.is_none() || found.needed.servers > 1;
    let error = server.knows(asked.rate).err().filter(|_| is_chosen && is_asked)?;
    let less = if asked.words.is_some() { "fewer may do" } else { "it may be more" };
    Some(format!("{less}: {error}"))
}

/// What bounds the rate of each server other than an objective.
fn limits(asked: &Asked<'_>, sized: &Sized, server: &Server, found: &Answered) -> Option<String> {
    let (lowest, highest) = server.mean.range();
    let is_low = found.needed.each.rate < lowest;
    match found.needed.by_range {
        true => Some(most_each(asked, sized, highest)),
        false => is_low.then(|| {
            format!("below the lowest measured rate: this is the response at {}", format::rate(lowest))
        }),
    }
}

/// What each server gets at most where no objective decides, and why.
fn most_each(asked: &Asked<'_>, sized: &Sized, highest: f64) -> String {
    let why = match sized.bounds.at_least_per_s {
        Some(least) if asked.objective.is_none() || least >= highest => {
            format!("{}/s, which it carries with 95 % confidence", floor(least))
        }
        _ => format!("{}, the highest rate that settled", format::rate(highest)),
    };
    let what = asked.objective.map_or("no objective given", |_| "fewer would meet the objective");
    format!("{what}: each server gets at most {why}")
}

fn response(each: &Answer) -> String {
    let is_overload = each.mean.response.is_infinite();
    let times = if is_overload {
        "it would most likely be overloaded".to_owned()
    } else {
        format!(
            "response time (95 % of one-minute runs): mean {}, p95 {}",
            interval(&each.mean),
            interval(&each.p95)
        )
    };
    let busy = each.busy.map(|(busy, low, high)| {
        let [busy, low, high] = [busy, low, high].map(|share| 100.0 * share.min(1.0));
        format!("; CPU use {busy:.0} % ({low:.0} to {high:.0})")
    });
    times + &busy.unwrap_or_default()
}

fn statements(all: &[(String, Result<Prediction, SizeError>)]) -> Vec<String> {
    let (mut slowest, mut left_out) = (Vec::new(), Vec::new());
    for (name, found) in all {
        let name = format::plain(name);
        match found {
            Ok(found) => slowest.push((found.response, format!("{name}: mean {}", interval(found)))),
            Err(error) => left_out.push(format!("left out: {name}, since {error}")),
        }
    }
    slowest.sort_by(|one, other| other.0.total_cmp(&one.0));
    let more = slowest.len().saturating_sub(STATEMENTS_MOST);
    let more = (more > 0).then(|| format!("and {more} more (--json)"));
    slowest.into_iter().take(STATEMENTS_MOST).map(|(_, line)| line).chain(more).chain(left_out).collect()
}

/// What the answer follows from.
fn basis(sized: &Sized, server: &Server) -> String {
    let (lowest, highest) = server.mean.range();
    let mut text = match server.mean.points().len() {
        1 => format!("from one settled rate, {}", format::rate(lowest)),
        count => format!("from {count} settled rates, {} to {}", format::rate(lowest), format::rate(highest)),
    };
    let _ = match sized.limit.rate {
        Some(limit) => write!(text, ", reliable up to {}", format::rate(limit)),
        None => write!(text, ", whose response times are not reliable"),
    };
    if !sized.spoilt.is_empty() {
        let rates: Vec<String> = sized.spoilt.iter().map(|rate| format::rate(*rate)).collect();
        let _ = write!(
            text,
            "; left out: {}, where requests were given up or the generator failed",
            format::listed(&rates)
        );
    }
    if sized.disturbed > 0 {
        let _ = write!(text, "; left out: {} beside other load", format::counted(sized.disturbed, "run"));
    }
    let least = sized.bounds.at_least_per_s.map(|least| format!("at least {}/s", floor(least)));
    let most = sized.bounds.at_most_per_s.map(|most| format!("at most {}/s", ceiling(most)));
    let ends: Vec<String> = least.into_iter().chain(most).collect();
    if !ends.is_empty() {
        let _ = write!(text, "; one server carries {}", format::listed(&ends));
    }
    text
}

/// How well the rates predict one another; `None` of a single one.
fn errors(server: &Server) -> Option<String> {
    let [mean, p95] = [server.mean.largest_error()?, server.p95.largest_error()?]
        .map(|error| format::percent(100.0 * error));
    Some(format!(
        "each rate predicted from the others is off by at most: mean {mean}, p95 {p95} (leave-one-out)"
    ))
}

fn money(rate: f64, servers: u64, cost: f64) -> String {
    let hour = cost * servers as f64;
    format!(
        "{} an hour, {} a month of {HOURS:.0} hours, {} for a million requests",
        format::significant(hour, 3),
        format::significant(hour * HOURS, 3),
        format::significant(million(rate, hour), 3)
    )
}

/// What a million requests cost.
fn million(rate: f64, hour: f64) -> f64 {
    hour * 1e6 / (3_600.0 * rate)
}

/// A prediction without an upper end may be any time above.
fn interval(found: &Prediction) -> String {
    let end = |seconds: f64| format::time(1e3 * seconds);
    match (found.response.is_finite(), found.high.is_finite()) {
        (_, true) => format!("{} ({} to {})", end(found.response), end(found.low), end(found.high)),
        (true, false) => format!("{} (at least {})", end(found.response), end(found.low)),
        (false, false) => format!("at least {}", end(found.low)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::random::Seed;
    use evenkeel_dev::profile::VirtualProfile;
    use evenkeel_study::size::sized;

    const ASKED: Asked<'static> = Asked {
        study: "virtual",
        rate: 400.0,
        words: Some(String::new()),
        objective: Some((Statistic::P95, 0.03)),
        servers: None,
        cost: Some(0.12),
    };

    fn profiled(loads: &[f64]) -> (Sized, Narrower) {
        let (plan, runs) = VirtualProfile::of_one_cpu(loads).play(Seed(1)).unwrap();
        let sized = sized(&plan, &runs).remove(0);
        let narrower = Narrower::of(&plan, &sized, 100.0, true);
        (sized, narrower)
    }

    fn answered(sized: &Sized, narrower: Narrower) -> Answers<'_> {
        let server = sized.server.as_ref().unwrap();
        let needed = server.needed(ASKED.rate, ASKED.objective).unwrap();
        Answers { sized, found: Ok(Answered { needed, statements: Vec::new() }), narrower }
    }

    #[test]
    fn a_rate_at_which_requests_were_given_up_is_left_out_and_named() {
        let (plan, mut runs) = VirtualProfile::of_one_cpu(&[0.2, 0.4, 0.6, 1.3]).play(Seed(1)).unwrap();
        let run = runs.iter_mut().find(|run| run.cell == plan.cells[1].id).unwrap();
        run.lower_bound = true;
        let sized = sized(&plan, &runs).remove(0);
        let basis = basis(&sized, sized.server.as_ref().unwrap());
        assert!(
            basis.contains("from 2 settled rates") && basis.contains("left out: 100/s, where"),
            "{basis}"
        );
    }

    #[test]
    fn a_size_is_servers_response_money_and_how_far_to_believe_it() {
        let (sized, narrower) = profiled(&[0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.3]);
        let answers = [answered(&sized, narrower)];
        let few = Asked { servers: Some(1), ..ASKED };
        assert_eq!(
            answers[0].found.as_ref().unwrap().objective(&few, sized.server.as_ref().unwrap()),
            Some("p95 within 30.0 ms: met".to_owned())
        );
        let text = text(&ASKED, &answers);
        assert!(text.starts_with("400/s with p95 within 30.0 ms (virtual): "), "{text}");
        for part in ["CPU use ", "an hour", "(leave-one-out)", "from 6 settled rates, 50/s to 175/s"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
