//! How many permits may be lent while statements are at the server.
//!
//! As many as the limit may always be: with those that run, that is twice the limit. Where more are wanted, the
//! bound goes up by steps, and each step is a trial: a loan is free as long as what lent does not use the
//! server, and that shows in what else gets done. The bound goes back where throughput falls or memory ends. It
//! must not go up because all are slow: in a collapse every statement outstays its kind, and loans would
//! make it worse. So two figures are watched, the work of what was not on loan and all that ended. Where too little
//! ends for a judgement, a server whose CPUs are busy gets no more, with one exception: where short work went on before and has
//! all but stopped since loans were wanted, there is nothing left to lose, and a few steps are tried.

use evenkeel_core::Nanos;
use evenkeel_core::admission::{Census, Interval};
use evenkeel_core::control::Signals;

/// A trial is judged by the throughput of this long.
const SPELL: Nanos = Nanos::from_secs(1);
/// Where so little ends that nothing can be lost, and the server is known to be calm, the next step comes after
/// this: those who wait meanwhile get nothing.
const SPELL_BLIND: Nanos = Nanos::from_millis(250);
/// Completions in a second from which on it is judged; their spread is 14 % then.
const ENOUGH: f64 = 50.0;
/// A step has cost throughput where less than this share of it is left.
const LEFT: f64 = 0.8;
/// After a step that cost throughput there is none for so long.
const PAUSE: Nanos = Nanos::from_secs(30);
/// A server that uses this share of its machine's CPU time in user mode is busy.
const BUSY: f64 = 0.5;
/// Short work has all but stopped where less than this share of what it was is left.
const STARVED: f64 = 0.25;
/// What short work usually does is forgotten by this share with each spell.
const FORGET: f64 = 1.0 / 128.0;
/// Steps for starved work that may bring nothing back before they are taken back.
const STEPS_BLIND: u32 = 8;
/// Less free memory than this share of what the server holds and what is free is too little.
const MEMORY_LEFT: f64 = 0.1;

/// What ended in a stretch of time: by work of those that were not on loan, and all by number.
#[derive(Clone, Copy, Debug, Default)]
struct Spell {
    seconds: f64,
    /// Number and amount of each of the two.
    ended: [(f64, f64); 2],
}

impl Spell {
    fn add(&mut self, interval: &Interval) {
        let (plain, all) = (interval.completions as f64, (interval.completions + interval.on_loan) as f64);
        self.seconds += (interval.end - interval.start).as_secs_f64();
        for ((number, amount), (more, worth)) in
            self.ended.iter_mut().zip([(plain, interval.work), (all, all)])
        {
            *number += more;
            *amount += worth;
        }
    }

    fn lasted(&self, time: Nanos) -> bool {
        // Ticks are not exact: a tenth less is enough.
        self.seconds >= 0.9 * time.as_secs_f64()
    }

    /// Of what was not on loan, by number and second.
    fn plain_rate(&self) -> f64 {
        let [(number, _), _] = self.ended;
        if self.seconds > 0.0 { number / self.seconds } else { 0.0 }
    }

    /// Whether too little ended for a judgement.
    fn is_blind(&self) -> bool {
        self.ended.iter().all(|(number, _)| *number < ENOUGH * self.seconds)
    }

    /// Whether less got done than in the spell before, by a figure with enough completions.
    fn fell_below(&self, before: &Self) -> bool {
        let pairs = self.ended.iter().zip(before.ended);
        pairs.into_iter().any(|((_, now), (number, then))| {
            number >= ENOUGH * before.seconds && now / self.seconds < LEFT * then / before.seconds
        })
    }
}

/// The bound of loans, and the step that is on trial.
#[derive(Clone, Debug, Default)]
pub struct Loans {
    /// `None`: as many as the limit.
    most: Option<usize>,
    /// Loans refused up to the last tick.
    refused: u64,
    /// Some were refused in this spell.
    wanted: bool,
    spell: Spell,
    /// The bound before the last step, and what got done then.
    trial: Option<(Option<usize>, Spell)>,
    /// There is no step before this instant.
    no_step_until: Nanos,
    /// What was not on loan, per second, while no loan was wanted; slowly forgotten.
    usual: f64,
    /// Steps since starved work was last better off.
    blind: u32,
}

impl Loans {
    /// A tick: most loans from now on, for [`Gate::set_loans_max`](evenkeel_core::admission::Gate::set_loans_max).
    pub fn update(
        &mut self,
        now: Nanos,
        interval: &Interval,
        census: &Census,
        signals: &Signals,
    ) -> Option<usize> {
        self.spell.add(interval);
        self.wanted |= census.loans_refused > self.refused;
        self.refused = census.loans_refused;
        if is_memory_short(signals) {
            self.take_back(now, None);
        } else if self.is_spell_over(signals) {
            let spell = std::mem::take(&mut self.spell);
            self.decide(now, spell, census, is_busy(signals) == Some(true));
        }
        self.most
    }

    fn is_spell_over(&self, signals: &Signals) -> bool {
        let hurry = self.wanted && self.spell.is_blind() && is_busy(signals) == Some(false);
        self.spell.lasted(if hurry { SPELL_BLIND } else { SPELL })
    }

    fn decide(&mut self, now: Nanos, spell: Spell, census: &Census, busy: bool) {
        let wanted = std::mem::take(&mut self.wanted);
        let starved = self.is_starved(&spell, wanted) && wanted;
        match self.trial.take() {
            Some((from, before)) if spell.fell_below(&before) => self.take_back(now, from),
            _ if !wanted => self.sink(census),
            _ if now < self.no_step_until => {}
            // All that was tried has brought nothing back: it is not loans that are wanting.
            _ if starved && self.blind >= STEPS_BLIND => self.take_back(now, None),
            _ if busy && spell.is_blind() && !starved => {}
            _ => {
                self.blind = if starved { self.blind + 1 } else { 0 };
                self.trial = Some((self.most, spell));
                self.most = Some(census.loans_max + (census.loans_max / 4).max(1));
            }
        }
    }

    /// Whether short work went on before and has all but stopped since loans are wanted.
    fn is_starved(&mut self, spell: &Spell, wanted: bool) -> bool {
        let rate = spell.plain_rate();
        if !wanted {
            self.usual = rate.max(self.usual * (1.0 - FORGET));
        }
        self.usual >= ENOUGH && rate < STARVED * self.usual
    }

    fn take_back(&mut self, now: Nanos, most: Option<usize>) {
        self.most = most;
        (self.trial, self.blind) = (None, 0);
        self.no_step_until = now + PAUSE;
    }

    /// Nobody wants more: down by a sixteenth, but not below what is out.
    fn sink(&mut self, census: &Census) {
        let lower = |most: usize| (most - (most / 16).max(1).min(most)).max(census.loans);
        self.most = self.most.map(lower).filter(|most| *most > census.limit);
    }
}

fn is_busy(signals: &Signals) -> Option<bool> {
    signals.user_cpu_share.map(|share| share >= BUSY)
}

fn is_memory_short(signals: &Signals) -> bool {
    let (Some(free), Some(used)) = (signals.memory_free, signals.memory_used) else { return false };
    free < MEMORY_LEFT * (free + used)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 8;

    /// A gate and a server, ten ticks a second.
    struct Scene {
        loans: Loans,
        now: Nanos,
        census: Census,
        signals: Signals,
    }

    impl Scene {
        fn new(signals: Signals) -> Self {
            let census = Census { limit: LIMIT, loans_max: LIMIT, ..Census::default() };
            Self { loans: Loans::default(), now: Nanos::ZERO, census, signals }
        }

        /// So many want a loan; `ended` gives completions per second, of what was not on loan and of what
        /// was, by the number of loans out.
        fn run(&mut self, ticks: u64, wanted: usize, ended: impl Fn(usize) -> (u64, u64)) {
            for _ in 0..ticks {
                let start = self.now;
                self.now += Nanos::from_millis(100);
                self.census.loans = wanted.min(self.census.loans_max.max(self.census.loans));
                self.census.loans_refused += wanted.saturating_sub(self.census.loans_max) as u64;
                let (completions, on_loan) = ended(self.census.loans);
                let (completions, on_loan) = (completions / 10, on_loan / 10);
                let work = completions as f64;
                let interval =
                    Interval { start, end: self.now, completions, work, on_loan, ..Interval::default() };
                let most = self.loans.update(self.now, &interval, &self.census, &self.signals);
                self.census.loans_max = most.unwrap_or(LIMIT).max(LIMIT);
            }
        }
    }

    fn calm() -> Signals {
        Signals { user_cpu_share: Some(0.1), ..Signals::default() }
    }

    #[test]
    fn sleepers_in_front_of_all_others_are_lent_within_seconds() {
        let mut scene = Scene::new(calm());
        let short = |loans| if loans >= 64 { (370, 0) } else { (0, 0) };
        scene.run(40, 64, short);
        assert_eq!(scene.census.loans, 64);
        scene.run(600, 64, short);
        assert_eq!(scene.census.loans, 64, "and stay so");
    }

    #[test]
    fn where_no_sensor_tells_it_takes_a_second_for_each_step() {
        let mut scene = Scene::new(Signals::default());
        scene.run(20, 64, |_| (0, 0));
        assert!((10..=13).contains(&scene.census.loans_max), "{}", scene.census.loans_max);
        scene.run(120, 64, |_| (0, 0));
        assert_eq!(scene.census.loans, 64);
    }

    #[test]
    fn loans_that_cost_the_others_nothing_go_on() {
        let mut scene = Scene::new(Signals { user_cpu_share: Some(0.9), ..Signals::default() });
        scene.run(200, 64, |_| (370, 0));
        assert_eq!(scene.census.loans, 64);
    }

    #[test]
    fn a_server_that_loses_throughput_is_not_loaded_further() {
        for ended in [
            // What was not on loan suffers,
            |loans: usize| (if loans > 12 { 200 } else { 400 }, 0),
            // or all is on loan, as in a collapse.
            |loans: usize| (0, if loans > 12 { 200 } else { 400 }),
        ] {
            let mut scene = Scene::new(calm());
            scene.run(300, 500, ended);
            assert!(scene.census.loans_max <= 12, "{}", scene.census.loans_max);
            let held = scene.census.loans_max;
            assert!(scene.loans.no_step_until > scene.now && held >= 10, "{held}");
        }
    }

    #[test]
    fn a_few_completions_more_or_less_tell_nothing() {
        let mut scene = Scene::new(Signals::default());
        scene.run(200, 64, |loans| (if loans > 8 { 10 } else { 40 }, 0));
        assert_eq!(scene.census.loans, 64);
    }

    #[test]
    fn a_step_that_cost_throughput_is_tried_again_after_a_while() {
        let mut scene = Scene::new(calm());
        scene.run(100, 500, |loans| (if loans > 8 { 100 } else { 400 }, 0));
        assert_eq!(scene.census.loans_max, LIMIT);
        scene.run(400, 500, |_| (400, 0));
        assert!(scene.census.loans_max > LIMIT);
    }

    #[test]
    fn a_busy_server_in_which_nothing_ends_gets_no_more() {
        let mut scene = Scene::new(Signals { user_cpu_share: Some(0.9), ..Signals::default() });
        scene.run(600, 64, |_| (10, 10));
        assert_eq!(scene.loans.most, None);
    }

    #[test]
    fn short_work_that_a_busy_server_has_stopped_doing_is_given_a_few_steps() {
        let busy = Signals { user_cpu_share: Some(0.9), ..Signals::default() };
        let mut scene = Scene::new(busy);
        scene.run(50, 0, |_| (370, 0));
        // Twelve sorts at a limit of 8, and what is left of short work.
        scene.run(100, 12, |loans| (if loans >= 12 { 80 } else { 10 }, 10));
        assert_eq!(scene.census.loans, 12);
        let mut scene = Scene::new(busy);
        scene.run(50, 0, |_| (370, 0));
        // A collapse: more of it brings nothing back.
        scene.run(120, 500, |_| (10, 10));
        assert_eq!(scene.loans.most, None);
        assert!(scene.loans.no_step_until > scene.now);
    }

    #[test]
    fn little_memory_stops_it() {
        let mut scene = Scene::new(calm());
        scene.run(20, 500, |_| (0, 0));
        assert!(scene.census.loans_max > LIMIT);
        (scene.signals.memory_free, scene.signals.memory_used) = (Some(99.0), Some(901.0));
        scene.run(1, 500, |_| (0, 0));
        assert_eq!(scene.loans.most, None);
        (scene.signals.memory_free, scene.signals.memory_used) = (Some(500.0), Some(500.0));
        scene.run(290, 500, |_| (0, 0));
        assert_eq!(scene.loans.most, None, "held for half a minute");
        scene.run(20, 500, |_| (0, 0));
        assert!(scene.census.loans_max > LIMIT);
    }

    #[test]
    fn what_nobody_wants_any_more_sinks_back_but_not_below_what_is_out() {
        let mut scene = Scene::new(calm());
        scene.run(100, 100, |_| (0, 0));
        assert_eq!(scene.census.loans, 100);
        scene.census.loans = 0;
        scene.run(400, 20, |_| (370, 0));
        assert_eq!(scene.census.loans_max, 20);
        scene.census.loans = 0;
        scene.run(200, 0, |_| (370, 0));
        assert_eq!(scene.loans.most, None);
    }
}
