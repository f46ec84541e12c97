//! Random plants, steps on the measured curves, and the search for the peer's parameters.

use anyhow::{Result, anyhow};
use evenkeel_core::control::Bounds;
use evenkeel_core::random::Seed;
use evenkeel_dev::control::Contender;
use evenkeel_dev::control::trial::{self, CLIENTS, INITIAL_LIMITS, Regret, Summary, Verdict, regrets};
use evenkeel_dev::plant::Distribution;
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of plants, each from limits of 1, 8 and 1,024
    count: u64,
    #[command(flatten)]
    tried: Tried,
    /// On a machine whose speed wobbles by 16 % over 100 ms, with a memory of 0.3 s, as one that was measured; halves last
    /// until the mean of one is known to 5 %
    #[arg(long)]
    wobble: bool,
    /// With --wobble: halves as short as on a steady machine
    #[arg(long, requires = "wobble")]
    short_halves: bool,
}

#[derive(Debug, clap::Args)]
pub struct StepsArgs {
    #[command(flatten)]
    tried: Tried,
}

#[derive(Debug, clap::Args)]
struct Tried {
    /// fixed, reflection or evenkeel, or aimd: a peer, with the parameters that the search found
    #[arg(long, default_value = "evenkeel")]
    controller: String,
    /// Seed of every draw
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Tried {
    fn contender(&self) -> Result<Contender> {
        let bounds = Bounds { initial: 8, range: (1, CLIENTS) };
        Contender::named(&self.controller, bounds).map_err(|unknown| anyhow!(unknown))
    }
}

/// Judges a controller; failures are named by plant and initial limit, so that they can be run again.
pub fn judge(args: &Args) -> Result<()> {
    let (contender, seed) = (args.tried.contender()?, Seed(args.tried.seed));
    let distribution = match (args.wobble, args.short_halves) {
        (false, _) => Distribution::default(),
        (true, false) => Distribution::wobbling(),
        (true, true) => Distribution::wobbling_in_short_halves(),
    };
    let mut verdicts: Vec<(u64, u32, Verdict)> = Vec::new();
    for number in 0..args.count {
        for initial in INITIAL_LIMITS {
            let mut controller = contender.starting_at(initial).build();
            let verdict = trial::run(&distribution, seed, number, initial, controller.as_mut());
            verdicts.push((number, initial, verdict));
        }
    }
    let mut value = as_json(&contender, seed, &verdicts);
    value["wobble"] = json!(distribution.wobble.map(|wobble| wobble.sd));
    println!("{value}");
    Ok(())
}

fn failed(verdict: &Verdict) -> bool {
    !verdict.is_settled() || verdict.cycles || verdict.worst < 0.7
}

fn as_json(contender: &Contender, seed: Seed, verdicts: &[(u64, u32, Verdict)]) -> Value {
    let summary = Summary::of(&verdicts.iter().map(|(_, _, verdict)| *verdict).collect::<Vec<_>>());
    let failure = |(number, initial, verdict): &(u64, u32, Verdict)| {
        json!({
            "plant": number, "start": initial, "settled": verdict.is_settled(),
            "worst": verdict.worst, "cycles": verdict.cycles,
        })
    };
    let failures: Vec<Value> =
        verdicts.iter().filter(|(_, _, verdict)| failed(verdict)).map(failure).collect();
    json!({
        "controller": contender.name(), "seed": seed.0, "runs": summary.runs,
        "settled_share": summary.settled_share(), "worst_fraction": summary.worst,
        "below": summary.below, "below_share": summary.share(summary.below), "cycles": summary.cycles,
        "cycles_share": summary.share(summary.cycles), "steady": summary.steady,
        "halves_median": summary.halves[0], "halves_p98": summary.halves[1], "failures": failures,
    })
}

pub fn steps(args: &StepsArgs) -> Result<()> {
    let (contender, seed) = (args.tried.contender()?, args.tried.seed);
    let row = |row: &Regret| json!({"curve": row.curve, "from": row.clients.0, "to": row.clients.1, "regret": row.regret});
    let rows: Vec<Value> = regrets(&contender, Seed(seed)).iter().map(row).collect();
    println!("{}", json!({"controller": contender.name(), "seed": seed, "steps": rows}));
    Ok(())
}
