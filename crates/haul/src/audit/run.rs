//! An audit from its beginning to its report.

use super::after::{AfterLoad, Discrepancy, Found, Kind, Report};
use super::detail::Sides;
use super::early::Early;
use super::judge::{Excused, judge};
use super::records::{Noted, Records};
use super::sums::{BYTES, Entry, Of, Sums, Wanted, different};
use super::tables::Tables;
use super::{detail, refused};
use crate::convert::Duplicates;
use crate::dispatch::Day;
use crate::input::Identity;
use crate::layout::LayoutFile;
use crate::load::{self, Corrections};
use crate::{HaulError, Progress, Step, input, keys, locked, refused, table};
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Target};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Parts into which entries are sorted; each fits into memory.
const PARTS: usize = 256;
/// Entries on disk at once; a part of so many takes 12 MB.
const AT_ONCE: u64 = if cfg!(test) { 1000 } else { 32 << 20 };

pub struct Audit<'a> {
    pub file: &'a LayoutFile,
    pub record_type: usize,
    /// The files, in the order in which they are read.
    pub inputs: Vec<PathBuf>,
    pub target: &'a Target,
    /// Names of tables, and patterns of them; all together hold the records.
    pub tables: Vec<String>,
    /// The folder of the rejects files, or one file for all; `None` where nobody looks at them.
    pub rejects: Option<PathBuf>,
    /// What became of records that come twice, where the layout names a key.
    pub duplicates: Duplicates,
    /// What is left out where this follows a load; `None` where files are held against tables by hand.
    pub after: Option<AfterLoad>,
    /// Findings that get names.
    pub names: usize,
    /// A folder that exists, for what does not fit into memory; its files have no names.
    pub scratch: &'a Path,
    pub stop: &'a Stop,
}

/// What was found, of which the first by kind and place are kept.
#[derive(Default)]
struct Kept<'a> {
    most: usize,
    after: Option<&'a AfterLoad>,
    counts: BTreeMap<Kind, u64>,
    unchecked: u64,
    excused: Excused,
    first: BTreeSet<Found>,
}

impl Kept<'_> {
    fn add(&mut self, found: Found) {
        if self.after.is_some_and(|after| after.leaves_out(&found)) {
            self.unchecked += u64::from(found.kind == Kind::Lost);
            return;
        }
        // Rows of no record are told together where they are alike.
        let count = if found.kind == Kind::Foreign { found.times } else { 1 };
        *self.counts.entry(found.kind).or_default() += count;
        self.first.insert(found);
        if self.first.len() > self.most {
            self.first.pop_last();
        }
    }
}

impl Audit<'_> {
    pub fn run(self, tell: &(dyn Fn(&Progress) + Sync)) -> Result<Report, HaulError> {
        self.run_after(None, tell)
    }

    /// The same with the sums of a load that has read all files, as far as these are what they were.
    pub(crate) fn run_after(
        self,
        early: Option<&Early>,
        tell: &(dyn Fn(&Progress) + Sync),
    ) -> Result<Report, HaulError> {
        self.check_inputs()?;
        let of = &self.file.layout.types()[self.record_type];
        let mut control = Control::connect_until(self.target, self.stop)?;
        detail::prepare(&mut control)?;
        let tables = Tables::find(&mut control, &self.tables, of, self.after.is_none())?;
        let first = tables.found.first().map(|found| (self.record_type, found.name.as_str()));
        let file = table::with_timestamps(&mut control, self.file, first.as_slice())?;
        Audit { file: &file, ..self }.go(control, &tables, early, tell)
    }

    fn go(
        self,
        mut control: Control,
        tables: &Tables,
        early: Option<&Early>,
        tell: &(dyn Fn(&Progress) + Sync),
    ) -> Result<Report, HaulError> {
        let of = &self.file.layout.types()[self.record_type];
        let canon = tables.canon(&self.file.layout, of)?;
        if tables.are_utf8() {
            control.exec("SET character_set_results = NULL")?;
        }
        // Of one moment: what changes later is an error, and no finding.
        let identities = self.inputs.iter().map(|input| Identity::of(input)).collect();
        let frozen = detail::freeze(&mut control)?;
        let corrected = self.corrected(&mut control, tables)?;
        let records = Records {
            file: self.file,
            record_type: self.record_type,
            inputs: &self.inputs,
            identities,
            corrected: &corrected,
            canon: &canon,
            tables,
            has_keys: self.duplicates == Duplicates::Refuse,
            names_exactly: self.after.is_some(),
            stop: self.stop,
        };
        let total = self.inputs.iter().map(|input| Identity::of(input).map(|found| found.size)).sum();
        let rejects = self.rejects.as_deref();
        let sides = Sides { records: &records, tables, canon: &canon, rejects, total, tell };
        let (mut report, readings) = self.summed(&sides, &mut control, early)?;
        let has_snapshots = |table: &table::Found| table.engine.eq_ignore_ascii_case("InnoDB");
        report.snapshot = frozen.filter(|_| tables.found.iter().all(has_snapshots));
        let kept = self.gone_through(&sides, &mut control, &readings)?;
        if !kept.first.is_empty() {
            let found: Vec<Found> = kept.first.into_iter().collect();
            report.findings = detail::name(&sides, &mut control, &found)?;
        }
        let Excused { refused, retired } = kept.excused;
        (report.found, report.unchecked) = (kept.counts, kept.unchecked);
        for (day, missing) in retired {
            let day = Day::of_number(day.into());
            // Of a day that has a table again, more may be missing than went with the old one.
            let gone = missing.min(tables.retired.values().filter_map(|days| days.get(&day)).sum());
            report.retired += gone;
            if missing > gone {
                *report.found.entry(Kind::Lost).or_default() += missing - gone;
                report.findings.push(Discrepancy::of_day(day, missing, gone));
            }
        }
        report.lines -= refused + report.retired + report.unchecked;
        report.rejected += refused;
        let stored = corrected.iter().flat_map(|all| all.values()).filter_map(|each| each.stored.as_ref());
        report.corrected = stored.filter(|(of, _)| *of == self.record_type).count() as u64;
        Ok(report)
    }

    /// What came of the rejects of each input, which is known by its content.
    fn corrected(&self, control: &mut Control, tables: &Tables) -> Result<Vec<Corrections>, HaulError> {
        if !load::any_corrections(control)? {
            return Ok(Vec::new());
        }
        let names: Vec<&str> = tables.found.iter().map(|table| table.name.as_str()).collect();
        let of = |input: &PathBuf| Ok(load::corrections(control, &names, load::content(input)?)?);
        self.inputs.iter().map(of).collect()
    }

    fn check_inputs(&self) -> Result<(), HaulError> {
        keys::check_inputs(self.inputs.len())?;
        let mut places: BTreeMap<PathBuf, &Path> = BTreeMap::new();
        let place = |input: &Path| match self.rejects.as_deref() {
            Some(folder) if folder.is_dir() => refused::path(folder, input, &self.inputs),
            _ => PathBuf::from(input::stem(input)),
        };
        for input in &self.inputs {
            let name = |input: &Path| input.display().to_string();
            if !input.is_file() {
                let what = format!("{} is a pipe, and an audit reads its files more than once", name(input));
                return Err(refused(what, "keep it in a file first").into());
            }
            if let Some(first) =
                places.insert(place(input), input).filter(|_| self.rejects.is_some() && self.after.is_none())
            {
                let (first, second, stem) = (name(first), name(input), input::stem(input));
                let what = format!("{first} and {second} would both have their rejects in {stem}.rejects");
                return Err(refused(what, "audit them one by one").into());
            }
        }
        Ok(())
    }

    /// Sums up both sides; the buckets that differ, in as many readings as they take.
    fn summed(
        &self,
        sides: &Sides<'_>,
        control: &mut Control,
        early: Option<&Early>,
    ) -> Result<(Report, Vec<Wanted>), HaulError> {
        let (mut files, mut rows, mut listed) = (Sums::default(), Sums::default(), Sums::default());
        let mut other_types = 0;
        let early = early.filter(|early| early.is_of(sides.records));
        let mut add = |noted: &Noted| {
            other_types += noted.other_types;
            noted.entries.iter().for_each(|entry| files.add(entry));
            Ok(())
        };
        sides.sweep(
            (control, Step::Sums),
            None,
            early.is_none().then_some(&mut add),
            &mut |entry: &Entry| {
                listed.add(entry);
                Ok(())
            },
            &mut |entry: &Entry| {
                rows.add(entry);
                Ok(())
            },
        )?;
        rows.join(&listed);
        let (files, other_types) =
            early.map_or((&files, other_types), |early| (&early.sums, early.other_types));
        let lines = files.count(Of::Line);
        let rejected = files.count(Of::Repeat) + files.count(Of::Unfit);
        let report = Report {
            records: lines + rejected + other_types,
            other_types,
            lines,
            rejected,
            rows: rows.count(Of::Row),
            corrected: 0,
            retired: 0,
            unchecked: 0,
            tables: sides
                .tables
                .found
                .iter()
                .map(|table| (table.name.clone(), table.engine.clone()))
                .collect(),
            snapshot: None,
            rejects_checked: self.rejects.is_some(),
            found: BTreeMap::new(),
            findings: Vec::new(),
        };
        Ok((report, different(files, &rows, self.rejects.is_some(), AT_ONCE)))
    }

    /// Judges the records of all buckets that differ.
    fn gone_through(
        &self,
        sides: &Sides<'_>,
        control: &mut Control,
        readings: &[Wanted],
    ) -> Result<Kept<'_>, HaulError> {
        let after = self.after.as_ref();
        let mut kept = Kept { most: self.names, after, ..Kept::default() };
        for wanted in readings {
            let spill = Mutex::new(Spill::new(self.scratch, PARTS));
            let push = |entry: &Entry| {
                // Not a part of what tells the bucket, so that the parts are alike in size.
                let part = (entry.group >> 104) as usize % PARTS;
                locked(&spill).push(part, &entry.to_bytes())
            };
            sides.sweep(
                (control, Step::Differences),
                Some(wanted),
                Some(&mut |noted: &Noted| noted.entries.iter().try_for_each(push)),
                &mut |entry: &Entry| push(entry),
                &mut |entry: &Entry| push(entry),
            )?;
            let mut spill = spill.into_inner().unwrap_or_else(PoisonError::into_inner);
            for part in 0..PARTS {
                self.judge_part(spill.take(part)?, &mut kept);
            }
        }
        Ok(kept)
    }

    fn judge_part(&self, mut entries: Vec<[u8; BYTES]>, kept: &mut Kept<'_>) {
        entries.sort_unstable();
        let mut group = Vec::new();
        for alike in entries.chunk_by(|one, other| one[..16] == other[..16]) {
            group.clear();
            group.extend(alike.iter().filter_map(Entry::from_bytes));
            let so_far = std::mem::take(&mut kept.excused);
            kept.excused = judge(&group, so_far, self.rejects.is_some(), &mut |found| kept.add(found));
        }
    }
}

/// Bytes that a part keeps before they go to its file.
const KEPT: usize = 16 << 10;

/// Entries in one file for each part; a part without entries has none. The files go with it.
pub(super) struct Spill {
    home: PathBuf,
    parts: Vec<Part>,
}

#[derive(Default)]
struct Part {
    file: Option<File>,
    kept: Vec<u8>,
}

impl Spill {
    /// None yet; the files go into a folder that exists.
    pub fn new(home: &Path, parts: usize) -> Self {
        let parts = std::iter::repeat_with(Part::default).take(parts).collect();
        Self { home: home.to_owned(), parts }
    }

    pub fn push(&mut self, part: usize, entry: &[u8; BYTES]) -> Result<(), HaulError> {
        let kept = &mut self.parts[part].kept;
        kept.extend_from_slice(entry);
        if kept.len() >= KEPT { self.flush(part) } else { Ok(()) }
    }

    /// All entries of a part, in the order in which they came; its file is empty afterwards.
    pub fn take(&mut self, part: usize) -> Result<Vec<[u8; BYTES]>, HaulError> {
        let path = self.path(part);
        let Part { file, kept } = std::mem::take(&mut self.parts[part]);
        let mut bytes = Vec::new();
        if let Some(mut file) = file {
            file.seek(SeekFrom::Start(0)).map_err(HaulError::io("read", &path))?;
            file.read_to_end(&mut bytes).map_err(HaulError::io("read", &path))?;
        }
        bytes.extend(kept);
        Ok(bytes.as_chunks().0.to_vec())
    }

    fn flush(&mut self, part: usize) -> Result<(), HaulError> {
        let path = self.path(part);
        let Part { file, kept } = &mut self.parts[part];
        let file = match file {
            Some(file) => file,
            // Without a name, so that a kill leaves nothing behind.
            none => none.insert(tempfile::tempfile_in(&self.home).map_err(HaulError::io("write", &path))?),
        };
        file.write_all(kept).map_err(HaulError::io("write", &path))?;
        kept.clear();
        Ok(())
    }

    /// For errors alone.
    fn path(&self, part: usize) -> PathBuf {
        self.home.join(format!("audit-{part}"))
    }
}
