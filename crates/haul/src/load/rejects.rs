//! The reject file of a load: each reject once, whatever ended the loads before.
//!
//! The rejects of a part are on disk before the part is committed. What stands there of parts that were not committed after all is
//! taken out when the next load begins, and comes again when their bytes do. A load has the file's lock as long as it writes.

use super::files::{LoadedFile, content};
use crate::HaulError;
use crate::convert::tidy;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::{fs, io};

pub(super) struct Rejects {
    file: File,
    path: PathBuf,
    /// The file as it was, where lines were taken out.
    before: Option<PathBuf>,
}

impl Rejects {
    /// Opens it without the rejects of these files whose bytes are not in.
    pub fn open(path: &Path, files: &[LoadedFile]) -> Result<Self, HaulError> {
        let mut ends = BTreeMap::new();
        for file in files {
            for name in [file.path.to_string_lossy().into_owned(), file.name.clone()] {
                ends.insert(tidy(&name).into_bytes(), file.before);
            }
        }
        let (mut file, mut before) = (locked(path)?, None);
        // What is no file, as a pipe, has nothing that could be taken out.
        if path.is_file() && leave(path, &ends).map_err(HaulError::io("read", path))? {
            before = Some(set_aside(path)?);
            file = keep(path, &ends).map_err(HaulError::io("write", path))?;
        }
        Ok(Self { file, path: path.to_owned(), before })
    }

    /// Says where the file is that had more lines.
    pub fn note(&self) -> Option<String> {
        let (path, before) = (self.path.display(), self.before.as_ref()?.display());
        Some(format!(
            "lines of records that are not in were taken out of {path}; {before} is the file as it was"
        ))
    }

    /// Adds the rejects of a part, and has them on disk.
    pub fn add(&mut self, lines: &[u8]) -> Result<(), HaulError> {
        if lines.is_empty() {
            return Ok(());
        }
        // A device as /dev/null takes lines and refuses to sync.
        let sync = || if self.path.is_file() { self.file.sync_data() } else { Ok(()) };
        let added = (&self.file).write_all(lines).and_then(|()| sync());
        added.map_err(HaulError::io("write", &self.path))
    }
}

/// Opens the file and locks it. Who had it before may have put another one in its place between the two.
fn locked(path: &Path) -> Result<File, HaulError> {
    let failed = || HaulError::io("write", path);
    loop {
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(failed())?;
        if path.is_file() && !evenkeel_os::try_lock(file.as_fd()).map_err(failed())? {
            return Err(HaulError::InUse(path.to_owned()));
        }
        let ours = file.metadata().map_err(failed())?.ino();
        if path.metadata().is_ok_and(|found| found.ino() == ours) {
            return Ok(file);
        }
    }
}

/// Leaves the file under another name too, since somebody may have corrected lines in it. What has that name already stays.
fn set_aside(path: &Path) -> Result<PathBuf, HaulError> {
    let mut number = 1;
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 1 { ".before".to_owned() } else { format!(".before.{number}") });
        let before = PathBuf::from(name);
        match fs::hard_link(path, &before) {
            Ok(()) => return Ok(before),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if before.is_file() && content(&before)? == content(path)? {
                    return Ok(before);
                }
                number += 1;
            }
            // A file system without links.
            Err(_) => {
                fs::copy(path, &before).map_err(HaulError::io("write", &before))?;
                return Ok(before);
            }
        }
    }
}

fn leave(path: &Path, ends: &BTreeMap<Vec<u8>, u64>) -> io::Result<bool> {
    let mut found = false;
    each_line(path, &mut |line| {
        found |= !stays(line, ends);
        Ok(())
    })?;
    Ok(found)
}

/// Writes those lines anew that stay, into a file that is locked before it takes the place of the other one.
fn keep(path: &Path, ends: &BTreeMap<Vec<u8>, u64>) -> io::Result<File> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let hidden = path.with_file_name(format!(".{name}.kept"));
    let file = OpenOptions::new().create(true).append(true).open(&hidden)?;
    evenkeel_os::try_lock(file.as_fd())?;
    file.set_len(0)?;
    let mut out = BufWriter::new(&file);
    each_line(path, &mut |line| match stays(line, ends) {
        true => out.write_all(line),
        false => Ok(()),
    })?;
    out.into_inner()?.sync_all()?;
    fs::rename(&hidden, path)?;
    // Rejects that are added are on disk only where the name is.
    let home = path.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(home)?.sync_all()?;
    Ok(file)
}

fn each_line(path: &Path, take: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let (mut lines, mut line) = (BufReader::new(File::open(path)?), Vec::new());
    while lines.read_until(b'\n', &mut line)? > 0 {
        take(&line)?;
        line.clear();
    }
    Ok(())
}

/// Whether a line is whole, and tells of bytes that are in, or of another file.
fn stays(line: &[u8], ends: &BTreeMap<Vec<u8>, u64>) -> bool {
    let mut fields = line.split(|byte| *byte == b'\t');
    let (name, offset) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
    let offset = std::str::from_utf8(offset).ok().and_then(|text| text.parse::<u64>().ok());
    match (ends.get(name), offset) {
        _ if !line.ends_with(b"\n") => false,
        (Some(end), Some(offset)) => offset < *end,
        (Some(_), None) => false,
        (None, _) => true,
    }
}

#[derive(Default)]
pub(super) struct Turn {
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Default)]
struct State {
    number: u64,
    /// Whether that part cannot go on unless the others give up what they hold.
    is_held_up: bool,
    is_over: bool,
}

/// What came of waiting for a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    Mine,
    /// The part before waits for what this one holds.
    GiveWay,
    Over,
}

impl Turn {
    /// Waits for the turn of a part; `may_hold` where it has a transaction that others could wait for.
    pub fn wait(&self, number: u64, may_hold: bool) -> Waited {
        let waits =
            |state: &mut State| !state.is_over && state.number != number && !(may_hold && state.is_held_up);
        let state = self.moved.wait_while(self.state(), waits).unwrap_or_else(PoisonError::into_inner);
        match (state.is_over, state.number == number) {
            (true, _) => Waited::Over,
            (_, true) => Waited::Mine,
            _ => Waited::GiveWay,
        }
    }

    /// The part whose turn it was is committed.
    pub fn pass(&self) {
        let mut state = self.state();
        state.number += 1;
        state.is_held_up = false;
        self.moved.notify_all();
    }

    /// The part whose turn it is waits for another one; false where it is not this part's turn.
    pub fn hold_up(&self, number: u64) -> bool {
        let mut state = self.state();
        let is_turn = state.number == number;
        state.is_held_up |= is_turn;
        self.moved.notify_all();
        is_turn
    }

    pub fn end(&self) {
        self.state().is_over = true;
        self.moved.notify_all();
    }

    pub fn is_over(&self) -> bool {
        self.state().is_over
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_of_bytes_that_are_in_stay() {
        let ends = BTreeMap::from([(b"a".to_vec(), 100)]);
        assert!(stays(b"a\t99\twhy\trecord\n", &ends) && stays(b"b\t200\twhy\trecord\n", &ends));
        assert!(!stays(b"a\t100\twhy\trecord\n", &ends) && !stays(b"a\t99\twhy\trec", &ends));
    }

    #[test]
    fn a_file_has_one_writer_at_a_time_also_once_lines_were_taken_out() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("calls.rejects");
        fs::write(&path, "a\t99\twhy\trecord\na\t100\twhy\trecord\n").unwrap();
        let ends = BTreeMap::from([(b"a".to_vec(), 100)]);
        let first = locked(&path).unwrap();
        assert!(matches!(locked(&path), Err(HaulError::InUse(_))));
        assert!(leave(&path, &ends).unwrap());
        let kept = keep(&path, &ends).unwrap();
        drop(first);
        assert!(matches!(locked(&path), Err(HaulError::InUse(_))));
        drop(kept);
        locked(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "a\t99\twhy\trecord\n");
    }

    #[test]
    fn what_was_set_aside_before_stays_and_the_same_is_not_kept_twice() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("calls.rejects");
        for (text, name, files) in
            [("a", "before", 2), ("a", "before", 2), ("b", "before.2", 3), ("a", "before", 3)]
        {
            // Another file of that name, as `keep` leaves it.
            let _ = fs::remove_file(&path);
            fs::write(&path, text).unwrap();
            let before = set_aside(&path).unwrap();
            assert_eq!(
                (&before, fs::read_to_string(&before).unwrap()),
                (&path.with_extension(format!("rejects.{name}")), text.to_owned())
            );
            assert_eq!(fs::read_dir(home.path()).unwrap().count(), files);
        }
    }

    #[test]
    fn parts_have_their_turns_in_order_and_give_way_to_one_that_is_held_up() {
        let turn = Turn::default();
        assert_eq!(turn.wait(0, true), Waited::Mine);
        assert!(!turn.hold_up(1) && turn.hold_up(0));
        assert_eq!(turn.wait(1, true), Waited::GiveWay);
        turn.pass();
        assert_eq!(turn.wait(1, true), Waited::Mine);
        turn.end();
        assert_eq!((turn.wait(2, false), turn.is_over()), (Waited::Over, true));
    }
}
