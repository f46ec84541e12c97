//! Which files are to be loaded, from which byte on, by what the manifest says of them.

use super::manifest::{self, KnownFile, Origin};
use crate::blocks::Separator;
use crate::convert::Tally;
use crate::input::{self, Identity, is_packed};
use crate::table::{Table, quoted};
use crate::{HaulError, refused};
use evenkeel_site::server::Control;
use std::collections::BTreeSet;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct LoadedFile {
    pub path: PathBuf,
    /// As the manifest names it: where it lay when it was loaded first.
    #[serde(skip)]
    pub name: String,
    /// Its number in the manifest.
    #[serde(skip)]
    pub(super) id: u64,
    /// What it was when it was looked at; the load has read that and nothing else.
    #[serde(skip)]
    pub identity: Identity,
    /// Bytes that were in, unpacked.
    pub before: u64,
    /// Whether nothing of it was left.
    #[serde(skip)]
    pub(super) done: bool,
    pub records_before: u64,
    pub rows_before: u64,
    pub rejects_before: u64,
    pub audited_before: bool,
    pub tally: Tally,
}

impl LoadedFile {
    /// One that the manifest knows; what changed since is not audited.
    pub(super) fn of(file: &Looked, before: &KnownFile) -> Self {
        Self {
            path: file.path.clone(),
            name: before.name.clone(),
            id: before.id,
            identity: file.identity,
            before: before.end,
            done: true,
            records_before: before.records,
            rows_before: before.rows,
            rejects_before: before.rejects,
            audited_before: false,
            tally: Tally::default(),
        }
    }
}

/// A file as it is now.
pub(super) struct Looked {
    pub path: PathBuf,
    pub identity: Identity,
    /// Length and XXH3 of what it says, unpacked.
    pub content: (u64, u64),
    /// The same of its beginnings that are as long as files which were loaded.
    beginnings: Vec<(u64, u64)>,
}

impl Looked {
    /// Whether it begins with all that a file was when it was loaded, and has more.
    fn continues(&self, before: &KnownFile) -> bool {
        before.content.0 > 0 && self.beginnings.contains(&before.content)
    }
}

pub(super) struct Ground<'a> {
    pub tables: &'a str,
    pub separator: Separator,
    /// XXH3 of the layout and of what else decides what becomes of a record.
    pub layout: u64,
    pub origin: Origin,
}

/// Reads all files once, to know them again.
pub(super) fn look(inputs: &[PathBuf], known: &[KnownFile]) -> Result<Vec<Looked>, HaulError> {
    let lengths: BTreeSet<u64> = known.iter().map(|file| file.content.0).collect();
    let mut all: Vec<Looked> = Vec::new();
    for path in inputs {
        let full = path.canonicalize().map_err(HaulError::io("read", path))?;
        let (identity, (content, beginnings)) = read_whole(&full, &|| hash(&full, &lengths))?;
        if let Some(same) = all.iter().find(|known| known.content == content && content.0 > 0) {
            let what = format!("{} and {} are the same, byte by byte", same.path.display(), full.display());
            return Err(HaulError::File(refused(what, "name it once")));
        }
        all.push(Looked { path: full, identity, content, beginnings });
    }
    Ok(all)
}

/// What a file is, and its length and hash: of one file, that was the same before and after it was read.
fn read_whole<T>(path: &Path, hash: &dyn Fn() -> Result<T, HaulError>) -> Result<(Identity, T), HaulError> {
    let before = Identity::of(path);
    let hash = hash()?;
    match before.filter(|before| Identity::of(path).as_ref() == Some(before)) {
        Some(same) => Ok((same, hash)),
        None => {
            let what =
                "it was changed or replaced while it was looked at; run again when nothing writes to it";
            Err(HaulError::Changed { path: path.to_owned(), at: before.map_or(0, |was| was.size), what })
        }
    }
}

/// Length and XXH3 of what a file says.
pub(crate) fn content(path: &Path) -> Result<Content, HaulError> {
    Ok(hash(path, &BTreeSet::new())?.0)
}

/// Length and XXH3.
type Content = (u64, u64);

/// Of what a file says, and of its beginnings of these lengths.
fn hash(path: &Path, lengths: &BTreeSet<u64>) -> Result<(Content, Vec<Content>), HaulError> {
    let (mut stream, mut hash, mut piece) = (input::open(path, 0)?.stream, Xxh3::new(), vec![0; 1 << 20]);
    let (mut length, mut beginnings) = (0, Vec::new());
    loop {
        let next = lengths.range(length + 1..).next().map_or(u64::MAX, |next| next - length);
        let room = piece.len().min(usize::try_from(next).unwrap_or(usize::MAX));
        match stream.read(&mut piece[..room]) {
            Ok(0) => return Ok(((length, hash.digest()), beginnings)),
            Ok(count) => {
                hash.update(&piece[..count]);
                length += count as u64;
                if lengths.contains(&length) {
                    beginnings.push((length, hash.digest()));
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(HaulError::io("read", path)(error)),
        }
    }
}

/// Holds the files against the manifest, and notes in it those that are new.
pub(super) fn plan(
    control: &mut Control,
    ground: &Ground<'_>,
    looked: Vec<Looked>,
    known: &[KnownFile],
) -> Result<Vec<LoadedFile>, HaulError> {
    looked.into_iter().map(|file| one(control, ground, file, known)).collect()
}

fn one(
    control: &mut Control,
    ground: &Ground<'_>,
    file: Looked,
    known: &[KnownFile],
) -> Result<LoadedFile, HaulError> {
    let name = file.path.to_string_lossy().into_owned();
    let same = known.iter().find(|each| each.content == file.content);
    let named = || known.iter().rev().find(|each| each.name == name);
    // Of those that it goes on from, the longest.
    let grown = || known.iter().filter(|each| file.continues(each)).max_by_key(|each| each.content.0);
    let Some(before) = same.or_else(named).or_else(grown) else { return fresh(control, ground, file, name) };
    if before.has_holes {
        return Err(HaulError::File(refused(
            format!(
                "evenkeel_load_parts has invalid entries for {}, file {name}: parts that leave bytes out before {}",
                ground.tables, before.end
            ),
            "see who else writes to the tables evenkeel_loads and evenkeel_load_parts",
        )));
    }
    let is_new = before.end == 0 && !before.done;
    if is_new && (before.content != file.content || before.layout != ground.layout) {
        manifest::forget(control, std::slice::from_ref(before), true)?;
        return fresh(control, ground, file, name);
    }
    if before.done && before.rejects > 0 && before.rows > 0 && before.layout != ground.layout {
        let what = format!("{name} was loaded by another layout, with {} rejects", before.rejects);
        let hint = "to add the rejects that the new layout accepts, give --corrected with their rejects file; to start over, `evenkeel cdr unload` with the old layout, then load again";
        return Err(HaulError::File(refused(what, hint)));
    }
    // Nothing of it is stored, and by the layout of now some of it may be.
    if before.done && before.records > 0 && before.rows == 0 && before.layout != ground.layout {
        manifest::forget(control, std::slice::from_ref(before), true)?;
        return fresh(control, ground, file, name);
    }
    let (mut done, mut audited) = (before.done, before.audited);
    if before.content != file.content {
        check_grown(ground, &file, before)?;
        manifest::grow(control, before.id, file.content)?;
        (done, audited) = (false, false);
    }
    if !done && before.layout != ground.layout {
        return Err(HaulError::File(refused(
            format!("{name} was begun with another layout, up to byte {}", before.end),
            "go on with the layout that it was begun with, or empty the table and take --again",
        )));
    }
    Ok(LoadedFile { done, audited_before: audited, ..LoadedFile::of(&file, before) })
}

fn fresh(
    control: &mut Control,
    ground: &Ground<'_>,
    file: Looked,
    name: String,
) -> Result<LoadedFile, HaulError> {
    let id = manifest::begin(control, ground.tables, (&name, file.content), ground.layout, ground.origin)?;
    Ok(LoadedFile { path: file.path, name, id, identity: file.identity, ..LoadedFile::default() })
}

/// A file of the same name is the same one where it begins with all that the former was, and the former ended with a record.
fn check_grown(ground: &Ground<'_>, file: &Looked, before: &KnownFile) -> Result<(), HaulError> {
    let path = file.path.as_path();
    let replaced = |why: &str, hint| {
        let (path, tables) = (path.display(), ground.tables);
        let (known, now) = (before.content.0, file.content.0);
        let what =
            format!("{path} was loaded into {tables} before with {known} bytes, now it has {now}: {why}");
        Err(HaulError::File(refused(what, hint)))
    };
    if file.content.0 <= before.content.0 || !file.continues(before) {
        return replaced(
            "its content has changed",
            "give the new file another name, or put the former one back to go on with it",
        );
    }
    match ends_a_record(file, before.end, ground.separator)? {
        true => Ok(()),
        false => replaced(
            "before, its last record was cut or had no line end, and was taken as it was",
            "load complete files only; `evenkeel cdr audit` names the records that are missing: write them into a new file and load that",
        ),
    }
}

fn ends_a_record(file: &Looked, end: u64, separator: Separator) -> Result<bool, HaulError> {
    match separator {
        Separator::Length(length) => Ok(end.is_multiple_of(length.max(1) as u64)),
        _ if end == 0 => Ok(true),
        Separator::Line | Separator::Delimited { .. } => {
            let mut last = [0];
            let mut stream = input::open(&file.path, end - 1)?.stream;
            stream.read_exact(&mut last).map_err(HaulError::io("read", &file.path))?;
            Ok(last == *b"\n")
        }
    }
}

pub(super) fn count_rows(control: &mut Control, tables: &[Table]) -> Result<u64, HaulError> {
    let mut sum = 0;
    for table in tables {
        let count = control.query_value(&format!("SELECT COUNT(*) FROM {}", quoted(&table.name)))?;
        sum += count.and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(sum)
}

/// Empties the tables where a load into them was cut, and forgets that any file was loaded; says so. Nothing is done where no row
/// of the cut load is there, or where no load was cut.
pub(super) fn settle_cut(
    control: &mut Control,
    (tables, named): (&[Table], &str),
    known: &[KnownFile],
    looked: &[Looked],
    shortest: u64,
) -> Result<Option<String>, HaulError> {
    let begun: Vec<KnownFile> = known.iter().filter(|file| !file.done).cloned().collect();
    if begun.is_empty() {
        return Ok(None);
    }
    let mut rows = count_rows(control, tables)?;
    let done: u64 = known.iter().filter(|file| file.done).map(|file| file.rows).sum();
    if rows == done && uncover(control, tables)? {
        rows = count_rows(control, tables)?;
    }
    if rows == done {
        manifest::forget(control, &begun, true)?;
        return Ok(None);
    }
    let refuse = |why: String| {
        let what =
            "was interrupted; its rows cannot be distinguished from others, and the tables cannot be emptied";
        let hint = "name all files that were loaded into it, or remove by hand what the cut load brought, and take --again on an empty table";
        Err(refused(format!("a load into {named} {what}: {why}"), hint).into())
    };
    if known.iter().any(|file| file.origin == Origin::Filled) {
        return refuse("rows of others were in them before the load".to_owned());
    }
    let is_there = |file: &KnownFile| looked.iter().any(|now| is_same(file, now));
    if let Some(missing) = known.iter().find(|file| !is_there(file)) {
        return refuse(format!("{} was loaded too, and is not among the files of this load", missing.name));
    }
    let most = begun.iter().map(|file| most_rows(file, looked, shortest)).fold(done, u64::saturating_add);
    if rows > most {
        return refuse(format!(
            "they have {rows} rows, but the loaded and interrupted files account for at most {most}"
        ));
    }
    // In this order: a kill between both leaves tables whose load was cut, as before.
    manifest::forget(control, known, false)?;
    for table in tables {
        control.exec(&format!("TRUNCATE TABLE {}", quoted(&table.name)))?;
    }
    Ok(Some(format!(
        "a load into {named} was cut, and without transactions its rows cannot be told apart: emptied of {rows} rows, and all {} \
         files begin again",
        known.len()
    )))
}

/// Whether a file is there: as it was, or one that was begun and has grown since.
fn is_same(file: &KnownFile, now: &Looked) -> bool {
    now.content == file.content
        || (!file.done && now.path.to_string_lossy() == file.name && now.continues(file))
}

/// Has tables count what is in them; whether one of them did not. A server that was killed within a statement leaves rows in the
/// file of a MyISAM table that its head does not count: the table looks empty, and the next load fails in it.
fn uncover(control: &mut Control, tables: &[Table]) -> Result<bool, HaulError> {
    let mut found = false;
    for table in tables {
        let name = quoted(&table.name);
        let said = control.query(&format!("CHECK TABLE {name}"))?;
        let is_ok = said.rows.last().and_then(|row| row.last()).and_then(Option::as_deref) == Some("OK");
        if !is_ok {
            control.query(&format!("REPAIR TABLE {name}"))?;
            found = true;
        }
    }
    Ok(found)
}

fn most_rows(file: &KnownFile, looked: &[Looked], shortest: u64) -> u64 {
    match looked.iter().find(|now| is_same(file, now)) {
        Some(now) if !is_packed(&now.path) => file.content.0 / shortest.max(1) + 1,
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_that_is_replaced_by_one_of_the_same_size_while_it_is_hashed_is_not_known_by_either() {
        let home = tempfile::tempdir().unwrap();
        let (path, other) = (home.path().join("calls"), home.path().join("other"));
        fs::write(&path, "first").unwrap();
        fs::write(&other, "other").unwrap();
        let (_, content) = read_whole(&path, &|| hash(&path, &BTreeSet::from([2]))).unwrap();
        let of = |text: &[u8]| (text.len() as u64, xxhash_rust::xxh3::xxh3_64(text));
        assert_eq!(content, (of(b"first"), vec![of(b"fi")]));
        let replaced = || {
            let found = hash(&path, &BTreeSet::new());
            fs::rename(&other, &path).unwrap();
            found
        };
        assert!(matches!(read_whole(&path, &replaced), Err(HaulError::Changed { at: 5, .. })));
    }
}
