//! The files that an input becomes, under hidden names until they are whole.

use super::Tally;
use super::block::{Context, Converted};
use super::pool::Sink;
use crate::input::{Identity, changed_ns};
use crate::keys::Seen;
use crate::layout::LayoutFile;
use crate::{HaulError, input, refused};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::{fs, io};

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
    done: PathBuf,
    /// What `done` is until the outputs have their names.
    note: PathBuf,
    identity: Option<Identity>,
    rules: u64,
    /// Bytes of the input that are done, unpacked.
    bytes: u64,
    tally: Tally,
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
pub(super) fn names(input: &Path, file: &LayoutFile) -> Vec<String> {
    let stem = input::stem(input);
    let lines = match file.layout.types() {
        [_] => vec![format!("{stem}.csv")],
        types => types.iter().map(|each| format!("{stem}.{}.csv", each.name)).collect(),
    };
    lines.into_iter().chain([format!("{stem}.rejects")]).collect()
}

/// What is known of an earlier conversion of this input as it is now, if its outputs are still there.
pub(super) fn finished(into: &Path, input: &Path) -> Option<Done> {
    let found = read(&into.join(format!("{}.done", input::stem(input))))?;
    let there = |(number, (path, bytes)): (usize, &(PathBuf, u64))| {
        let left = found.changed_ns.get(number);
        into.join(path).metadata().is_ok_and(|now| now.len() == *bytes && left == Some(&changed_ns(&now)))
    };
    let same = found.identity.is_some() && found.identity == Identity::of(input);
    (same && !found.outputs.is_empty() && found.outputs.iter().enumerate().all(there)).then_some(found)
}

/// Refuses to write over the outputs of another input that has the same name in another folder.
pub(super) fn keep_those_of_others(into: &Path, input: &Path) -> Result<(), HaulError> {
    let path = into.join(format!("{}.done", input::stem(input)));
    let known = read(&path);
    if known.is_none() && path.exists() {
        return Err(HaulError::Foreign(path));
    }
    let Some(known) = known.filter(|known| known.input != input) else { return Ok(()) };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_same = real(&known.input) == real(input) || known.identity == Identity::of(input);
    if is_same {
        return Ok(());
    }
    let (into, known, input) = (into.display(), known.input.display(), input.display());
    let what = format!("{into} holds the output of {known}; the output of {input} would overwrite it");
    let hint =
        "take a folder of its own for each folder of inputs; or move NAME.done and the outputs of NAME away";
    Err(refused(what, hint).into())
}

impl Output {
    /// Opens the outputs, empty: a conversion that was ended begins its file again.
    pub fn open(
        into: &Path,
        input: &Path,
        names: &[String],
        (identity, rules): (Option<Identity>, u64),
    ) -> Result<Self, HaulError> {
        let done = into.join(format!("{}.done", input::stem(input)));
        let note = into.join(format!(".{}.done", input::stem(input)));
        // A run that was killed while it gave its outputs their names has left the note.
        let is_known = done.exists() || note.exists();
        let there = names.iter().map(|name| into.join(name)).find(|path| !is_known && path.exists());
        if let Some(path) = there {
            return Err(HaulError::Foreign(path));
        }
        let parts = names.iter().map(|name| Part::open(into, name)).collect::<Result<Vec<_>, _>>()?;
        let tally = Tally { lines: vec![0; names.len() - 1], ..Tally::default() };
        Ok(Self { parts, done, note, identity, rules, bytes: 0, tally })
    }

    /// Gives the files their names, once all is on disk and noted: by the note a rerun knows that they are ours. The note that the
    /// input is done comes last.
    pub fn finish(self, input: &Path, into: &Path) -> Result<Done, HaulError> {
        let (mut outputs, mut changed) = (Vec::new(), Vec::new());
        for part in &self.parts {
            part.file.sync_all().map_err(HaulError::io("write", &part.hidden))?;
            outputs.push((part.path.file_name().map(PathBuf::from).unwrap_or_default(), part.length));
            changed.push(changed_ns(&part.file.metadata().map_err(HaulError::io("read", &part.hidden))?));
        }
        let done = Done {
            input: input.to_owned(),
            identity: self.identity,
            rules: self.rules,
            bytes: self.bytes,
            tally: self.tally,
            outputs,
            changed_ns: changed,
        };
        write(&self.note, &done)?;
        for part in &self.parts {
            fs::rename(&part.hidden, &part.path).map_err(HaulError::io("write", &part.path))?;
        }
        fs::rename(&self.note, &self.done).map_err(HaulError::io("write", &self.done))?;
        File::open(into).and_then(|folder| folder.sync_all()).map_err(HaulError::io("write", into))?;
        Ok(done)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes half an output away, which is of no use to anybody.
    pub fn discard(self) {
        for part in &self.parts {
            let _ = fs::remove_file(&part.hidden);
        }
    }

    fn add(&mut self, block: &Converted) -> Result<(), HaulError> {
        for (part, bytes) in self.parts.iter_mut().zip(block.lines.iter().chain([&block.rejects])) {
            part.write(bytes)?;
        }
        self.bytes = block.end;
        self.tally.add(&block.tally);
        Ok(())
    }
}

impl Sink<Converted> for Told<'_> {
    fn settle(&mut self, offset: u64, block: &[u8], scratch: &mut Converted) -> Result<(), HaulError> {
        self.context.settle(self.seen.as_deref_mut(), offset, block, scratch)
    }

    fn take(&mut self, block: &Converted) -> Result<(), HaulError> {
        self.output.add(block)?;
        (self.tell)(&self.output.tally);
        Ok(())
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
        // What a run left that was killed.
        file.set_len(0).map_err(failed())?;
        Ok(Self { file, path, length: 0, hidden: hidden.clone(), behind: Behind::default() })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), HaulError> {
        self.length += bytes.len() as u64;
        let written = self.file.write_all(bytes).and_then(|()| self.behind.reached(&self.file, self.length));
        written.map_err(HaulError::io("write", &self.hidden))
    }
}

/// Bytes that are handed to the disk together.
const STRETCH: u64 = 8 << 20;

/// Writes a file out behind who fills it. Otherwise all of it would wait for the end, where a file has to be on disk before it gets
/// its name and nothing else is left to do.
#[derive(Default)]
pub(super) struct Behind {
    /// Where the stretch begins that the disk was not told of.
    from: u64,
    disk: Option<Disk>,
}

/// Who hands stretches to the disk: where each begins, and its bytes.
struct Disk {
    asked: Sender<(u64, u64)>,
    thread: JoinHandle<()>,
}

impl Behind {
    /// The file has so many bytes now.
    pub fn reached(&mut self, file: &File, length: u64) -> io::Result<()> {
        if length < self.from + STRETCH {
            return Ok(());
        }
        let disk = match &mut self.disk {
            Some(disk) => disk,
            none => none.insert(begin(file.try_clone()?)?),
        };
        // Gone only if it panicked, and what is not written early is written at the end.
        let _ = disk.asked.send((self.from, length - self.from));
        self.from = length;
        Ok(())
    }
}

/// A thread of its own, since a busy disk has who hands it something wait.
fn begin(file: File) -> io::Result<Disk> {
    let (asked, stretches) = channel();
    let write_out = move || {
        for (from, bytes) in stretches {
            // What fails here fails again, and is told, when the file is synced.
            let _ = evenkeel_os::file::begin_write_out(&file, from, bytes);
        }
    };
    let thread = std::thread::Builder::new().name("write-out".to_owned()).spawn(write_out)?;
    Ok(Disk { asked, thread })
}

impl Drop for Behind {
    fn drop(&mut self) {
        if let Some(Disk { asked, thread }) = self.disk.take() {
            drop(asked);
            let _ = thread.join();
        }
    }
}

/// An input that is converted: `NAME.done`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    pub input: PathBuf,
    /// What it was; `None` of a pipe.
    pub identity: Option<Identity>,
    /// XXH3 of the layout file and of what else decides what becomes of a record: of the inputs before it, where records that come
    /// twice are refused.
    pub rules: u64,
    /// Bytes of it, unpacked.
    pub bytes: u64,
    /// What became of its records.
    pub tally: Tally,
    /// Files that were written, with their bytes.
    pub outputs: Vec<(PathBuf, u64)>,
    /// When each of them was last changed, nanoseconds since 1970. One that was changed since is no output any more, even of as many
    /// bytes.
    pub changed_ns: Vec<i128>,
}

/// What a file says; `None` where it is not there, or is none of ours.
fn read(path: &Path) -> Option<Done> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn write(path: &Path, done: &Done) -> Result<(), HaulError> {
    let written = || -> io::Result<()> {
        let mut file = File::create(path)?;
        file.write_all(&serde_json::to_vec_pretty(done)?)?;
        file.sync_all()
    };
    let written = written();
    if written.is_err() {
        // Half a file of a full disk is of no use to anybody.
        let _ = fs::remove_file(path);
    }
    written.map_err(HaulError::io("write", path))
}
