//! What the databases do: the load, the selects, one beside the other, and both while the host spins.

use super::places::{Place, Places, go_outside, note, watch};
use super::setting::{PLACES, Setting};
use crate::harness::{Event, Notify, Run};
use crate::interfere::tables::{Block, SELECTS, TAG, create, fill};
use crate::published::{At, Result, While, joined, timed};
use evenkeel_os::clock::monotonic;
use evenkeel_os::cpu::Affinity;
use evenkeel_os::process::{Birth, Owned};
use evenkeel_site::server::{Control, TargetError};
use std::mem::discriminant;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// What a client has a server do.
#[derive(Clone, Copy)]
pub enum Work {
    /// Loads so many rows into an empty table.
    Load(&'static str, u64),
    Select,
}

impl Work {
    fn ready(self, control: &mut Control) -> Result<(), TargetError> {
        if let Self::Load(table, _) = self {
            control.exec(&format!("DROP TABLE IF EXISTS {table}"))?;
            control.exec(&create(table))?;
        }
        Ok(())
    }

    fn once(
        self,
        control: &mut Control,
        blocks: &[Block],
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), TargetError> {
        match self {
            Self::Load(table, rows) => fill(control, table, rows, blocks, goes_on),
            Self::Select => {
                SELECTS.iter().take_while(|_| goes_on()).try_for_each(|sql| control.exec(sql).map(drop))
            }
        }
    }
}

/// Has servers work at once, each for a client of its own; the seconds that each took.
pub fn at_once(
    at: &At<'_, Setting>,
    places: &Places,
    works: &[(usize, Work)],
    run: &mut Run,
) -> Result<Vec<f64>> {
    let (stop, blocks) = (at.workplace.stop, places.blocks.as_slice());
    for (place, work) in works {
        work.ready(&mut places.all[*place].control(stop)?)?;
    }
    let kinds = works.iter().map(|(_, work)| discriminant(work));
    let is_same = kinds.clone().zip(kinds.skip(1)).all(|(one, other)| one == other);
    let left = AtomicUsize::new(works.len());
    let watched = watch(places, &[])?;
    let work = |place: &Place, work: Work| -> Result<f64> {
        go_outside();
        let done = place.control(stop).and_then(|mut control| {
            let once = timed(|| Ok(work.once(&mut control, blocks, &|| !stop.is_set())?));
            Ok((control, once?.1))
        });
        left.fetch_sub(1, Ordering::Relaxed);
        let (mut control, seconds) = done?;
        // The other one has its neighbour to the end. One of the same work is about to be done too.
        let goes_on = || left.load(Ordering::Relaxed) > 0 && !stop.is_set();
        while !is_same && goes_on() {
            work.ready(&mut control)?;
            work.once(&mut control, blocks, &goes_on)?;
        }
        Ok(seconds)
    };
    let seconds = std::thread::scope(|scope| {
        let start = |(place, what): &(usize, Work)| {
            let (work, place, what) = (&work, &places.all[*place], *what);
            scope.spawn(move || work(place, what))
        };
        let working: Vec<_> = works.iter().map(start).collect();
        working.into_iter().map(joined).collect::<Result<Vec<f64>>>()
    })?;
    note(&watched, run);
    Ok(seconds)
}

/// Fills the tables of all places that have not as many rows as they should.
pub fn filled(at: &At<'_, Setting>, places: &Places, tell: Notify<'_>) -> Result<()> {
    for (place, name) in places.all.iter().zip(PLACES) {
        let mut control = place.control(at.workplace.stop)?;
        let rows = control.query_value(&format!("SELECT COUNT(*) FROM {TAG}"));
        let has = rows.ok().flatten().and_then(|rows| rows.parse::<u64>().ok());
        if has != Some(at.setting.rows(1)) {
            tell(Event::Step(format!("filling the table of {name}")));
            let load = Work::Load(TAG, at.setting.rows(1));
            load.ready(&mut control)?;
            load.once(&mut control, &places.blocks, &|| !at.workplace.stop.is_set())?;
        }
    }
    Ok(())
}

/// Rows of this query are in memory, and it takes about a millisecond.
const QUERY: &str =
    "SELECT COUNT(*), AVG(c07), MAX(c13) FROM tag WHERE run = 1 AND event < 2000 AND c01 BETWEEN 200 AND 900";
/// Before anything is counted the spinning goes on for so long.
const WARM_UP: Duration = Duration::from_millis(500);
const QUERIES_MIN: u32 = 3;

/// Processes of the host that spin on its first CPU until this is dropped.
struct Spinning(Vec<Owned>);

impl Spinning {
    fn start(level: &str) -> Result<Self> {
        let (count, nice) = level.parse::<u32>().map_or((1, "-20"), |count| (count, "0"));
        let mut all = Self(Vec::new());
        for _ in 0..count {
            let mut spin = Command::new("nice");
            spin.args(["-n", nice, "/bin/sh", "-c", "while :; do :; done"]).stdin(Stdio::null());
            // A session each: else the scheduler may give all of them the part of one.
            let affinity = Some(Affinity::of([0]));
            Birth { session: true, dies_with_us: true, affinity, ..Birth::default() }.of(&mut spin);
            all.0.push(Owned(spin.spawn().doing(|| "starting a process that spins")?));
        }
        // Where sessions are scheduled as groups, the group has the priority.
        let group = |child: &Owned| std::fs::write(format!("/proc/{}/autogroup", child.0.id()), nice);
        let _ = all.0.iter().try_for_each(group);
        Ok(all)
    }
}

/// Both guests query while the host spins.
pub fn starve(at: &At<'_, Setting>, places: &Places, level: &str, run: &mut Run) -> Result<()> {
    let (stop, seconds) = (at.workplace.stop, at.setting.seconds);
    let controls = places.all[1..].iter().map(|place| place.control(stop));
    let mut controls = controls.collect::<Result<Vec<Control>>>()?;
    controls.iter_mut().try_for_each(|control| control.exec(QUERY).map(drop))?;
    let spinning = Spinning::start(level)?;
    std::thread::sleep(WARM_UP);
    let pids: Vec<u32> = spinning.0.iter().map(|child| child.0.id()).collect();
    let watched = watch(places, &pids)?;
    let query = |mut control: Control| -> Result<f64> {
        go_outside();
        let (mut queries, began) = (0, monotonic());
        loop {
            control.exec(QUERY)?;
            queries += 1;
            let took_s = (monotonic() - began).as_secs_f64();
            if queries >= QUERIES_MIN && took_s >= seconds {
                return Ok(f64::from(queries) / took_s);
            }
        }
    };
    let rates = std::thread::scope(|scope| {
        let start = |control| scope.spawn(|| query(control));
        let working: Vec<_> = controls.into_iter().map(start).collect();
        working.into_iter().map(joined).collect::<Result<Vec<f64>>>()
    })?;
    let spun = note(&watched, run);
    run.set("spin_percent", spun);
    run.set("queries_per_s", rates.iter().sum::<f64>());
    run.set("a_over_b", rates[0] / rates[1]);
    Ok(())
}
