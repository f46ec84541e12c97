//! What was found gets its values from one more reading: keys, and what is another value in the table.

use super::after::{Changed, Discrepancy, Found, Kind};
use super::records::{Noted, Records, Take};
use super::refused;
use super::sums::{Entry, Of, Wanted};
use super::tables::{Canon, Scratch, Tables, values_of};
use crate::blocks::{Blocks, records};
use crate::input::Identity;
use crate::keys::Place;
use crate::{HaulError, Progress, Step, input, locked, session};
use evenkeel_site::server::{Control, TargetError};
use evenkeel_wire::record::RecordType;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

type Values = Vec<Option<Vec<u8>>>;

const SHOWN: usize = 80;

#[derive(Default)]
struct Known {
    records: BTreeMap<Place, Option<Values>>,
    /// By group and row.
    rows: BTreeMap<(u128, u128), Option<Values>>,
}

pub(super) fn name(
    sides: &Sides<'_>,
    control: &mut Control,
    found: &[Found],
) -> Result<Vec<Discrepancy>, HaulError> {
    let (mut records, mut rows) = (BTreeMap::new(), BTreeMap::new());
    for found in found {
        records.extend(found.record.filter(|_| found.kind != Kind::GarbledReject).map(|place| (place, None)));
        rows.extend(found.row.map(|(group, row, _)| ((group, row), None)));
    }
    let far = Far::default();
    let files = || read_records(sides, &far, &mut records);
    let tables = || read_rows(sides, control, &far, &mut rows);
    beside(&far.failed, files, tables)?;
    let known = Known { records, rows };
    Ok(found.iter().map(|found| finding(sides, found, &known)).collect())
}

/// Reads the inputs that have a record to be named, up to the last one.
fn read_records(
    sides: &Sides<'_>,
    far: &Far,
    wanted: &mut BTreeMap<Place, Option<Values>>,
) -> Result<(), HaulError> {
    let of = sides.records;
    for (number, (input, identity)) in (0_u32..).zip(of.inputs.iter().zip(&of.identities)) {
        let range = Place { input: number, offset: 0 }..Place { input: number + 1, offset: 0 };
        let (mut left, mut block) = (wanted.range(range).count(), Vec::new());
        if left == 0 {
            continue;
        }
        let opened = input::open(input, 0)?;
        let mut blocks = Blocks::new(opened.stream, of.file.separator, 0);
        while let Some(offset) = blocks.next(&mut block).map_err(HaulError::io("read", input))? {
            if of.stop.is_set() || far.failed.load(Ordering::Relaxed) {
                return Err(HaulError::Stopped { path: input.to_owned(), at: offset });
            }
            for (at, record) in records(&block, of.file.separator) {
                let place = Place { input: number, offset: offset + at as u64 };
                if let Some(values) = wanted.get_mut(&place) {
                    let record = of.correction(place).map_or(record, |correction| &correction.record);
                    *values = values_of(&of.file.layout, record).or_else(|| key_alone(sides, record));
                    left -= 1;
                }
            }
            (sides.tell)(&sides.progress(Step::Naming, far));
            if left == 0 {
                break;
            }
        }
        if Identity::of(input) != *identity {
            return Err(input::changed(input, 0));
        }
    }
    Ok(())
}

/// Of a record that does not fit: its fields as they stand in it, which is what there is to know it by.
fn key_alone(sides: &Sides<'_>, record: &[u8]) -> Option<Values> {
    let (layout, of) = (&sides.records.file.layout, record_type(sides));
    let kept = of.fields.iter().filter(|field| field.kept);
    Some(kept.map(|field| Some(layout.value(field, record).into_owned())).collect())
}

fn read_rows(
    sides: &Sides<'_>,
    control: &mut Control,
    far: &Far,
    wanted: &mut BTreeMap<(u128, u128), Option<Values>>,
) -> Result<(), HaulError> {
    if wanted.is_empty() {
        return Ok(());
    }
    let mut scratch = Scratch::default();
    for number in 0..sides.tables.found.len() {
        control.for_each_row_sent(sides.tables.select_of(number), &mut |row| {
            if far.failed.load(Ordering::Relaxed) {
                return Err(io::Error::other("the other side failed"));
            }
            let hashes = sides.canon.row(row.texts(), &mut scratch).map_err(io::Error::other)?;
            if let Some(values @ None) = wanted.get_mut(&(hashes.group, hashes.row)) {
                let found = row.texts().map(|value| value.map(|value| value.map(Vec::from)));
                *values = Some(found.collect::<Result<_, _>>().map_err(io::Error::other)?);
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn record_type<'a>(sides: &'a Sides<'_>) -> &'a RecordType {
    &sides.records.file.layout.types()[sides.records.record_type]
}

fn finding(sides: &Sides<'_>, found: &Found, known: &Known) -> Discrepancy {
    let record = found.record.and_then(|place| known.records.get(&place)?.as_ref());
    let row = found.row.and_then(|(group, row, _)| known.rows.get(&(group, row))?.as_ref());
    let input = found.record.and_then(|place| sides.records.inputs.get(place.input as usize));
    let file = input.map(|input| match (found.kind, sides.rejects) {
        (Kind::GarbledReject, Some(rejects)) => refused::path(rejects, input, sides.records.inputs),
        _ => input.to_owned(),
    });
    let table = found.row.and_then(|(_, _, number)| sides.tables.found.get(usize::try_from(number).ok()?));
    let changed = match (found.kind, record, row) {
        (Kind::Altered, Some(record), Some(row)) => changes(sides.canon, &sides.tables.columns, record, row),
        _ => Vec::new(),
    };
    Discrepancy {
        kind: found.kind,
        file,
        offset: found.record.map(|place| place.offset),
        table: table.map(|table| table.name.clone()),
        key: record.or(row).map(|values| key(sides, values)).unwrap_or_default(),
        times: found.times,
        changed,
    }
}

fn changes(canon: &Canon, columns: &[String], record: &Values, row: &Values) -> Vec<Changed> {
    let both = columns.iter().zip(record.iter().zip(row)).enumerate();
    let other =
        both.filter(|(index, (_, (file, table)))| !canon.same(*index, file.as_deref(), table.as_deref()));
    other
        .map(|(_, (field, (file, table)))| Changed {
            field: field.clone(),
            file: file.as_deref().map(shown),
            table: table.as_deref().map(shown),
        })
        .collect()
}

/// `seq=17`, or all fields where no key names a record.
fn key(sides: &Sides<'_>, values: &Values) -> String {
    let columns = &sides.tables.columns;
    let all: Vec<usize> = (0..columns.len()).collect();
    let places = if sides.canon.key.is_empty() { &all } else { &sides.canon.key };
    let part = |place: &usize| {
        let value = values.get(*place)?.as_deref().map_or("NULL".to_owned(), shown);
        Some(format!("{}={value}", columns[*place]))
    };
    places.iter().filter_map(part).collect::<Vec<_>>().join(" ")
}

fn shown(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    match text.char_indices().nth(SHOWN) {
        None => text.into_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

pub(super) struct Sides<'a> {
    pub records: &'a Records<'a>,
    pub tables: &'a Tables,
    pub canon: &'a Canon,
    pub rejects: Option<&'a Path>,
    pub total: Option<u64>,
    pub tell: &'a (dyn Fn(&Progress) + Sync),
}

/// Takes what was noted of rows or of rejects.
pub(super) type TakeEntry<'a> = &'a mut (dyn FnMut(&Entry) -> Result<(), HaulError> + Send);

#[derive(Default)]
pub(super) struct Far {
    pub failed: AtomicBool,
    pub read: AtomicU64,
    pub records: AtomicU64,
}

impl Sides<'_> {
    /// Reads both, as far as their groups are wanted; without who takes records, no file but those of rejects.
    pub fn sweep(
        &self,
        (control, step): (&mut Control, Step),
        wanted: Option<&Wanted>,
        take_records: Option<Take<'_>>,
        take_rejects: TakeEntry<'_>,
        take_rows: TakeEntry<'_>,
    ) -> Result<(), HaulError> {
        let far = Far::default();
        let files = || {
            if let Some(take_records) = take_records {
                self.records.read(wanted, &far.failed, &far.read, &mut |noted: &Noted| {
                    far.records.fetch_add(noted.entries.len() as u64 + noted.other_types, Ordering::Relaxed);
                    (self.tell)(&self.progress(step, &far));
                    take_records(noted)
                })?;
            }
            self.rejects.map_or(Ok(()), |path| refused::read(self.records, path, wanted, take_rejects))
        };
        let tables = || read(control, (self.tables, self.canon), wanted, &far.failed, take_rows);
        beside(&far.failed, files, tables)
    }

    pub(super) fn progress(&self, step: Step, far: &Far) -> Progress {
        Progress {
            step,
            read: far.read.load(Ordering::Relaxed),
            total: self.total,
            records: far.records.load(Ordering::Relaxed),
            ..Progress::default()
        }
    }
}

/// Does two things at once. Where one fails, `failed` tells the other, and the error is that of the one that failed first.
fn beside(
    failed: &AtomicBool,
    one: impl FnOnce() -> Result<(), HaulError> + Send,
    other: impl FnOnce() -> Result<(), HaulError> + Send,
) -> Result<(), HaulError> {
    let first = Mutex::new(None);
    let note = |outcome: Result<(), HaulError>| {
        if let Err(error) = outcome
            && !failed.swap(true, Ordering::Relaxed)
        {
            *locked(&first) = Some(error);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| note(other()));
        note(one());
    });
    first.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Makes a connection one whose text is the same everywhere, and that waits as long as the files take.
pub(crate) fn prepare(control: &mut Control) -> Result<(), TargetError> {
    session::settle(control)?;
    control.exec("SET NAMES utf8mb4")?;
    control.exec("SET SESSION sql_mode = ''").map(drop)
}

/// From now on the connection sees its tables as they are at this instant, which it says by the server's clock.
pub(super) fn freeze(control: &mut Control) -> Result<Option<String>, TargetError> {
    control.exec("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
    control.exec("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")?;
    control.query_value("SELECT CONCAT(UTC_TIMESTAMP(), ' UTC')")
}

/// Hands out what is noted of all rows. Ends early where the other side `failed`.
fn read(
    control: &mut Control,
    (tables, canon): (&Tables, &Canon),
    wanted: Option<&Wanted>,
    failed: &AtomicBool,
    take: &mut dyn FnMut(&Entry) -> Result<(), HaulError>,
) -> Result<(), HaulError> {
    let mut scratch = Scratch::default();
    for number in 0..tables.found.len() {
        // What the taker says is kept here, since the connection hands on nothing but errors of reading.
        let mut refused = None;
        let read = control.for_each_row_sent(tables.select_of(number), &mut |row| {
            if failed.load(Ordering::Relaxed) {
                return Err(io::Error::other("the other side failed"));
            }
            let hashes = canon.row(row.texts(), &mut scratch).map_err(io::Error::other)?;
            if wanted.is_some_and(|wanted| !wanted.has(hashes.group)) {
                return Ok(());
            }
            let place = number as u64;
            let entry =
                Entry { group: hashes.group, of: Of::Row, row: hashes.row, record: 0, place, retired: 0 };
            take(&entry).map_err(|error| {
                refused = Some(error);
                io::Error::other("not taken")
            })
        });
        match refused {
            Some(error) => return Err(error),
            None => read.map(drop)?,
        }
    }
    Ok(())
}
