//! The records of all days, made once from the seed of the study.

use crate::harness::{Event, Notify};
use crate::published::{PublishedError, Result, Scratch, While, Workplace};
use evenkeel_core::random::Seed;
use evenkeel_haul::dispatch::Day;
use evenkeel_haul::generate::{self, Dirt, LAYOUT, Spec};
use evenkeel_haul::layout::{self, LayoutFile};
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::PathBuf;

const FIRST: &str = "20260801";

pub(super) struct Files {
    /// Where fields lie.
    pub layout: LayoutFile,
    pub days: Vec<DayFile>,
    /// Folder for what only runs need.
    pub scratch: Scratch,
}

pub(super) struct DayFile {
    /// The day, as `yyyymmdd`.
    pub day: String,
    /// Where they are.
    pub path: PathBuf,
    /// Records in the file, repeats among them.
    pub records: u64,
}

impl DayFile {
    pub fn input(&self) -> PathBuf {
        self.path.clone()
    }
}

impl Files {
    pub fn make(
        workplace: &Workplace<'_>,
        scratch: Scratch,
        (records, days): (u64, u32),
        seed: Seed,
        tell: Notify<'_>,
    ) -> Result<Self> {
        let path = scratch.path().join("calls.toml");
        fs::write(&path, LAYOUT).doing(|| format!("writing {}", path.display()))?;
        let layout = layout::read(&path).doing(|| "reading the layout of the records")?;
        let first = Day::parse(FIRST).map_or(0, Day::number);
        let mut all = Vec::new();
        for place in 0..u64::from(days) {
            tell(Event::Step(format!("making the records of day {} of {days}", place + 1)));
            let day = Day::of_number(first + i64::try_from(place).unwrap_or(0)).compact();
            let path = scratch.path().join(format!("calls-{day}"));
            let spec = Spec {
                records,
                day: day.parse().doing(|| "naming a day")?,
                first: 1 + place * records,
                dirt: Dirt::none(),
                seed: seed.child("day").numbered(place),
            };
            let failed = || format!("writing {}", path.display());
            let mut out = BufWriter::new(File::create(&path).doing(failed)?);
            generate::generate(&spec, &mut out, &mut |_| !workplace.stop.is_set()).doing(failed)?;
            all.push(DayFile { day, path, records });
        }
        match workplace.stop.is_set() {
            true => Err(PublishedError::wrong("stopped while records were made")),
            false => Ok(Self { layout, days: all, scratch }),
        }
    }

    pub fn records(&self) -> u64 {
        self.days.iter().map(|day| day.records).sum()
    }
}
