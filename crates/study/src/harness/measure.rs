//! A published study from its first run to its last: what is missing is measured, and each run is kept as soon as it is whole.

use super::course::{self, Block, Course, go_through};
use super::plan::{Part, Plan, Run, keep, read};
use super::study::{Event, Notify, Order, Study};
use crate::store::{Attempt, StoreError, StudyFolder, add};
use evenkeel_core::Nanos;
use evenkeel_core::caveat::{Caveat, Severity};
use evenkeel_core::disturbance::{Disturbance, repeats_allowed};
use evenkeel_os::Stop;
use evenkeel_os::clock::unix_time;

/// More runs of a part than anybody waits for: such a plan was edited.
const RUNS_MAX: usize = 100_000;

/// Measures what is missing in a folder; whether all came to its end, or somebody asked to stop. Finished runs stay whatever
/// becomes of the rest.
pub fn measure<S: Study + ?Sized>(
    study: &mut S,
    folder: &StudyFolder,
    stop: &Stop,
    tell: Notify<'_>,
) -> Result<bool, S::Error> {
    let plan = plan_of(folder)?;
    go_through(&mut Parts::of(study, &plan, folder, tell)?, stop)
}

/// Whether there is nothing left to measure in a folder, which nothing has to be started for.
pub fn is_complete<S: Study + ?Sized>(study: &mut S, folder: &StudyFolder) -> Result<bool, S::Error> {
    let plan = plan_of(folder)?;
    course::is_complete(&mut Parts::of(study, &plan, folder, &mut |_| {})?)
}

/// Runs of a study that are missing, of the parts that are wanted by what is known.
pub fn unfinished<S: Study + ?Sized>(study: &S, plan: &Plan, runs: &[Run]) -> Option<Caveat> {
    let wanted: Vec<&Part> = plan.parts.iter().filter(|part| study.wants(part, runs)).collect();
    let planned: usize = wanted.iter().map(|part| part.runs()).sum();
    let done = runs.iter().filter(|run| wanted.iter().any(|part| part.name == run.part)).count();
    let text = format!("Unfinished: {done} of {planned} runs are done.");
    (done < planned).then(|| {
        Caveat::new("incomplete", Severity::Note, text)
            .with("runs_done", done as f64)
            .with("runs_planned", planned as f64)
    })
}

/// The plan of a folder, as far as it is one that a study may have made: a plan that somebody edited must neither fill the memory with combinations
/// nor name folders elsewhere.
pub fn plan_of(folder: &StudyFolder) -> Result<Plan, StoreError> {
    let plan: Plan = folder.read("plan.json")?;
    let unread = |text: String| StoreError::Unread { path: folder.path().join("plan.json"), text };
    if let Some(part) = plan.parts.iter().find(|part| !part.is_named_well()) {
        let text = format!("part {:?} or a level of it has a name that no folder may have", part.name);
        return Err(unread(text));
    }
    // Combinations are made of a part without repeats too.
    let runs = |part: &Part| Part { repeats: part.repeats.max(1), ..part.clone() }.runs();
    match plan.parts.iter().find(|part| runs(part) > RUNS_MAX) {
        None => Ok(plan),
        Some(part) => {
            let text = format!("part {} has {} runs, and {RUNS_MAX} are the most", part.name, runs(part));
            Err(unread(text))
        }
    }
}

struct Parts<'a, S: ?Sized> {
    study: &'a mut S,
    plan: &'a Plan,
    folder: &'a StudyFolder,
    runs: Vec<Run>,
    tell: Notify<'a>,
    /// Place of the part under way.
    at: usize,
    /// How many of its blocks were begun, once it is known to be wanted.
    blocks: Option<u32>,
    /// Place of the part that is prepared, and how many of its runs were missing then.
    prepared: Option<(usize, usize)>,
}

/// Place of the part, level of each factor, repeat.
type Key = (usize, Vec<String>, u32);

impl<'a, S: Study + ?Sized> Parts<'a, S> {
    fn of(
        study: &'a mut S,
        plan: &'a Plan,
        folder: &'a StudyFolder,
        tell: Notify<'a>,
    ) -> Result<Self, StoreError> {
        let runs = read(folder)?;
        Ok(Self { study, plan, folder, runs, tell, at: 0, blocks: None, prepared: None })
    }

    /// The next block of the part under way: every combination of levels once.
    fn next_block(&mut self, part: &Part) -> Option<Vec<Key>> {
        let repeat = self.blocks.filter(|blocks| *blocks < part.repeats)? + 1;
        self.blocks = Some(repeat);
        Some(part.block(self.plan.seed, repeat).into_iter().map(|levels| (self.at, levels, repeat)).collect())
    }

    /// As many as may be made again by the end of this repeat of the part.
    fn retries_in_all(&self, part: &Part, repeat: u32) -> u32 {
        let runs = u32::try_from(part.runs()).unwrap_or(u32::MAX);
        let own = self.runs.iter().filter(|run| run.part == part.name);
        let set_aside = own.map(|run| u32::try_from(run.attempts_set_aside()).unwrap_or(u32::MAX));
        repeats_allowed(runs, repeat, part.repeats).saturating_sub(set_aside.sum())
    }

    /// For all that is still to come, at most: later parts as far as they are wanted by what is known now.
    fn left_s(&self) -> f64 {
        let later = self.plan.parts.iter().enumerate().skip(self.at);
        let wanted = later.filter(|(at, part)| *at == self.at || self.study.wants(part, &self.runs));
        self.left(wanted.flat_map(|(at, part)| self.keys(at, part))).as_secs_f64()
    }

    fn keys(&self, at: usize, part: &Part) -> impl Iterator<Item = Key> {
        part.order(self.plan.seed).into_iter().map(move |(levels, repeat)| (at, levels, repeat))
    }
}

impl<S: Study + ?Sized> Course for Parts<'_, S> {
    type Error = S::Error;
    type Key = Key;
    type Run = Run;

    fn runs(&self) -> &[Run] {
        &self.runs
    }

    fn is(&self, run: &Run, (at, levels, repeat): &Key) -> bool {
        run.is(&self.plan.parts[*at].name, levels, *repeat)
    }

    fn takes(&self, (at, levels, _): &Key) -> Nanos {
        Nanos::from_secs_f64(self.study.takes_s(&self.plan.parts[*at], levels))
    }

    fn next(&mut self) -> Result<Option<Block<Key>>, S::Error> {
        let plan = self.plan;
        while let Some(part) = plan.parts.get(self.at) {
            // Whether it is wanted is asked once, by what is known before it.
            self.blocks = self.blocks.or_else(|| self.study.wants(part, &self.runs).then_some(0));
            if let Some(keys) = self.next_block(part) {
                let retries_in_all = self.retries_in_all(part, self.blocks.unwrap_or(0));
                return Ok(Some(Block { keys, retries: self.study.retries(), retries_in_all }));
            }
            (self.at, self.blocks) = (self.at + 1, None);
        }
        Ok(None)
    }

    fn make(&mut self, (at, levels, repeat): &Key, attempt: u32) -> Result<bool, S::Error> {
        let part = &self.plan.parts[*at];
        let missing = self.keys(*at, part).filter(|key| self.finished(key).is_none()).count();
        if self.prepared.is_none_or(|(prepared, _)| prepared != *at) {
            self.study.prepare(part, &self.runs, self.tell)?;
            self.prepared = Some((*at, missing));
        }
        let order = Order { part, levels, repeat: *repeat, attempt };
        if attempt == 1 {
            let of = self.prepared.map_or(0, |(_, of)| of);
            let left_s = self.left_s();
            (self.tell)(Event::RunBegins { run: order.name(), number: of + 1 - missing, of, left_s });
        }
        let started_unix_s = unix_time().as_secs();
        let Some(run) = self.study.run(&order, self.tell)? else { return Ok(false) };
        let (part, levels, repeat) = (part.name.clone(), levels.clone(), *repeat);
        let run = Run { part, levels, repeat, attempt, started_unix_s, ..run };
        keep(self.folder, &run)?;
        add(&mut self.runs, run);
        Ok(true)
    }

    fn again(&mut self, (at, levels, repeat): &Key, attempt: u32, because: Disturbance) {
        let run = Run::name(&self.plan.parts[*at].name, levels, *repeat);
        (self.tell)(Event::Step(format!("{run}: attempt {attempt}, since it was disturbed ({because})")));
    }
}
