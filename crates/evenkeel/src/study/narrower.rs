//! The profile that answers what a stored one leaves open.

use crate::format;
use evenkeel_study::profile;
use evenkeel_study::size::Sized;
use evenkeel_study::store::format::PlanFile;

/// Shares of what a server carries at which it is measured.
const SHARES: [f64; 4] = [0.2, 0.4, 0.6, 0.8];
/// A rate this near to the one in question is not measured too.
const NEAR: f64 = 0.1;
/// Runs of each rate, and the seconds of a run and of its warm-up.
const RUNS: (u32, f64, f64) = (4, 20.0, 4.0);
/// The seconds of a run where a writing server may stall.
const STALLS_S: f64 = 60.0;
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
    /// As it is typed.
    pub command: String,
    /// How long its runs take, seconds.
    pub seconds: f64,
}

impl Narrower {
    /// The stored profile's server and workload, at rates that settle, and at the rate in question where a server may carry it.
    pub fn of(plan: &PlanFile, sized: &Sized, rate: f64) -> Self {
        let bounds = &sized.bounds;
        let lowest = plan.cells.iter().map(|cell| cell.rate_per_s).fold(f64::INFINITY, f64::min);
        let most = bounds.at_most_per_s.unwrap_or(f64::INFINITY);
        let highest = plan.cells.iter().map(|cell| cell.rate_per_s).fold(0.0, f64::max);
        let unknown = if bounds.at_most_per_s.is_some() { lowest.min(most) } else { highest };
        let carried = bounds.at_least_per_s.unwrap_or(unknown);
        if !(carried > 0.0 && carried.is_finite()) {
            let words = [kept(plan, sized), ["--within", "10m"].map(str::to_owned).to_vec()].concat();
            return Self { command: format::command(&words), seconds: 600.0 };
        }
        // Nobody's server is sent what is far above all that it was seen to answer.
        let asked = (rate <= most).then_some(rate.min(2.0 * highest));
        let is_other = |share: &f64| asked.is_none_or(|asked| (share / asked - 1.0).abs() > NEAR);
        let shares = SHARES.iter().map(|share| share * carried).filter(is_other);
        let mut rates: Vec<f64> = shares.chain(asked).collect();
        rates.sort_by(f64::total_cmp);
        let (repeats, least, warm_up) = RUNS;
        let least = if sized.misses_stalls { STALLS_S } else { least };
        let seconds = rates.first().map_or(least, |rate| (ARRIVALS / rate).ceil().clamp(least, SECONDS_MOST));
        let rates: Vec<String> = rates.into_iter().map(three_digits).collect();
        let series = plan.series.len().max(1) * rates.len();
        let time = (series as f64) * f64::from(repeats) * (seconds + warm_up);
        if plan.kind != profile::NAME {
            let command = format!(
                "evenkeel study FILE, with rate = \"{}\", repeats = {repeats}, duration = \"{seconds}s\" below [profile]",
                rates.join(",")
            );
            return Self { command, seconds: time };
        }
        let mut words = kept(plan, sized);
        let more = [
            "--rate",
            &rates.join(","),
            "--repeats",
            &repeats.to_string(),
            "--duration",
            &format!("{seconds}s"),
            "--warm-up",
            &format!("{warm_up}s"),
        ];
        words.extend(more.map(str::to_owned));
        Self { command: format::command(&words), seconds: time }
    }
}

/// A number of three digits that count, as a flag takes it.
fn three_digits(rate: f64) -> String {
    let unit = 10_f64.powf(rate.log10().floor() - 2.0);
    let decimals = (-unit.log10().round()).max(0.0) as usize;
    format!("{:.decimals$}", (rate / unit).round() * unit)
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
        let none = Narrower::of(&plan, &sized, 150.0).command;
        assert!(none.starts_with("evenkeel profile --workload virtual --rate "), "{none}");
        let line =
            "--home /h --quiet profile mysql://a@b/c -r 9,10 -d8s --name x --ebs 10 --within=3m --seed 5";
        plan.command = line.split(' ').map(str::to_owned).collect();
        let found = Narrower::of(&plan, &sized, 150.0);
        let start = "evenkeel --home /h profile mysql://a@b/c --ebs 10 --rate ";
        assert!(found.command.starts_with(start) && found.command.contains(",150 "), "{}", found.command);
        assert!(found.command.ends_with(" --repeats 4 --duration 20s --warm-up 4s"), "{}", found.command);
        assert_eq!(found.seconds, 4.0 * 4.0 * 24.0);
        assert!(!Narrower::of(&plan, &sized, 100_000.0).command.contains("100000"));
        plan.series[0].writes = true;
        let writing = evenkeel_study::size::sized(&plan, &runs).remove(0);
        let found = Narrower::of(&plan, &writing, 150.0);
        assert!(writing.misses_stalls && found.command.contains(" --duration 60s "), "{}", found.command);
        assert_eq!([1_234.0, 99.96, 8.1234, 0.5].map(three_digits), ["1230", "100.0", "8.12", "0.500"]);
    }
}
