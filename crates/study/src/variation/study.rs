//! The study as the harness makes it: runs of all parts on servers that should be alike.

use super::bed::{Bed, Key, VIA, Wanted};
use super::figures::{CARRIED, FIGURES};
use super::parts::{LOAD, POOL, RATE, STATEMENT, TARGET};
use super::record::Setting;
use super::round::Round;
use super::{facts, judge, parts};
use crate::harness::{Event, Figure, Judgement, Notify, Order, Part, Plan, Run, Study};
use crate::profile::StudyError;
use crate::published::{PublishedError, Result, While, Workplace, not_running, setting};
use evenkeel_core::arrivals::RATE_MAX;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Far beyond any share of a load or of tables that a study has.
const PERCENT_MAX: f64 = 10_000.0;

/// The study, whose servers start when the first run needs them.
pub struct Variation<'a> {
    workplace: Workplace<'a>,
    plan: Plan,
    setting: Setting,
    bed: Option<Bed<'a>>,
    /// What a server carries about, by part and statement: found once, and kept with each run, so that a study that goes on has the same rates.
    carried: RefCell<BTreeMap<String, f64>>,
}

impl<'a> Variation<'a> {
    pub fn of(workplace: Workplace<'a>, plan: &Plan) -> Result<Self> {
        let setting = setting(plan)?;
        Ok(Self { workplace, plan: plan.clone(), setting, bed: None, carried: RefCell::default() })
    }

    fn keys(&self, order: &Order<'_>) -> Result<Vec<Key>> {
        let via = match order.level(parts::LAYOUT) {
            "" => VIA.to_owned(),
            layout => layout.to_owned(),
        };
        let key = |target: usize| Key { target, via: via.clone() };
        if self.setting.duet {
            return Ok((0..self.setting.targets.len()).map(key).collect());
        }
        let named = order.level(TARGET);
        let found = self.setting.targets.iter().position(|target| target.name == named);
        Ok(vec![key(found.ok_or_else(|| PublishedError::unreadable("target"))?)])
    }

    fn wanted(&self, order: &Order<'_>, key: &Key) -> Result<Wanted> {
        let percent = match order.level(parts::POOL_PERCENT) {
            "" => self.setting.pool_percent,
            level => number(level, PERCENT_MAX).ok_or_else(|| PublishedError::unreadable("pool"))?,
        };
        let is_private = self.setting.targets.get(key.target).is_some_and(|target| target.is_private());
        Ok(Wanted {
            key: key.clone(),
            start: self.setting.start_and_run(order.repeat).0,
            pool_percent: is_private.then_some(percent),
            pool_of: pool_of(&order.part.name),
            workload: parts::workload(&self.setting, &order.part.name, order.level(STATEMENT)).to_owned(),
            group: parts::group(&self.setting, &order.part.name).to_owned(),
        })
    }

    fn round<'b>(&'b self, order: &Order<'_>, keys: Vec<Key>, what: &str) -> Result<Round<'b, 'a>> {
        let bed = self.bed.as_ref().ok_or_else(not_running)?;
        // Runs of the same repeat and rate ask the same of every target.
        let levels = order.part.factors.iter().zip(order.levels).filter(|(factor, _)| factor.name != TARGET);
        let levels: String = levels.map(|(_, level)| format!("-{level}")).collect();
        let name = format!("{what}{}{levels}-{}", order.part.name, order.repeat);
        let is_beyond = order.level(LOAD).parse().is_ok_and(|percent: f64| percent > 100.0);
        let is_refused = order.part.name == parts::SIMPLE && is_beyond;
        Ok(Round { bed, setting: &self.setting, keys, name, is_refused, stop: self.workplace.stop })
    }

    /// The rate of a run, and what a server carries where the rate follows from that; `None` where somebody asked to stop.
    fn rate(&mut self, order: &Order<'_>, tell: Notify<'_>) -> Result<Option<(f64, Option<f64>)>> {
        if !order.level(RATE).is_empty() {
            return Ok(Some((
                number(order.level(RATE), RATE_MAX).ok_or_else(|| PublishedError::unreadable("rate"))?,
                None,
            )));
        }
        let percent =
            number(order.level(LOAD), PERCENT_MAX).ok_or_else(|| PublishedError::unreadable("load"))?;
        let asked = format!("{} {}", order.part.name, order.level(STATEMENT));
        let known = self.carried.borrow().get(&asked).copied();
        let carried = match known {
            Some(carried) => carried,
            None => {
                let Some(carried) = self.look(order, tell)? else { return Ok(None) };
                self.carried.borrow_mut().insert(asked, carried);
                carried
            }
        };
        Ok(Some(((carried * percent / 100.0).max(1.0), Some(carried))))
    }

    /// What a server carries about, of the levels that carry least: at a share of what others carry those would be in overload.
    fn look(&mut self, order: &Order<'_>, tell: Notify<'_>) -> Result<Option<f64>> {
        let mut wanted: Vec<Wanted> =
            self.keys(order)?.iter().map(|key| self.wanted(order, key)).collect::<Result<_>>()?;
        let pools = order.part.levels(parts::POOL_PERCENT).iter();
        let smallest = pools.filter_map(|level| level.name.parse::<f64>().ok()).reduce(f64::min);
        let script = order.part.levels(parts::LAYOUT).iter().find(|level| level.name == "script");
        let bed = self.bed.as_mut().ok_or_else(not_running)?;
        for one in &mut wanted {
            one.pool_percent = one.pool_percent.map(|percent| smallest.unwrap_or(percent));
            if let Some(script) = script {
                one.key.via.clone_from(&script.name);
            }
            bed.begin(one, tell)?;
        }
        tell(Event::Step("a first look at what a server carries".to_owned()));
        let keys = wanted.into_iter().map(|one| one.key).collect();
        let Some(carried) = self.round(order, keys, "look-")?.carried()? else { return Ok(None) };
        match carried > 0.0 {
            true => Ok(Some(carried)),
            false => Err(PublishedError::wrong("a first look at the server had no answer at all")),
        }
    }

    fn measured(&mut self, order: &Order<'_>, tell: Notify<'_>) -> Result<Option<Run>> {
        let known = self.carried.borrow().len();
        let Some((rate, carried)) = self.rate(order, tell)? else { return Ok(None) };
        // A server that was started for a first look is warmed up as any other.
        let mut is_cold = self.carried.borrow().len() > known;
        let keys = self.keys(order)?;
        let wanted: Result<Vec<Wanted>> = keys.iter().map(|key| self.wanted(order, key)).collect();
        let wanted = wanted?;
        let bed = self.bed.as_mut().ok_or_else(not_running)?;
        for one in &wanted {
            is_cold |= bed.begin(one, tell)?;
        }
        if is_cold && !self.round(order, keys.clone(), "warm-")?.warm_up(rate)? {
            return Ok(None);
        }
        self.round(order, keys, "")?.run(rate, carried)
    }
}

impl Study for Variation<'_> {
    type Error = PublishedError;

    fn figures(&self) -> &'static [Figure] {
        &FIGURES
    }

    /// Also takes in what earlier runs of the part say that a server carries.
    fn wants(&self, part: &Part, runs: &[Run]) -> bool {
        let place = part.place(STATEMENT);
        for run in runs.iter().filter(|run| run.part == part.name) {
            let statement = place.and_then(|place| run.levels.get(place)).map_or("", String::as_str);
            if let Some(carried) = run.figure(CARRIED) {
                self.carried.borrow_mut().insert(format!("{} {statement}", part.name), carried);
            }
        }
        true
    }

    fn retries(&self) -> u32 {
        0
    }

    fn takes_s(&self, part: &Part, _: &[String]) -> f64 {
        parts::takes_s(&self.setting, part)
    }

    fn whole_s(&self, plan: &Plan) -> f64 {
        let of_part = |part: &Part| part.runs() as f64 * parts::takes_s(&self.setting, part);
        parts::data_s(&self.setting, &plan.parts) + plan.parts.iter().map(of_part).sum::<f64>()
    }

    /// All targets are filled and looked at before the first run, so that those that are not alike are refused then.
    fn prepare(&mut self, part: &Part, _: &[Run], tell: Notify<'_>) -> Result<()> {
        if part.place(RATE).is_none() && self.setting.targets.iter().any(|target| !target.is_here()) {
            return Err(PublishedError::with_hint(
                "the limit of your own server is not searched, since that could slow down its other users",
                "give the rates by rate=20,40",
            ));
        }
        let bed = self.bed.get_or_insert_with(|| {
            Bed::new(self.workplace, &self.plan.identity(), &self.setting, self.plan.seed)
        });
        let mut vias: Vec<String> =
            part.levels(parts::LAYOUT).iter().map(|level| level.name.clone()).collect();
        if vias.is_empty() {
            vias.push(VIA.to_owned());
        }
        let of_via = |via: &String| -> Vec<Key> {
            (0..self.setting.targets.len()).map(|target| Key { target, via: via.clone() }).collect()
        };
        let keys: Vec<Key> = vias.iter().flat_map(of_via).collect();
        bed.rest(&keys, tell)?;
        for key in &keys {
            let is_private = self.setting.targets[key.target].is_private();
            let pool_percent = is_private.then_some(self.setting.pool_percent).filter(|_| part.name != POOL);
            let group = parts::group(&self.setting, &part.name).to_owned();
            let workload = parts::workload(&self.setting, &part.name, "").to_owned();
            let pool_of = pool_of(&part.name);
            bed.begin(&Wanted { key: key.clone(), start: 0, pool_percent, pool_of, workload, group }, tell)?;
        }
        let records: Result<Vec<_>> = keys
            .iter()
            .map(|key| Ok((self.setting.targets[key.target].words(), &bed.standing(key)?.record)))
            .collect();
        let records = records?;
        facts::each_once(&records, &|one, other| bed.is_one(&keys[one], &keys[other]))?;
        judge::check(&records, self.setting.may_differ, part.place(parts::LAYOUT).is_some())?;
        let rates = rates(part);
        for key in &keys {
            let standing = bed.standing(key)?;
            let workload = standing.workload.as_ref();
            if let Some(text) = standing.server.announced(workload, &rates, self.workplace.stop)? {
                tell(Event::Step(text));
            }
        }
        Ok(())
    }

    fn run(&mut self, order: &Order<'_>, tell: Notify<'_>) -> Result<Option<Run>> {
        match self.measured(order, tell) {
            Ok(run) => Ok(run),
            // Whatever was under way then ended because somebody asked to stop.
            Err(error) if self.workplace.stop.is_set() && !is_of_server(&error) => Ok(None),
            Err(error) => Err(error).doing(|| format!("measuring {}", order.name())),
        }
    }

    fn judge(&self, plan: &Plan, runs: &[Run]) -> Judgement {
        super::judge(plan, &self.setting, runs)
    }
}

/// The rates of a part, as they are announced to servers of the user's.
fn rates(part: &Part) -> String {
    let rates: Vec<String> = part.levels(RATE).iter().map(|level| format!("{}/s", level.name)).collect();
    format!("rates: {}", rates.join(", "))
}

/// Layouts are compared with a pool of the same bytes, that of the dump.
fn pool_of(part: &str) -> Option<&'static str> {
    (part == parts::LAYOUT).then_some("dump")
}

/// Whether a server failed. A run that is given up because of that sets the switch by which somebody asks to stop.
fn is_of_server(error: &PublishedError) -> bool {
    let PublishedError::While { source, .. } = error else { return false };
    let own = source.downcast_ref::<StudyError>();
    own.is_some_and(|error| !error.is_stop() && !error.is_called_off())
        || source.downcast_ref::<PublishedError>().is_some_and(is_of_server)
}

/// A level that a server can be asked for; a plan that somebody changed may have any text in its place.
fn number(level: &str, most: f64) -> Option<f64> {
    level.parse().ok().filter(|number| *number > 0.0 && *number <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_a_number_that_a_server_can_be_asked_for() {
        assert_eq!((number("60", PERCENT_MAX), number("0.5", RATE_MAX)), (Some(60.0), Some(0.5)));
        for level in ["-50", "0", "nan", "inf", "1e99", "much", ""] {
            assert_eq!(number(level, RATE_MAX), None, "{level}");
        }
    }
}
