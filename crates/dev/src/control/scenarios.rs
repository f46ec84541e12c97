//! Situations that the guard's own controller has to master, with several seeds, and what is expected of it in a stretch of time.

use super::simulation::{Load, Phase, Scenario, Trace, simulate};
use crate::plant::{Curve, Fall, MEASURED, Plant, Rise, Shift};
use evenkeel_core::Nanos;
use evenkeel_core::control::evenkeel::{Memory, Settings};
use evenkeel_core::control::{Bounds, Controller, Evenkeel, Fixed, Reason, Sample};
use evenkeel_core::random::Seed;

const MIB: f64 = 1_048_576.0;

fn at(second: u64, clients: u32) -> Phase {
    Phase { at: Nanos::from_secs(second), ..Phase::of(clients) }
}

/// From this limit on, until the last expectation ends.
fn scenario(plants: Vec<Plant>, phases: Vec<Phase>, initial_limit: u32, expect: &[Expect]) -> Scenario {
    let duration = expect.iter().map(|expect| expect.until).max().unwrap_or(Nanos::ZERO);
    let tick = Nanos::from_millis(50);
    Scenario { plants, load: Load::new(phases), tick, duration, initial_limit, seed: Seed(1) }
}

fn measured(name: &str) -> Plant {
    MEASURED.iter().find(|measured| measured.name == name).expect(name).plant()
}

fn usl(kappa: f64, sigma: f64, peak_per_s: f64) -> Plant {
    Plant::new(Curve::Usl { sigma, kappa }, peak_per_s)
}

fn locks(best: f64, bend: f64, exponent: f64, peak_per_s: f64) -> Plant {
    let fall = Fall::Power { exponent, floor: 0.05, by_locks: true };
    Plant::new(Curve::peaked(best, Rise { bend }, fall), peak_per_s)
}

fn cliff(best: f64, edge: f64, height: f64, peak_per_s: f64) -> Plant {
    Plant::new(Curve::peaked(best, Rise { bend: 1.0 }, Fall::Cliff { edge, height }), peak_per_s)
}

fn played(scenario: &Scenario, seed: u64, controller: &mut dyn Controller) -> Trace {
    simulate(&Scenario { seed: Seed(seed), ..scenario.clone() }, controller)
}

fn masters(scenario: &Scenario, memory: Option<Memory>, expect: &[Expect]) {
    for seed in 1..=5 {
        let mut ours = Evenkeel::new(Bounds::starting_at(scenario.initial_limit), Settings { memory });
        let trace = played(scenario, seed, &mut ours);
        let broken: Vec<String> = expect.iter().flat_map(|expect| expect.broken_by(&trace)).collect();
        assert!(broken.is_empty(), "seed {seed}: {broken:?}");
    }
}

/// The flash sale of MariaDB on two CPUs: 3,127 transactions per second at 2, 73 at 512.
fn flash_sale() -> (Scenario, [Expect; 2]) {
    let crowd =
        Expect { regret_below: 0.08, ..Expect::between(30, 90).settled(10, 0.95).never_below(0.7, 1) };
    let expect = [crowd, Expect { regret_below: 0.08, ..Expect::between(90, 120) }];
    let plant = Plant { settle_s: 0.01, wobble: 0.01, ..measured("flash-sale") };
    (scenario(vec![plant], vec![at(0, 4), at(30, 512), at(90, 4)], 8, &expect), expect)
}

#[test]
fn a_crowd_comes_and_goes() {
    let (scenario, expect) = flash_sale();
    masters(&scenario, None, &expect);
    let scenario = Scenario { initial_limit: 256, ..scenario };
    let trace = played(&scenario, 1, &mut Fixed::new(256));
    assert!(!expect[0].broken_by(&trace).is_empty(), "a fixed limit that is too high is found out");
}

/// A thousand clients are in, and the server has collapsed before the guard begins.
#[test]
fn a_start_in_collapse() {
    let expect = [Expect::between(0, 60).settled(15, 0.9).never_below(0.7, 1)];
    let plant = Plant { sensors: true, ..locks(16.0, 1.0, 0.9, 4_000.0) };
    masters(&scenario(vec![plant], vec![at(0, 1_024)], 1_024, &expect), None, &expect);
}

/// A shelf at 39 % of the peak from 8 to 128, on which no gradient leads anywhere.
#[test]
fn off_the_shelf_of_a_hot_row() {
    let expect = [Expect::between(0, 40).settled(10, 0.9).never_below(0.7, 1)];
    masters(&scenario(vec![measured("hot-row")], vec![at(0, 512)], 64, &expect), None, &expect);
}

/// A day, a night with two clients that pause, and the next morning: the limit is where it was.
#[test]
fn an_idle_night() {
    let expect = [
        Expect::between(0, 120).settled(30, 0.9),
        Expect { limits: (14, 40), ..Expect::between(120, 1_080) },
        Expect::between(1_080, 1_200).settled(2, 0.85).never_below(0.7, 1),
    ];
    let night = Phase { think_s: 0.2, ..at(120, 2) };
    let phases = vec![at(0, 200), night, at(1_080, 200)];
    masters(&scenario(vec![locks(24.0, 2.0, 1.2, 2_000.0)], phases, 8, &expect), None, &expect);
}

/// The kernel kills the server at 32 sorts at once. With a budget, no probe goes there.
#[test]
fn sorts_under_a_memory_budget() {
    let expect = [Expect { limits: (1, 28), ..Expect::between(0, 600).settled(60, 0.9) }];
    let memory = Some(Memory { budget: 560.0 * MIB, each: 20.0 * MIB });
    masters(&scenario(vec![measured("sorts")], vec![at(0, 256)], 4, &expect), memory, &expect);
}

/// Without a budget: the guard sees what a sort takes while it probes upwards. The curve rises to the edge, so that there
/// is a reason to go there.
#[test]
fn sorts_whose_memory_is_seen() {
    let expect = [Expect { limits: (1, 30), ..Expect::between(1, 300) }];
    let memory = Some((620.0 * MIB, 20.0 * MIB));
    let plant = Plant { sensors: true, memory, ..cliff(30.0, 1.01, 0.01, 250.0) };
    masters(&scenario(vec![plant], vec![at(0, 256)], 4, &expect), None, &expect);
}

/// The mix changes to transactions that cost three times as much and run best four times as wide, and back.
#[test]
fn a_change_of_mix() {
    let expect = [
        Expect::between(0, 60).settled(10, 0.95),
        Expect::between(60, 120).settled(20, 0.9),
        Expect::between(120, 180).settled(20, 0.9).never_below(0.7, 2),
    ];
    let large = Plant { cost: 3.0, ..usl(0.000_6, 0.02, 1_000.0) };
    let phases = vec![at(0, 400), Phase { plant: 1, ..at(60, 400) }, at(120, 400)];
    masters(&scenario(vec![usl(0.01, 0.02, 3_000.0), large], phases, 8, &expect), None, &expect);
}

/// The best limit drifts from 12 to 36 in half a minute. That is slower than a change that counts: now and then (2 seeds of
/// 40) a limit 11 % short is held until its next look.
#[test]
fn a_moving_peak() {
    let expect = [Expect::between(0, 60).settled(10, 0.95), Expect::between(90, 180).settled(30, 0.87)];
    let shift = Some(Shift { at_s: 60.0, factor: 3.0, over_s: 30.0 });
    let plant = Plant { shift, ..usl(0.006_9, 0.0, 4_000.0) };
    masters(&scenario(vec![plant], vec![at(0, 300)], 8, &expect), None, &expect);
}

/// Speed wobbles by 20 %, as where neighbours take the CPU away: single ticks say nothing.
#[test]
fn a_noisy_machine() {
    let expect = [Expect::between(0, 120).settled(30, 0.8)];
    let plant = Plant { wobble: 0.2, ..measured("hot-row") };
    masters(&scenario(vec![plant], vec![at(0, 64)], 8, &expect), None, &expect);
}

/// The server stands still for ten seconds; then three clients sit on open transactions.
#[test]
fn a_paused_server_and_slow_clients() {
    let expect = [
        Expect::between(0, 40).settled(15, 0.9),
        Expect { limits: (6, 20), ..Expect::between(40, 50) },
        Expect::between(52, 90).settled(2, 0.85).never_below(0.6, 1),
        Expect::between(90, 150).settled(30, 0.85),
    ];
    let paused = Phase { paused: true, ..at(40, 100) };
    let slow = Phase { slow: 3, ..at(90, 100) };
    let phases = vec![at(0, 100), paused, at(50, 100), slow];
    masters(&scenario(vec![cliff(10.0, 2.0, 0.3, 1_500.0)], phases, 8, &expect), None, &expect);
}

#[test]
fn measured_curves_are_held_near_their_best() {
    let expect = [Expect { regret_below: 0.1, ..Expect::between(60, 180) }];
    for measured in &MEASURED {
        for (initial, seed) in [(1, 1), (8, 2), (64, 3)] {
            if measured.name == "sorts" && initial == 64 {
                // The kernel has killed it before the controller begins.
                continue;
            }
            let scenario = scenario(vec![measured.plant()], vec![at(0, 512)], initial, &expect);
            let mut ours = Evenkeel::new(Bounds::starting_at(initial), Settings::default());
            let broken = expect[0].broken_by(&played(&scenario, seed, &mut ours));
            assert!(broken.is_empty(), "{} from {initial}: {broken:?}", measured.name);
        }
    }
}

#[test]
fn without_noise_every_move_raises_the_potential_so_that_there_is_no_cycle() {
    // Two peaks with a valley between them, a shelf, a cliff: no single rise and fall.
    let valley = vec![(1.0, 20.0), (4.0, 60.0), (8.0, 40.0), (32.0, 100.0), (128.0, 30.0), (512.0, 30.0)];
    let curves = [
        Curve::Points(valley),
        Curve::peaked(2.0, Rise { bend: 1.0 }, Fall::Shelf { start: 4.0, end: 64.0, height: 0.39 }),
        Curve::peaked(40.0, Rise { bend: 0.5 }, Fall::Cliff { edge: 1.2, height: 0.2 }),
        Curve::Linear { knee: 100.0 },
    ];
    for curve in curves {
        let plant = Plant::new(curve, 20_000.0);
        // The controller's price of a transaction in flight is 0.02.
        let potential =
            |limit: u32| plant.throughput(f64::from(limit), 0.0).ln() - 0.02 * f64::from(limit).ln();
        for initial in [1, 8, 24] {
            let mut controller = Evenkeel::new(Bounds::starting_at(initial), Settings::default());
            let mut limit = initial;
            for number in 0..12_000 {
                let count = 0.05 * plant.throughput(f64::from(limit), 0.0);
                let decision = controller.update(&Sample {
                    start: Nanos::from_millis(50 * number),
                    end: Nanos::from_millis(50 * number + 50),
                    limit,
                    in_flight_mean: f64::from(limit),
                    in_flight_max: limit,
                    queued: 1_000.0,
                    completions: count.round() as u64,
                    work: count,
                    ..Sample::default()
                });
                limit = decision.limit;
                if let Reason::Better { left, .. } = decision.why {
                    assert!(potential(limit) > potential(left), "{left} -> {limit}");
                }
            }
        }
    }
}

#[test]
fn upwards_it_never_more_than_doubles_what_it_has_proved() {
    let expect = [Expect::between(0, 60)];
    let plant = Plant::new(Curve::Linear { knee: 200.0 }, 9_000.0);
    let mut ours = Evenkeel::new(Bounds::starting_at(1), Settings::default());
    let trace = played(&scenario(vec![plant], vec![at(0, 512)], 1, &expect), 1, &mut ours);
    let mut proved = 1;
    for step in &trace.steps {
        assert!(step.limit <= 2 * proved, "{} from {proved}", step.limit);
        proved = proved.max(step.limit);
    }
}

/// Stretch over which throughput is averaged before it is judged.
const SMOOTH: Nanos = Nanos::from_millis(500);

#[derive(Clone, Copy, Debug)]
pub struct Expect {
    pub from: Nanos,
    pub until: Nanos,
    /// Throughput averaged over half a second reaches this share of the best within this time.
    pub settled: Option<(Nanos, f64)>,
    /// Once it should have settled, it is never below this share for longer than this.
    pub never_below: Option<(f64, Nanos)>,
    /// At most this share of the transactions that were possible is lost.
    pub regret_below: f64,
    pub limits: (u32, u32),
}

impl Expect {
    /// Nothing yet of the time from one second to another.
    pub const fn between(from_s: u64, until_s: u64) -> Self {
        Self {
            from: Nanos::from_secs(from_s),
            until: Nanos::from_secs(until_s),
            settled: None,
            never_below: None,
            regret_below: 1.0,
            limits: (1, u32::MAX),
        }
    }

    /// The same, settled within so many seconds near this share of the best.
    pub const fn settled(self, within_s: u64, near: f64) -> Self {
        Self { settled: Some((Nanos::from_secs(within_s), near)), ..self }
    }

    /// The same, and from then on never below a share of the best for longer than so many seconds.
    pub const fn never_below(self, share: f64, longer_s: u64) -> Self {
        Self { never_below: Some((share, Nanos::from_secs(longer_s))), ..self }
    }

    pub fn broken_by(&self, trace: &Trace) -> Vec<String> {
        let within = self.part(trace);
        let mut broken = Vec::new();
        broken.extend(self.late(&within));
        broken.extend(self.low(&within));
        let regret = trace.regret(self.from, self.until);
        if regret > self.regret_below {
            broken.push(format!("{regret:.3} lost"));
        }
        let (low, high) = self.limits;
        if let Some(step) = within.steps.iter().find(|step| !(low..=high).contains(&step.limit)) {
            broken.push(format!("limit {} at {:?}", step.limit, step.start));
        }
        broken
    }

    fn part(&self, trace: &Trace) -> Trace {
        let within = |start: Nanos, end: Nanos| start >= self.from && end <= self.until;
        Trace { steps: trace.steps.iter().filter(|step| within(step.start, step.end)).copied().collect() }
    }

    fn late(&self, within: &Trace) -> Option<String> {
        let (time, near) = self.settled?;
        let in_time = within.steps.iter().filter(|step| step.end <= self.from + time).copied().collect();
        let best = Trace { steps: in_time }.shares_from(self.from, SMOOTH).into_iter().fold(0.0, f64::max);
        (best < near).then(|| format!("at most {best:.3} of the best within {time:?}"))
    }

    fn low(&self, within: &Trace) -> Option<String> {
        let (floor, longest) = self.never_below?;
        let settled = self.settled.map_or(self.from, |(time, _)| self.from + time);
        let mut since: Option<Nanos> = None;
        for step in within.steps.iter().filter(|step| step.start >= settled) {
            if step.share() >= floor {
                since = None;
                continue;
            }
            let began = *since.get_or_insert(step.start);
            if step.end - began > longest {
                return Some(format!("below {floor} from {began:?} on"));
            }
        }
        None
    }
}
