//! The records of all days, made once from the seed of the study, and how they become rows.

use super::record::{Setting, Way};
use crate::harness::{Event, Notify};
use crate::published::{At, Result, Scratch, While};
use evenkeel_core::random::Seed;
use evenkeel_haul::convert::Duplicates;
use evenkeel_haul::dispatch::Day;
use evenkeel_haul::generate::{self, Dirt, LAYOUT, Spec};
use evenkeel_haul::layout::{self, LayoutFile};
use evenkeel_haul::load::{Indexes, Job, Options, Warnings};
use evenkeel_haul::table::Table;
use evenkeel_haul::{HaulError, Progress, Step};
use evenkeel_os::clock::monotonic;
use evenkeel_os::stop::Stop;
use evenkeel_site::server::Target;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

pub const TABLE: &str = "calls";

pub struct Files {
    /// Where fields lie.
    pub layout: LayoutFile,
    pub days: Vec<DayFile>,
    /// Folder for what only runs need.
    pub(super) scratch: Scratch,
}

#[derive(Clone)]
pub struct DayFile {
    /// The day, as `yyyymmdd`.
    pub day: String,
    pub path: PathBuf,
}

/// How a load is made: when its indexes, and by how many bytes of a file in one transaction.
#[derive(Clone, Copy)]
pub struct Plan {
    pub way: Way,
    pub indexes: Indexes,
    pub part_bytes: u64,
}

pub fn inputs(days: &[DayFile]) -> Vec<PathBuf> {
    days.iter().map(|day| day.path.clone()).collect()
}

impl Files {
    pub fn make(at: &At<'_, Setting>, tell: Notify<'_>) -> Result<Self> {
        let scratch = Scratch::of_study(&at.workplace, &at.plan.private_name())?;
        let path = scratch.path().join("calls.toml");
        fs::write(&path, LAYOUT).doing(|| format!("writing {}", path.display()))?;
        let layout = layout::read(&path).doing(|| "reading the layout of the records")?;
        let mut files = Self { layout, days: Vec::new(), scratch };
        let (first, records) = (Day::parse("20260801").map_or(0, Day::number), at.setting.records);
        for place in 0..at.setting.days {
            tell(Event::Step(format!("making the records of day {} of {}", place + 1, at.setting.days)));
            let day = Day::of_number(first + i64::from(place)).compact();
            let path = files.scratch.path().join(format!("calls-{day}"));
            let spec = Spec {
                records,
                day: day.parse().doing(|| "naming a day")?,
                first: 1 + u64::from(place) * records,
                dirt: Dirt::none(),
                seed: Seed(at.plan.seed).child("day").numbered(place.into()),
            };
            let failed = || format!("writing {}", path.display());
            let mut out = BufWriter::new(File::create(&path).doing(failed)?);
            generate::generate(&spec, &mut out, &mut |_| !at.workplace.stop.is_set()).doing(failed)?;
            files.days.push(DayFile { day, path });
        }
        Ok(files)
    }

    /// The table of the records: the published one had indexes; ours are of who called, who was called, and when.
    pub fn table(&self, way: Way) -> Result<Table> {
        let indexes = ["calling", "called", "start"].map(|name| vec![name.to_owned()]);
        let made = Table::of(&self.layout.layout, 0, TABLE, way.engine, &indexes);
        Ok(made.map_err(HaulError::from)?)
    }

    /// Loads the records of these days; the rows, and seconds for indexes that came after them. `sent` counts bytes that went to the server.
    pub fn load(
        &self,
        (stop, target): (&Stop, &Target),
        plan: Plan,
        days: &[DayFile],
        sent: &AtomicU64,
    ) -> Result<(u64, f64)> {
        let rejects = self.scratch.path().join("rejects");
        let job = Job {
            file: &self.layout,
            inputs: inputs(days),
            target,
            tables: vec![self.table(plan.way)?],
            rejects: &rejects,
            duplicates: Duplicates::Keep,
            options: Options {
                connections: 1,
                indexes: plan.indexes,
                part_bytes: plan.part_bytes,
                warnings: Warnings::End,
                again: false,
            },
            sent,
            stop,
        };
        let mut indexes_at = None;
        let loaded = job.run(&mut |progress: &Progress| {
            if progress.step == Step::Indexes {
                indexes_at.get_or_insert(monotonic());
            }
        })?;
        let index_s = indexes_at.map_or(0.0, |at| (monotonic() - at).as_secs_f64());
        Ok((loaded.tally.lines.iter().sum(), index_s))
    }
}
