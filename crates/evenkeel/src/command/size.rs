//! `evenkeel size`: servers, response and money for a load, from a stored profile.

use super::Session;
use crate::config::units;
use crate::failure::{FINDING, WRONG_USE, WithHint};
use crate::study::narrower::Narrower;
use crate::study::sizing::{Answered, Answers, Asked, as_json, next, text};
use crate::study::stored;
use crate::{format, out};
use anyhow::{Context, Result, anyhow};
use evenkeel_core::digits::floor;
use evenkeel_core::size::{Needed, SizeError, Sizing, Statistic};
use evenkeel_study::published::kind as published_kind;
use evenkeel_study::size::{Sized, join, sized};
use evenkeel_study::store::StudyFolder;
use evenkeel_study::store::format::{PlanFile, RunFile};
use std::path::PathBuf;
use std::process::ExitCode;

/// CPU costs of a request that differ by this factor are hardly of the same server.
const COSTS_APART: f64 = 1.25;
/// ... and by this one certainly not.
const COSTS_OTHER: f64 = 2.0;
/// Rates up to so many times one another are compared.
const RATES_ALIKE: f64 = 1.5;

/// Flags of `evenkeel size`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel size last --rate 400 --objective p95=100ms              how many servers like this one?
  evenkeel size last --rate 400 --objective mean=20ms --cost 0.12/h   and what they cost
  evenkeel size last --objective p95=50ms                          up to which rate does one server meet it?
  evenkeel size last --rate 90 --servers 1                         the response of one server at 90 requests/s
  evenkeel size last --rate 60% --servers 1                        the same at 60 % of what it carries at least
  evenkeel size before more --rate 400                             from two profiles of the same server
  evenkeel size 20261121 --rate 400 --json                         for programs

The prediction uses every rate whose response times settled, the bounds of what the server carries, and the CPU time of a request. Its \
interval contains the result of a one-minute run at that rate with 95 % confidence, if the server and its neighbours stay as they were. \
An objective is met if the upper end of the interval meets it. Several profiles count as one that has all their runs. The load is divided equally among servers like the one that was profiled.

Exit codes: 0 done; 1 the number of servers is not known, a server does not carry its share, or --servers may miss the objective or not carry the rate; 2 wrong use, \
a profile in which no response settled, or a damaged one (--json still prints what there is).")]
pub struct Args {
    /// Profile: its folder, its name or a prefix of it, or `last`; several of the same server and workload count as one
    #[arg(value_name = "STUDY", default_value = "last")]
    pub studies: Vec<String>,
    /// Requests per second of all servers together, or a share of what one server carries at least, as 60%; without it, the highest that
    /// meets the objective
    #[arg(long, value_name = "RATE", value_parser = rate, allow_negative_numbers = true)]
    pub rate: Option<Rate>,
    /// Longest response time allowed: p95=TIME or mean=TIME, as p95=100ms; without a figure it is p95
    #[arg(long, value_name = "FIGURE=TIME", value_parser = objective)]
    pub objective: Option<(Statistic, f64)>,
    /// Number of servers, instead of as many as are needed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub servers: Option<u32>,
    /// What a server costs, as 0.12/h
    #[arg(long, value_name = "MONEY/h", value_parser = cost, allow_hyphen_values = true)]
    pub cost: Option<f64>,
    /// Folder for studies [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// How much load is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Rate {
    PerSecond(f64),
    /// Of what one server carries at least.
    Share(f64),
}

fn rate(text: &str) -> Result<Rate, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(percent) => (percent, Rate::Share as fn(f64) -> Rate),
        None => (text.trim_end_matches("/s"), Rate::PerSecond as fn(f64) -> Rate),
    };
    let rate: f64 = number.parse().map_err(|_| "not a number; write 5000, 5000/s or 60%".to_owned())?;
    let is_rate = rate > 0.0 && rate <= 1e9;
    is_rate.then(|| unit(rate)).ok_or_else(|| "above 0 and at most 1,000,000,000 is needed".to_owned())
}

impl Rate {
    fn words(self) -> String {
        match self {
            Self::PerSecond(rate) => rate.to_string(),
            Self::Share(percent) => format!("{percent}%"),
        }
    }
}

/// In three digits.
fn short(rate: f64) -> f64 {
    floor(rate).parse().unwrap_or(rate)
}

/// The load that is asked for, in requests per second of all servers.
fn wanted(all: &[Sized], args: &Args) -> Result<f64> {
    let [one] = all else {
        return match args.rate {
            Some(Rate::PerSecond(rate)) => Ok(rate),
            _ => Err(anyhow!("this profile has {} series, which carry different rates", all.len()))
                .hint("give --rate in requests per second"),
        };
    };
    let servers = f64::from(args.servers.unwrap_or(1));
    Ok(match (args.rate, &one.server) {
        (Some(Rate::PerSecond(rate)), _) => rate,
        (Some(Rate::Share(percent)), Ok(server)) => servers * short(percent / 100.0 * server.certain()),
        // Where none does, the lowest is refused with the reason.
        (None, Ok(server)) => {
            let highest = args.objective.and_then(|objective| server.highest(objective));
            servers * highest.map_or(server.mean.range().0, short)
        }
        // It is refused, whatever the rate.
        (_, Err(_)) => servers,
    })
}

fn objective(text: &str) -> Result<(Statistic, f64), String> {
    let (figure, time) = text.split_once('=').unwrap_or(("p95", text));
    let figure = match figure {
        "p95" => Statistic::P95,
        "mean" => Statistic::Mean,
        _ => return Err(format!("{figure} is neither p95 nor mean")),
    };
    let time = units::positive(time, "--objective").map_err(|error| format!("{error:#}"))?;
    Ok((figure, time.as_secs_f64()))
}

fn cost(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/h").ok_or("write the cost per hour, for example 0.12/h")?;
    let per_hour: f64 = number.parse().map_err(|_| format!("{number} is not a number"))?;
    let is_cost = (0.0..=1e12).contains(&per_hour);
    is_cost.then_some(per_hour).ok_or_else(|| "the cost must be 0 or more".to_owned())
}

/// Prints what a load needs.
/// Errors: a study cannot be read, is no profile, or has no response that settled.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    if args.rate.is_none() && args.objective.is_none() {
        let profiles = args.studies.join(" ");
        return Err(anyhow!("size needs a load or an objective")).hint(format!(
            "how many servers, or up to which rate is one enough:\n    evenkeel size {profiles} --rate 400 --objective p95=100ms\n    \
             evenkeel size {profiles} --objective p95=100ms"
        ));
    }
    let (plan, runs, ids, is_damaged) = joined(session, args)?;
    let all = sized(&plan, &runs);
    let wanted = wanted(&all, args)?;
    let one = |sized| {
        let found = found(sized, args, wanted);
        let rate =
            found.as_ref().map_or(wanted / f64::from(args.servers.unwrap_or(1)), |it| it.needed.each.rate);
        let narrower = Narrower::of(&plan, sized, rate, found.is_ok());
        Answers { sized, found, narrower }
    };
    let answers: Vec<Answers<'_>> = all.iter().map(one).collect();
    let asked = Asked {
        study: &ids,
        rate: wanted,
        words: args.rate.map(|rate| rate.words()),
        objective: args.objective,
        servers: args.servers,
        cost: args.cost,
    };
    // A program gets the bounds also where nothing settled.
    if args.json {
        out::line(serde_json::to_string_pretty(&as_json(&asked, &answers))?)?;
    }
    let refused: Vec<(SizeError, &Narrower)> =
        answers.iter().filter_map(|one| Some((*one.found.as_ref().err()?, &one.narrower))).collect();
    if let [(first @ SizeError::NothingSettled, narrower), ..] = refused.as_slice()
        && refused.len() == answers.len()
    {
        return Err(anyhow::Error::from(*first)).hint(next(first, &asked, narrower));
    }
    if !args.json {
        out::write(&text(&asked, &answers))?;
    }
    let is_met = answers.iter().all(|one| match (&one.found, &one.sized.server) {
        (Ok(found), Ok(server)) => found.meets(&asked, server),
        _ => true,
    });
    Ok(match is_damaged {
        true => ExitCode::from(WRONG_USE),
        false if refused.is_empty() && is_met => ExitCode::SUCCESS,
        false => ExitCode::from(FINDING),
    })
}

/// Plan and runs of all profiles, their names, and whether some of it cannot be read. Profiles that disagree are named.
fn joined(session: &Session, args: &Args) -> Result<(PlanFile, Vec<RunFile>, String, bool)> {
    let (mut ids, mut joined, mut is_damaged, mut costs) = (Vec::new(), None, false, Vec::new());
    for name in &args.studies {
        let (plan, runs, damaged) = read(session, args, name)?;
        is_damaged |= damaged;
        if ids.contains(&plan.id) {
            return Err(anyhow!("{} is named twice, and its runs count once", plan.id))
                .hint("run the profile that says more first; `last` is then another one");
        }
        ids.push(plan.id.clone());
        let server = sized(&plan, &runs).into_iter().next().and_then(|one| one.server.ok());
        costs.extend(server.map(|server| (plan.id.clone(), server.busy)));
        let Some((first, all)) = &mut joined else {
            joined = Some((plan, runs));
            continue;
        };
        if !join(first, all, &plan, runs) {
            return Err(anyhow!("{} has another server or workload than {}", plan.id, first.id))
                .hint("ask each by itself; `evenkeel runs` lists them");
        }
    }
    let (plan, runs) = joined.context("no profile is named")?;
    if let Some((text, apart)) = disagreement(&costs) {
        if apart > COSTS_OTHER {
            return Err(anyhow!("{text}"))
                .hint("use one of them alone: the server, its data or its indexes changed");
        }
        out::tell(&format!("{text}; if the server or its data changed, use one of them alone\n"));
    }
    Ok((plan, runs, ids.join(" "), is_damaged))
}

/// CPU use over completions per second, of runs.
type Costs = (String, Vec<(f64, f64)>);

/// Profiles count as one server's, in words and the factor that they are apart, if a request cost about the same in each at rates that
/// are nearly the same: an idle server takes more for a request.
fn disagreement(all: &[Costs]) -> Option<(String, f64)> {
    let pairs =
        all.iter().enumerate().flat_map(|(at, one)| all[at + 1..].iter().map(move |other| (one, other)));
    let apart = pairs.filter_map(|(one, other)| Some((one, other, apart(&one.1, &other.1)?)));
    let (one, other, times) =
        apart.max_by(|(.., one), (.., other)| one.max(1.0 / one).total_cmp(&other.max(1.0 / other)))?;
    let (more, less, times) = if times > 1.0 { (one, other, times) } else { (other, one, 1.0 / times) };
    (times > COSTS_APART).then(|| {
        let times_text = format::significant(times, 3);
        let text = format!(
            "the profiles disagree: a request took {times_text} times as much CPU time in {} as in {}",
            more.0, less.0
        );
        (text, times)
    })
}

/// How many times as much a request cost on the first side, at rates that both have.
fn apart(one: &[(f64, f64)], other: &[(f64, f64)]) -> Option<f64> {
    let near = |rate: f64, all: &[(f64, f64)]| -> Vec<f64> {
        let near = all.iter().filter(|(own, _)| (own / rate).ln().abs() < RATES_ALIKE.ln());
        near.map(|(own, used)| used / own).collect()
    };
    let mean = |all: Vec<f64>| (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64);
    let logs = one.iter().filter_map(|(rate, used)| Some((used / rate / mean(near(*rate, other))?).ln()));
    let logs: Vec<f64> = logs.collect();
    Some(mean(logs)?.exp())
}

/// Plan and runs of a profile, and whether some of it cannot be read.
fn read(session: &Session, args: &Args, name: &str) -> Result<(PlanFile, Vec<RunFile>, bool)> {
    let path = stored::path(session, args.output.as_ref(), name)?;
    if let Some(kind) = published_kind(&path)? {
        return Err(anyhow!("{name} is a study of {kind}, and `size` takes profiles"))
            .hint("name a profile; `evenkeel runs` lists all studies");
    }
    let folder = StudyFolder::open(&path)?;
    let (plan, runs) = (folder.plan()?, folder.runs()?);
    if folder.is_measured() {
        out::tell(&format!(
            "{} is still being measured; this is from its first {}\n",
            plan.id,
            format::counted(runs.len(), "run")
        ));
    }
    if plan.series.is_empty() {
        return Err(anyhow!("{name} has no series of runs in its plan.json"))
            .hint("restore plan.json from a backup; finished runs stay in the folder");
    }
    Ok((plan, runs, stored::tell_damage(&folder)?))
}

fn found(sized: &Sized, args: &Args, rate: f64) -> Result<Answered, SizeError> {
    let server = sized.server.as_ref().map_err(|error| *error)?;
    let needed = match args.servers {
        None => {
            server.needed(rate, args.objective).map_err(|error| server.knows(rate).err().unwrap_or(error))?
        }
        Some(servers) => {
            server.knows(rate / f64::from(servers))?;
            let each = server.at(rate / f64::from(servers))?;
            Needed { servers: u64::from(servers), each, by_range: false }
        }
    };
    let at = needed.each.rate;
    let predicted = |sizing: &Result<Sizing, SizeError>| sizing.as_ref().map_err(|error| *error)?.predict(at);
    let statements = sized.statements.iter().map(|(name, sizing)| (name.clone(), predicted(sizing)));
    Ok(Answered { statements: statements.collect(), needed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::random::Seed;
    use evenkeel_dev::profile::VirtualProfile;

    #[test]
    fn only_what_can_be_asked_is_taken() {
        assert_eq!(objective("p95=100ms"), Ok((Statistic::P95, 0.1)));
        assert_eq!(objective("mean=2s"), Ok((Statistic::Mean, 2.0)));
        assert_eq!(objective("20ms"), Ok((Statistic::P95, 0.02)));
        assert_eq!(cost("0.12/h"), Ok(0.12));
        assert!(matches!(rate("400"), Ok(Rate::PerSecond(400.0))));
        assert!(matches!(rate("60%"), Ok(Rate::Share(60.0))));
        for text in ["p95", "p99=1s", "p95=0ms", "p95=fast", "p95=100", "-1/h", "nan/h", "0.12/d", "inf"] {
            assert!(objective(text).is_err() && cost(text).is_err() && rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_share_is_of_what_each_server_carries_and_an_objective_alone_asks_for_the_highest_rate() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            args: Args,
        }
        let profile = VirtualProfile::of_one_cpu(&[0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.3]);
        let (plan, runs) = profile.play(Seed(1)).unwrap();
        let all = sized(&plan, &runs);
        let asked = |text: &str| {
            let line = <Line as clap::Parser>::parse_from(format!("size {text}").split(' '));
            wanted(&all, &line.args).unwrap()
        };
        let server = all[0].server.as_ref().unwrap();
        assert_eq!(asked("--rate 50% --servers 4"), 4.0 * short(0.5 * server.certain()));
        let highest = asked("--objective p95=30ms");
        let p95 = |rate: f64| server.at(rate).map_or(f64::INFINITY, |each| each.p95.high);
        assert!(p95(highest) <= 0.03 && p95(1.02 * highest) > 0.03, "{highest}");
        assert_eq!(asked("--objective p95=30ms --servers 2"), 2.0 * highest);
        assert_eq!(asked("--objective p95=1ms"), server.mean.range().0, "it is refused there");
    }

    #[test]
    fn profiles_whose_requests_cost_differently_at_the_same_rates_disagree() {
        let of = |rate: f64, cost: f64| {
            (format!("at {rate}"), vec![(rate, cost * rate), (2.0 * rate, 2.0 * cost * rate)])
        };
        assert!(disagreement(&[of(20.0, 0.1), of(21.0, 0.12)]).is_none() && disagreement(&[]).is_none());
        assert!(disagreement(&[of(20.0, 0.1), of(21.0, 0.13)]).is_some_and(|(_, times)| times < COSTS_OTHER));
        assert!(disagreement(&[of(20.0, 0.1), of(21.0, 0.5)]).is_some_and(|(_, times)| times > COSTS_OTHER));
        assert!(disagreement(&[of(20.0, 0.4), of(700.0, 0.1)]).is_none(), "an idle server takes more");
    }

    #[test]
    fn two_profiles_of_a_server_count_as_one_and_two_servers_do_not() {
        let play = |loads: &[f64], seed| VirtualProfile::of_one_cpu(loads).play(Seed(seed)).unwrap();
        let (mut plan, mut runs) = play(&[0.2, 0.4, 1.3], 1);
        let (other, more) = play(&[0.4, 0.6], 2);
        let (cells, count) = (plan.cells.len(), runs.len() + more.len());
        assert!(join(&mut plan, &mut runs, &other, more.clone()));
        assert_eq!((plan.cells.len(), runs.len()), (cells + 1, count));
        let settled = sized(&plan, &runs)[0].server.as_ref().unwrap().mean.points().to_vec();
        let runs_of: Vec<usize> = settled.iter().map(|point| point.responses.len()).collect();
        assert_eq!(runs_of, [5, 10, 5], "{settled:?}");
        let edited = PlanFile { file_crc32: Some(1), ..other.clone() };
        assert!(!join(&mut plan, &mut runs, &edited, more.clone()), "its statements were edited");
        let mut strange = other;
        strange.series[0].workload = "another".to_owned();
        assert!(!join(&mut plan, &mut runs, &strange, more) && runs.len() == count);
    }
}
