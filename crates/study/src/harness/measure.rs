//! From the first run to the last: what is missing is measured, and each run is kept as soon as it is whole.

use super::figure::Figure;
use super::judgement::Judgement;
use super::plan::{Part, Plan};
use super::run::{Run, keep, read};
use crate::store::{StoreError, StudyFolder};
use evenkeel_lab::data::DataProgress;
use evenkeel_os::stop::Stop;

/// A published study.
pub trait Study {
    /// Why it cannot go on.
    type Error: From<StoreError>;

    /// Its figures, in the order of columns.
    fn figures(&self) -> &'static [Figure];

    /// Whether a part is measured, by what is known before it. A part that was passed over is asked of again in a resume.
    fn wants(&self, part: &Part, runs: &[Run]) -> bool {
        let _ = (part, runs);
        true
    }

    /// How long a run takes at most, seconds; for the time that is told.
    fn takes_s(&self, part: &Part, levels: &[String]) -> f64;

    /// Puts up what the runs of a part need. It is called before the first run of a part that is missing.
    ///
    /// # Errors
    /// A server does not start, say.
    fn prepare(&mut self, part: &Part, tell: Tell<'_>) -> Result<(), Self::Error>;

    /// Makes a run; `None` where somebody asked to stop. The harness says which run it is.
    ///
    /// # Errors
    /// It cannot be measured.
    fn run(&mut self, order: &Order<'_>, tell: Tell<'_>) -> Result<Option<Run>, Self::Error>;

    /// What the runs say, of the published finding too.
    fn judge(&self, plan: &Plan, runs: &[Run]) -> Judgement;
}

/// Who is told what goes on.
pub type Tell<'a> = &'a mut dyn FnMut(Event);

/// Which run.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// Its part.
    pub part: &'a Part,
    /// Level of each factor of the part.
    pub levels: &'a [String],
    /// Repeat, from 1.
    pub repeat: u32,
}

impl Order<'_> {
    /// The level of a factor; empty where the part has no such factor.
    pub fn level(&self, factor: &str) -> &str {
        self.part.place(factor).and_then(|place| self.levels.get(place)).map_or("", String::as_str)
    }

    /// Its name, as that of its folder.
    pub fn name(&self) -> String {
        Run::name(&self.part.name, self.levels, self.repeat)
    }
}

/// What goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Something begins that has no measure.
    Step(String),
    /// Data is being written.
    Data(DataProgress),
    /// A run begins.
    RunBegins {
        /// Its name.
        run: String,
        /// Place among the missing runs of its part, from 1.
        number: usize,
        /// How many of them there are.
        of: usize,
        /// For all that is still to come, at most, seconds.
        left_s: f64,
    },
}

/// Runs that are not there yet, in their order.
pub fn missing(part: &Part, seed: u64, runs: &[Run]) -> Vec<(Vec<String>, u32)> {
    let is_there = |levels: &[String], repeat| runs.iter().any(|run| run.is(&part.name, levels, repeat));
    part.order(seed).into_iter().filter(|(levels, repeat)| !is_there(levels, *repeat)).collect()
}

/// Measures what is missing in a folder; whether all came to its end, or somebody asked to stop. Finished runs stay whatever
/// becomes of the rest.
///
/// # Errors
/// Those of the study, and of the disk.
pub fn measure<S: Study + ?Sized>(
    study: &mut S,
    folder: &StudyFolder,
    stop: &Stop,
    tell: Tell<'_>,
) -> Result<bool, S::Error> {
    let plan: Plan = folder.read("plan.json")?;
    let mut runs = read(folder)?;
    for (place, part) in plan.parts.iter().enumerate() {
        let orders = missing(part, plan.seed, &runs);
        if orders.is_empty() || !study.wants(part, &runs) {
            continue;
        }
        if stop.is_set() {
            return Ok(false);
        }
        study.prepare(part, tell)?;
        for (number, (levels, repeat)) in orders.iter().enumerate() {
            if stop.is_set() {
                return Ok(false);
            }
            let order = Order { part, levels, repeat: *repeat };
            let here = orders[number..].iter().map(|(levels, _)| study.takes_s(part, levels));
            let left_s = here.sum::<f64>() + later_s(study, &plan, &plan.parts[place + 1..], &runs);
            tell(Event::RunBegins { run: order.name(), number: number + 1, of: orders.len(), left_s });
            let Some(run) = study.run(&order, tell)? else { return Ok(false) };
            let run = Run { part: part.name.clone(), levels: levels.clone(), repeat: *repeat, ..run };
            keep(folder, &run)?;
            runs.push(run);
        }
    }
    Ok(true)
}

/// Of parts that come later, as far as they are wanted by what is known now.
fn later_s<S: Study + ?Sized>(study: &S, plan: &Plan, parts: &[Part], runs: &[Run]) -> f64 {
    let of = |part: &Part| {
        let missing = missing(part, plan.seed, runs);
        missing.iter().map(|(levels, _)| study.takes_s(part, levels)).sum::<f64>()
    };
    parts.iter().filter(|part| study.wants(part, runs)).map(of).sum()
}
