//! Rejects that were corrected, or that another layout takes: they become rows that count with the file they are of.
//!
//! `evenkeel_load_corrected` has each of them by its file and offset, with its record and, once it is stored, the line that was loaded.
//! Both are written in one transaction for each file, so that a kill leaves all of it or nothing and a rerun stores none again.

use super::corrections::{Corrections, of_file};
use super::files::{LoadedFile, Looked};
use super::job::{Job, Loaded, Settled, indexes, sum};
use super::manifest::KnownFile;
use super::part::Part;
use super::rejects::{Rejects, Turn};
use super::store::{self, Options, Shared, Warnings};
use crate::audit::{RejectLine, reject_line};
use crate::blocks::{Blocks, records};
use crate::convert::{Duplicates, Tally, tidy};
use crate::table::Table;
use crate::{HaulError, input, refused};
use evenkeel_site::server::Control;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

/// Bytes of rejects that are taken at once: memory and one transaction hold them.
const MOST: u64 = 64 << 20;
/// A line of the file of rejects, with its number in it.
struct Wanted {
    number: usize,
    is_repeat: bool,
    record: Vec<u8>,
}

impl Job<'_> {
    /// Stores what the layout takes of the rejects in a file; they are of files that are loaded as a whole.
    /// Errors: a line is none, or of no record; the server refuses. What is stored of one file is stored as a whole.
    pub(super) fn correct(
        &self,
        control: &mut Control,
        settled: &Settled,
        path: &Path,
    ) -> Result<Loaded, HaulError> {
        let Settled { named, engine, looked, known, .. } = settled;
        if !engine.has_transactions() {
            let hint =
                "correct the records in the file itself and load it into an empty table, or take InnoDB";
            return Err(refused(
                format!("{named} has no transactions, so rejects cannot be added to what was loaded"),
                hint,
            )
            .into());
        }
        let known = looked.iter().map(|file| whole(file, known, named)).collect::<Result<Vec<_>, _>>()?;
        let wanted = self.wanted(path, looked, &known)?;
        let typed = self.tables.iter().zip(self.file.layout.types());
        let keyed = typed.filter(|(_, of)| self.duplicates == Duplicates::Refuse && !of.key.is_empty());
        keyed.map(|(table, _)| table).try_for_each(|table| check_key(control, table))?;
        let mut files = Vec::new();
        let inputs: Vec<_> = looked.iter().map(|file| file.path.clone()).collect();
        store::prepare(control)?;
        let shared = Shared {
            tables: &self.tables,
            named,
            engine: *engine,
            options: Options { warnings: Warnings::Reject, ..self.options },
            inputs: &inputs,
            separator: self.file.separator,
            turn: Turn::default(),
            // Rejects stay where they are.
            rejects: Mutex::new(Rejects::open(Path::new("/dev/null"), &[])?),
            stored: Mutex::new(vec![Tally::default(); looked.len()]),
            failed: Mutex::new(None),
            sent: self.sent,
            spare: Mutex::default(),
        };
        for (index, ((file, known), wanted)) in looked.iter().zip(known).zip(wanted).enumerate() {
            let before = of_file(control, known.id)?;
            let part = self.part_of((path, file), wanted, &before)?;
            check_count((path, file), &part, known.rejects)?;
            let place = Part { number: index as u64, input: index, file: known.id, begin: known.end, ..part };
            let tally = shared.store_one(control, Part { end: known.end, ..place })?;
            files.push(LoadedFile { tally, ..LoadedFile::of(file, known) });
        }
        let tally = sum(files.iter().map(|file| &file.tally));
        Ok(Loaded { named: named.clone(), tally, files, notes: settled.notes.clone(), early: Vec::new() })
    }

    /// The rejects of each input by their offsets.
    fn wanted(
        &self,
        path: &Path,
        looked: &[Looked],
        known: &[&KnownFile],
    ) -> Result<Vec<BTreeMap<u64, Wanted>>, HaulError> {
        let failed = || HaulError::io("read", path);
        let stop =
            |what: String, hint| Err(HaulError::File(refused(format!("{}: {what}", path.display()), hint)));
        if path.metadata().map_err(failed())?.len() > MOST {
            return stop(
                "more than 64 MiB of rejects".to_owned(),
                "unload the file with its layout, and load it with the new one; or correct the rejects in several files",
            );
        }
        let bytes = std::fs::read(path).map_err(failed())?;
        let mut all: Vec<BTreeMap<u64, Wanted>> = looked.iter().map(|_| BTreeMap::new()).collect();
        let mut others = 0;
        for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                continue;
            }
            let Some(RejectLine { file, offset, reason, record }) = reject_line(line) else {
                return stop(
                    format!("line {number} is not FILE, OFFSET, REASON and RECORD with tabs between them"),
                    "correct the RECORD alone; write a tab in it as \\x09, a backslash as \\\\, and letters outside ASCII by their bytes, as \\xfc",
                );
            };
            let is_it = |(now, before): (&Looked, &&KnownFile)| {
                let names = [now.path.to_string_lossy(), before.name.as_str().into()];
                names.iter().any(|name| tidy(name).as_bytes() == file)
            };
            let Some(index) = looked.iter().zip(known).position(is_it) else {
                others += 1;
                continue;
            };
            let wanted = Wanted { number, is_repeat: crate::audit::is_repeat(reason), record };
            if let Some(first) = all[index].insert(offset, wanted) {
                return stop(
                    format!("lines {} and {number} are for the same record", first.number),
                    "delete one of them",
                );
            }
        }
        match others > 0 && all.iter().all(BTreeMap::is_empty) {
            true => stop(
                format!("none of its {others} lines belongs to a given FILE"),
                "name the files that these rejects came from",
            ),
            false => Ok(all),
        }
    }

    /// What is to be stored of a file, and what is still refused.
    fn part_of(
        &self,
        (path, file): (&Path, &Looked),
        mut wanted: BTreeMap<u64, Wanted>,
        before: &Corrections,
    ) -> Result<Part, HaulError> {
        let types = self.file.layout.types().len();
        let mut part =
            Part { lines: vec![Vec::new(); types], places: vec![Vec::new(); types], ..Part::default() };
        part.tally.lines = vec![0; types];
        wanted.retain(|at, _| before.get(at).is_none_or(|known| known.stored.is_none()));
        let separator = self.file.separator;
        let (mut blocks, mut block) =
            (Blocks::new(input::open(&file.path, 0)?.stream, separator, 0), Vec::new());
        while !wanted.is_empty() {
            let Some(offset) = blocks.next(&mut block).map_err(HaulError::io("read", &file.path))? else {
                break;
            };
            for (at, record) in records(&block, separator) {
                if let Some(found) = wanted.remove(&(offset + at as u64)) {
                    self.judge(found, record, offset + at as u64, &mut part);
                }
            }
        }
        match wanted.first_key_value() {
            None => Ok(part),
            Some((at, Wanted { number, .. })) => {
                let what = format!(
                    "{}: line {number}: no record of {} begins at byte {at}",
                    path.display(),
                    file.path.display()
                );
                Err(HaulError::File(refused(
                    what,
                    "leave FILE and OFFSET as they are in the file of rejects",
                )))
            }
        }
    }

    fn judge(&self, found: Wanted, original: &[u8], at: u64, part: &mut Part) {
        let (layout, is_corrected) = (&self.file.layout, found.record != original);
        part.tally.records += 1;
        let mut line = Vec::new();
        // What came before comes again, unless it was corrected.
        let taken = match found.is_repeat && !is_corrected {
            true => Err("duplicate key, and the record is unchanged".to_owned()),
            false => layout.delimit(&found.record, &mut line).map_err(|reject| reject.explain(layout)),
        };
        match &taken {
            Ok(of) => {
                part.lines[*of].extend_from_slice(&line);
                part.places[*of].push(at);
                part.tally.lines[*of] += 1;
            }
            Err(reason) => {
                part.tally.rejects += 1;
                part.tally.reason(reason, 1);
            }
        }
        if taken.is_ok() || is_corrected {
            part.corrected.insert(at, found.record);
        }
    }
}

/// Nothing but a unique index finds out that a corrected record has the key of one that is stored.
fn check_key(control: &mut Control, table: &Table) -> Result<(), HaulError> {
    let is_key = |column: &String| table.primary.iter().any(|key| key.eq_ignore_ascii_case(column));
    if indexes(control, table, true)?.values().any(|columns| columns.iter().all(is_key)) {
        return Ok(());
    }
    let what =
        format!("{} has no unique index on the layout's key, so a correction could repeat one", table.name);
    Err(refused(what, "add a unique index on fields of the key, none of which may be blank").into())
}

/// A file of rejects of another load may name records that are stored.
fn check_count((path, file): (&Path, &Looked), part: &Part, rejects: u64) -> Result<(), HaulError> {
    let lines: u64 = part.tally.lines.iter().sum();
    if lines <= rejects {
        return Ok(());
    }
    let (path, file) = (path.display(), file.path.display());
    let what = format!("{path} would add {lines} records of {file}, of which only {rejects} are rejects");
    Err(HaulError::File(refused(what, "take the file of rejects that the load of this file wrote")))
}

/// What the manifest says of a file that is loaded as a whole.
fn whole<'a>(file: &Looked, known: &'a [KnownFile], named: &str) -> Result<&'a KnownFile, HaulError> {
    let found = known.iter().find(|known| known.done && known.content == file.content);
    found.ok_or_else(|| {
        let what =
            format!("{} has not been loaded completely into {named}, or has changed since", file.path.display());
        HaulError::File(refused(what, "load it first without --corrected: that keeps the lines that you corrected, and says where (calls.rejects.before); name that file then"))
    })
}
