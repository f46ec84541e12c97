//! The profile that answers what a stored one leaves open.

use crate::format;
use evenkeel_core::digits::nearest;
use evenkeel_core::size::Server;
use evenkeel_study::profile;
use evenkeel_study::size::Sized;
use evenkeel_study::store::format::PlanFile;

/// Shares of what a server carries at which it is measured.
const SHARES: [f64; 4] = [0.2, 0.4, 0.6, 0.8];
/// A rate this near to the one in question is not measured too.
const NEAR: f64 = 0.1;
/// Runs of each rate, and the seconds of a run and of its warm-up.
const RUNS: (u32, f64, f64) = (4, 20.0, 4.0);
/// The same where the rate in question alone is measured.
const ALONE: (u32, f64, f64) = (3, STALLS_S, 4.0);
/// The seconds of a run where a writing server may stall.
const STALLS_S: f64 = 60.0;
/// Minutes of a search for what a server carries: where nothing is known of it, and where it is known too little.
const SEARCH_MIN: (u32, u32) = (5, 10);
/// A run lasts for so many arrivals, and for so many seconds at most.
const ARRIVALS: f64 = 150.0;
const SECONDS_MOST: f64 = 120.0;
/// Flags of the stored command that the new one sets itself, or leaves out: with a value, and without one.
const REPLACED: [&str; 11] = [
    "--name",
    "--rate",
    "-r",
    "--repeats",
    "--duration",
    "-d",
    "--warm-up",
    "--within",
    "--until",
    "--seed",
    "--resume",
];
const LEFT_OUT: [&str; 4] = ["--quiet", "-q", "--json", "--whole-sweep"];

/// A command of `evenkeel profile`.
#[derive(Clone, Debug, PartialEq)]
pub struct Narrower {
    pub command: String,
    /// How long its runs take, seconds.
    pub seconds: f64,
}

impl Narrower {
    /// The stored profile's server and workload, at the rate in question alone where that is answered and a server carries it; otherwise at
    /// rates that settle, and at that one where a server may carry it; up to the limit where the profile is far from it, or a server may
    /// not carry the rate. A rate that does not fit the others is measured again.
    pub fn of(plan: &PlanFile, sized: &Sized, rate: f64, is_answered: bool) -> Self {
        let bounds = &sized.bounds;
        let lowest = plan.cells.iter().map(|cell| cell.rate_per_s).fold(f64::INFINITY, f64::min);
        let most = bounds.at_most_per_s.unwrap_or(f64::INFINITY);
        let highest = plan.cells.iter().map(|cell| cell.rate_per_s).fold(0.0, f64::max);
        let unknown = if bounds.at_most_per_s.is_some() { lowest.min(most) } else { highest };
        let carried = bounds.at_least_per_s.unwrap_or(unknown);
        let is_carried = |server: &Server| server.mean.ends().at_least.is_some_and(|least| rate <= least);
        let is_alone = is_answered && sized.server.as_ref().is_ok_and(is_carried);
        let is_open = sized.server.as_ref().is_ok_and(|server| server.knows(f64::INFINITY).is_err());
        let is_known = carried > 0.0 && carried.is_finite();
        if !is_known || (is_open && !is_alone) || (!is_answered && rate > carried && sized.server.is_ok()) {
            let minutes = if is_known && !is_open { SEARCH_MIN.1 } else { SEARCH_MIN.0 };
            let words = [kept(plan, sized), vec!["--within".to_owned(), format!("{minutes}m")]].concat();
            let study =
                format!("evenkeel study FILE, with within = \"{minutes}m\" and no rate below [profile]");
            let command = if plan.kind == profile::NAME { format::command(&words) } else { study };
            return Self { command, seconds: 60.0 * f64::from(minutes) };
        }
        // Nobody's server is sent what is far above all that it was seen to answer.
        let asked = (rate <= most).then_some(rate.min(2.0 * highest));
        let odd = sized.server.as_ref().ok().and_then(Server::misfit).map(|(_, measured)| measured.rate);
        let wanted: Vec<f64> = asked.into_iter().chain(odd.filter(|odd| asked != Some(*odd))).collect();
        let is_other = |share: &f64| wanted.iter().all(|wanted| (share / wanted - 1.0).abs() > NEAR);
        let shares = SHARES.iter().map(|share| share * carried).filter(|rate| !is_alone && is_other(rate));
        let mut rates: Vec<f64> = shares.chain(wanted.iter().copied()).collect();
        rates.sort_by(f64::total_cmp);
        let (repeats, least, warm_up) = if is_alone { ALONE } else { RUNS };
        let least = if sized.misses_stalls { STALLS_S } else { least };
        let seconds = rates.first().map_or(least, |rate| (ARRIVALS / rate).ceil().clamp(least, SECONDS_MOST));
        let series = plan.series.len().max(1) * rates.len();
        let time = (series as f64) * f64::from(repeats) * (seconds + warm_up);
        let rates = rates.into_iter().map(nearest).collect::<Vec<_>>().join(",");
        if plan.kind != profile::NAME {
            let below = format!("repeats = {repeats}, duration = \"{seconds}s\" below [profile]");
            let command = format!("evenkeel study FILE, with rate = \"{rates}\", {below}");
            return Self { command, seconds: time };
        }
        let mut words = kept(plan, sized);
        let more = format!("--rate {rates} --repeats {repeats} --duration {seconds}s --warm-up {warm_up}s");
        words.extend(more.split(' ').map(str::to_owned));
        Self { command: format::command(&words), seconds: time }
    }
}

/// What stays of the stored command; a virtual profile has none.
fn kept(plan: &PlanFile, sized: &Sized) -> Vec<String> {
    if plan.command.is_empty() {
        return ["profile", "--workload", &sized.workload].map(str::to_owned).to_vec();
    }
    let mut words = plan.command.iter();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        let is_short = word.starts_with('-') && !word.starts_with("--") && word.len() > 2;
        let name = if is_short { word.get(..2) } else { word.split('=').next() }.unwrap_or(word);
        if REPLACED.contains(&name) {
            // Its value is the next word, unless it is part of this one.
            let _ = (name == word).then(|| words.next());
        } else if !LEFT_OUT.contains(&name) {
            kept.push(word.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::random::Seed;
    use evenkeel_dev::profile::VirtualProfile;
    use evenkeel_study::size::sized;

    #[test]
    fn the_command_keeps_server_and_workload_and_has_rates_that_are_carried() {
        let profile = VirtualProfile { repeats: 3, ..VirtualProfile::of_one_cpu(&[0.4, 0.8, 1.3, 1.8]) };
        let (mut plan, runs) = profile.play(Seed(1)).unwrap();
        let sized = sized(&plan, &runs).remove(0);
        let none = Narrower::of(&plan, &sized, 150.0, false).command;
        assert!(none.starts_with("evenkeel profile --workload virtual --rate "), "{none}");
        let line =
            "--home /h --quiet profile mysql://a@b/c -r 9,10 -d8s --name x --ebs 10 --within=3m --seed 5";
        plan.command = line.split(' ').map(str::to_owned).collect();
        let found = Narrower::of(&plan, &sized, 150.0, false);
        let start = "evenkeel --home /h profile mysql://a@b/c --ebs 10 --rate ";
        assert!(found.command.starts_with(start) && found.command.contains(",150 "), "{}", found.command);
        assert!(found.command.ends_with(" --repeats 4 --duration 20s --warm-up 4s"), "{}", found.command);
        assert!(!Narrower::of(&plan, &sized, 100_000.0, true).command.contains("100000"));
        let alone = Narrower::of(&plan, &sized, 150.0, true);
        // The lower of two rates does not fit the higher one.
        let command = format!("{start}100,150 --repeats 3 --duration 60s --warm-up 4s");
        assert_eq!(alone, Narrower { command, seconds: 384.0 });
        plan.series[0].writes = true;
        let writing = evenkeel_study::size::sized(&plan, &runs).remove(0);
        let found = Narrower::of(&plan, &writing, 150.0, false);
        assert!(writing.misses_stalls && found.command.contains(" --duration 60s "), "{}", found.command);
        let (plan, runs) = VirtualProfile::of_one_cpu(&[0.1, 0.2]).play(Seed(1)).unwrap();
        let idle = evenkeel_study::size::sized(&plan, &runs).remove(0);
        let found = Narrower::of(&plan, &idle, 900.0, false);
        assert_eq!(found.command, "evenkeel profile --workload virtual --within 5m");
    }
}
