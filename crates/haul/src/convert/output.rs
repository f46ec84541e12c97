//! The files that an input becomes, under hidden names until they are whole.

use super::behind::Behind;
use super::block::{Context, Converted};
use super::done::{self, Checkpoint, Done};
use super::pool::Sink;
use super::{Progress, Tally};
use crate::HaulError;
use crate::input::{Identity, Input, changed_ns};
use crate::keys::Seen;
use crate::layout::LayoutFile;
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Bytes of the input from one checkpoint to the next: what a kill costs at most.
const CHECKPOINT: u64 = if cfg!(test) { 1 << 18 } else { 64 << 20 };

/// One output file.
struct Part {
    file: File,
    hidden: PathBuf,
    path: PathBuf,
    length: u64,
    behind: Behind,
}

/// All outputs of an input: one for each record type, and the rejects.
pub(super) struct Output {
    parts: Vec<Part>,
    checkpoint: PathBuf,
    done: PathBuf,
    /// How far it is.
    at: Checkpoint,
    next_checkpoint: u64,
}

/// Outputs, and who is told after every block what became of the records.
pub(super) struct Told<'a> {
    pub output: &'a mut Output,
    pub context: &'a Context<'a>,
    /// Keys of the records before; `None` where nobody asks what comes twice.
    pub seen: Option<&'a mut Seen>,
    pub tell: &'a mut (dyn FnMut(&Tally) + Send),
}

/// Names of the outputs of an input in a folder: lines by record type, then the rejects.
pub(super) fn names(input: &Input, file: &LayoutFile) -> Vec<String> {
    let stem = input.stem();
    let lines = match file.layout.types() {
        [_] => vec![format!("{stem}.csv")],
        types => types.iter().map(|each| format!("{stem}.{}.csv", each.name)).collect(),
    };
    lines.into_iter().chain([format!("{stem}.rejects")]).collect()
}

/// What is known of an earlier conversion of this input as it is now, if its outputs are still there.
pub(super) fn finished(into: &Path, input: &Input) -> Option<Done> {
    let found: Done = done::read(&into.join(format!("{}.done", input.stem())))?;
    let there = |(number, (path, bytes)): (usize, &(PathBuf, u64))| {
        let as_left = |at: i128| found.changed_ns.get(number).is_none_or(|left| *left == at);
        into.join(path).metadata().is_ok_and(|now| now.len() == *bytes && as_left(changed_ns(&now)))
    };
    let same = found.identity.is_some() && found.identity == Identity::of(input.path());
    (same && !found.outputs.is_empty() && found.outputs.iter().enumerate().all(there)).then_some(found)
}

/// Refuses to write over the outputs of another input that has the same name in another folder.
pub(super) fn keep_those_of_others(into: &Path, input: &Input) -> Result<(), HaulError> {
    let path = into.join(format!("{}.done", input.stem()));
    let known: Option<Done> = done::read(&path);
    if known.is_none() && path.exists() {
        return Err(HaulError::Foreign(path));
    }
    let Some(known) = known.filter(|known| known.input != input.path()) else { return Ok(()) };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_same = real(&known.input) == real(input.path()) || known.identity == Identity::of(input.path());
    let refused = || HaulError::Taken {
        into: into.to_owned(),
        known: known.input.clone(),
        input: input.path().to_owned(),
    };
    if is_same { Ok(()) } else { Err(refused()) }
}

impl Output {
    /// Opens the outputs, and goes on where an earlier run was ended, by the same rules.
    pub fn open(
        into: &Path,
        input: &Input,
        names: &[String],
        (identity, rules): (Option<Identity>, u64),
    ) -> Result<Self, HaulError> {
        let checkpoint = into.join(format!(".{}.progress", input.stem()));
        let done = into.join(format!("{}.done", input.stem()));
        // A conversion that was killed while it gave its outputs their names has left a note of how far it was.
        let is_known = done.exists() || checkpoint.exists();
        let there = names.iter().map(|name| into.join(name)).find(|path| !is_known && path.exists());
        if let Some(path) = there {
            return Err(HaulError::Foreign(path));
        }
        let mut parts = names.iter().map(|name| Part::open(into, name)).collect::<Result<Vec<_>, _>>()?;
        let fresh = Checkpoint {
            boot: done::boot(),
            identity,
            rules,
            offset: 0,
            tally: Tally { lines: vec![0; names.len() - 1], ..Tally::default() },
            lengths: vec![0; names.len()],
        };
        let at = done::read::<Checkpoint>(&checkpoint).filter(|known| known.continues(&fresh, &parts));
        let at = at.unwrap_or(fresh);
        for (part, length) in parts.iter_mut().zip(&at.lengths) {
            part.go_on_at(*length)?;
        }
        let next_checkpoint = at.offset + CHECKPOINT;
        Ok(Self { parts, checkpoint, done, at, next_checkpoint })
    }

    /// Bytes of the input that are done, unpacked.
    pub fn offset(&self) -> u64 {
        self.at.offset
    }

    /// Gives the files their names, once all is on disk, and notes that the input is done.
    pub fn finish(self, input: &Input, into: &Path) -> Result<Done, HaulError> {
        let (mut outputs, mut changed) = (Vec::new(), Vec::new());
        for part in &self.parts {
            part.file.sync_all().map_err(HaulError::io("write", &part.hidden))?;
        }
        // By this note a rerun knows the outputs for ours that have their names already.
        self.note()?;
        for part in &self.parts {
            fs::rename(&part.hidden, &part.path).map_err(HaulError::io("write", &part.path))?;
            outputs.push((part.path.file_name().map(PathBuf::from).unwrap_or_default(), part.length));
            changed.push(changed_ns(&part.file.metadata().map_err(HaulError::io("read", &part.path))?));
        }
        let Checkpoint { identity, rules, offset, tally, .. } = self.at;
        let done = Done {
            input: input.path().to_owned(),
            identity,
            rules,
            bytes: offset,
            tally,
            outputs,
            changed_ns: changed,
        };
        done::write(&self.done, &done, true)?;
        // Not there where the input was shorter than a checkpoint.
        let _ = fs::remove_file(&self.checkpoint);
        File::open(into).and_then(|folder| folder.sync_all()).map_err(HaulError::io("write", into))?;
        Ok(done)
    }

    /// Notes how far it is, for who goes on.
    pub fn note(&self) -> Result<(), HaulError> {
        done::write(&self.checkpoint, &self.at, false)
    }

    fn add(&mut self, block: &Converted) -> Result<(), HaulError> {
        for (part, bytes) in self.parts.iter_mut().zip(block.lines.iter().chain([&block.rejects])) {
            part.write(bytes)?;
        }
        self.at.offset = block.end;
        self.at.tally.add(&block.tally);
        self.at.lengths = self.parts.iter().map(|part| part.length).collect();
        if block.end >= self.next_checkpoint {
            self.next_checkpoint = block.end + CHECKPOINT;
            self.note()?;
        }
        Ok(())
    }
}

impl Sink<Converted> for Told<'_> {
    fn settle(&mut self, offset: u64, block: &[u8], scratch: &mut Converted) -> Result<(), HaulError> {
        match &mut self.seen {
            Some(seen) => self.context.settle(seen, offset, block, scratch),
            None => Ok(()),
        }
    }

    fn take(&mut self, block: &Converted) -> Result<(), HaulError> {
        self.output.add(block)?;
        (self.tell)(&self.output.at.tally);
        Ok(())
    }
}

impl Checkpoint {
    /// Whether the work that it tells of can be gone on with.
    fn continues(&self, fresh: &Self, parts: &[Part]) -> bool {
        let there = |(part, length): (&Part, &u64)| part.length >= *length;
        self.identity.is_some()
            && self.identity == fresh.identity
            && self.rules == fresh.rules
            && self.boot == fresh.boot
            && !self.boot.is_empty()
            && self.lengths.len() == parts.len()
            && parts.iter().zip(&self.lengths).all(there)
    }
}

impl Part {
    fn open(into: &Path, name: &str) -> Result<Self, HaulError> {
        let (hidden, path) = (into.join(format!(".{name}.part")), into.join(name));
        let failed = || HaulError::io("write", &hidden);
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&hidden);
        let file = file.map_err(failed())?;
        if !evenkeel_os::try_lock(file.as_fd()).map_err(failed())? {
            return Err(HaulError::InUse(path));
        }
        let length = file.metadata().map_err(failed())?.len();
        Ok(Self { file, path, length, hidden: hidden.clone(), behind: Behind::new(length) })
    }

    fn go_on_at(&mut self, length: u64) -> Result<(), HaulError> {
        let cut = self.file.set_len(length).and_then(|()| self.file.seek(SeekFrom::Start(length)));
        cut.map_err(HaulError::io("write", &self.hidden))?;
        self.length = length;
        self.behind = Behind::new(length);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), HaulError> {
        self.length += bytes.len() as u64;
        let written = self.file.write_all(bytes).and_then(|()| self.behind.reached(&self.file, self.length));
        written.map_err(HaulError::io("write", &self.hidden))
    }
}

/// Progress as the sum of what is done and what is under way.
pub(super) fn sum(done: &Progress, now: &Tally, read: u64) -> Progress {
    let mut tally = done.tally.clone();
    tally.add(now);
    Progress { read: done.read + read, tally, ..done.clone() }
}
