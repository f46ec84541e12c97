//! Keys that one call leaves to the next, in a file.
//!
//! The file has a line that says what it is, a line of JSON with the inputs, the entries sorted by their keys, and eight bytes by
//! which a damaged one is told. It is written anew beside the old one, and takes its name once all of it is on disk.

use super::run::Run;
use super::{ENTRY, Entry, Place, Seen};
use crate::HaulError;
use crate::input::{Identity, Input};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

const FIRST_LINE: &str = "evenkeel keys 1\n";
/// Bytes of the line of inputs at most.
const HEADER: u64 = 1 << 30;

/// An input whose keys are known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The name by which it was read.
    pub path: PathBuf,
    /// What it was; `None` of a pipe, which never comes again.
    pub identity: Option<Identity>,
    /// When it was read: seconds since 1970.
    pub read_s: u64,
}

/// The keys of earlier calls, which nobody else adds to as long as this lives.
pub struct Store {
    path: PathBuf,
    sources: Vec<Source>,
    /// Inputs that were read before are forgotten.
    oldest_s: u64,
    now_s: u64,
    /// The file, which stands at its first entry, and how many it has; `None` where there is none yet.
    file: Option<(File, u64)>,
    /// XXH3 of the entries.
    sum: u64,
    /// Inputs that the file knows; those behind them are of this call.
    earlier: usize,
    _lock: File,
}

impl Store {
    /// Opens it, or begins one; what was read more than `keep_s` seconds ago is forgotten.
    ///
    /// # Errors
    /// It is none, is damaged, or somebody else has it.
    pub fn open(path: &Path, now_s: u64, keep_s: Option<u64>) -> Result<Self, HaulError> {
        let failed = || HaulError::io("read keys in", path);
        let lock = lock(path)?;
        let oldest_s = keep_s.map_or(0, |keep| now_s.saturating_sub(keep));
        let mut store = Self {
            path: path.to_owned(),
            sources: Vec::new(),
            oldest_s,
            now_s,
            file: None,
            sum: 0,
            earlier: 0,
            _lock: lock,
        };
        match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            file => store.read(file.map_err(failed())?).map_err(failed())?,
        }
        Ok(store)
    }

    fn read(&mut self, mut file: File) -> io::Result<()> {
        let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let length = file.metadata()?.len();
        let mut head = BufReader::new(Read::by_ref(&mut file).take(HEADER));
        let (mut first, mut inputs) = (vec![0; FIRST_LINE.len()], Vec::new());
        let is_ours = head.read_exact(&mut first).is_ok() && first == FIRST_LINE.as_bytes();
        if !is_ours {
            return Err(damaged("it is no file of keys"));
        }
        head.read_until(b'\n', &mut inputs)?;
        self.sources =
            serde_json::from_slice(&inputs).map_err(|_| damaged("its list of inputs is damaged"))?;
        self.earlier = self.sources.len();
        let begin = (first.len() + inputs.len()) as u64;
        let bytes = length.checked_sub(begin + 8).filter(|bytes| bytes.is_multiple_of(ENTRY as u64));
        let count = bytes.ok_or_else(|| damaged("it ends too early"))? / ENTRY as u64;
        let mut sum = [0; 8];
        file.seek(SeekFrom::Start(length - 8))?;
        file.read_exact(&mut sum)?;
        self.sum = u64::from_be_bytes(sum);
        file.seek(SeekFrom::Start(begin))?;
        self.file = Some((file, count));
        Ok(())
    }

    /// Numbers of inputs among all that are known, and all their names. One that was read before, and is the same, has its number.
    pub fn number(&mut self, inputs: &[Input]) -> Result<(Vec<u32>, Vec<PathBuf>), HaulError> {
        let mut names: Vec<PathBuf> = self.sources.iter().map(|source| source.path.clone()).collect();
        let mut numbers = Vec::new();
        for input in inputs {
            let identity = Identity::of(input.path());
            let known =
                self.sources.iter().position(|source| identity.is_some() && source.identity == identity);
            let number = known.unwrap_or(self.sources.len());
            let path = input.path().canonicalize().unwrap_or_else(|_| input.path().to_owned());
            let source = Source { path, identity, read_s: self.now_s };
            match known {
                Some(number) => self.sources[number] = source,
                None => self.sources.push(source),
            }
            names.resize(self.sources.len(), PathBuf::new());
            input.path().clone_into(&mut names[number]);
            numbers.push(number as u32);
        }
        super::check_inputs(self.sources.len())?;
        Ok((numbers, names))
    }

    /// Whether an earlier call left the keys of the input with this number.
    pub fn has(&self, number: u32) -> bool {
        (number as usize) < self.earlier
    }

    /// What its entries are, as a number.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// All keys of earlier calls; what memory does not hold later goes into unnamed files of a folder that exists.
    pub fn seen(&self, home: &Path) -> Result<Seen, HaulError> {
        let expired = self.sources.iter().map(|source| source.read_s < self.oldest_s).collect();
        Seen::of_earlier(home, expired, |tell| self.run(tell))
    }

    /// Its entries; `None` where it has none yet.
    fn run(&self, tell: &mut dyn FnMut(Entry)) -> Result<Option<Run>, HaulError> {
        let Some((file, count)) = &self.file else { return Ok(None) };
        let run = file.try_clone().and_then(|file| Run::read(file, *count, tell));
        let run = run.and_then(|run| match run.sum == self.sum {
            true => Ok(run),
            false => Err(io::Error::new(io::ErrorKind::InvalidData, "its keys are damaged")),
        });
        run.map(Some).map_err(HaulError::io("read keys in", &self.path))
    }

    /// Writes all that was seen in inputs that are done, and forgets what is too old.
    ///
    /// # Errors
    /// The disk is full, and the like; the old file is left then.
    pub fn write(&self, seen: &Seen, is_done: &dyn Fn(u32) -> bool) -> Result<(), HaulError> {
        let (mut kept, mut numbers) = (Vec::new(), Vec::new());
        for (number, source) in (0_u32..).zip(&self.sources) {
            let keeps = source.read_s >= self.oldest_s && (self.has(number) || is_done(number));
            numbers.push(keeps.then_some(kept.len() as u32));
            if keeps {
                kept.push(source.clone());
            }
        }
        let beside = beside(&self.path, "new");
        let entries = || -> io::Result<_> {
            let renumbered = move |entry: Entry| {
                let Place { input, offset } = entry.place();
                let input = numbers.get(input as usize).copied().flatten()?;
                Some(entry.at(Place { input, offset }))
            };
            Ok(seen.entries()?.filter_map(move |entry| entry.map(&renumbered).transpose()))
        };
        let written = || -> io::Result<()> {
            let mut file = File::create(&beside)?;
            file.write_all(FIRST_LINE.as_bytes())?;
            serde_json::to_writer(&mut file, &kept)?;
            file.write_all(b"\n")?;
            let run = Run::write(file.try_clone()?, entries()?)?;
            file.seek(SeekFrom::End(0))?;
            file.write_all(&run.sum.to_be_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, &self.path)?;
            let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
        };
        let written = written();
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written.map_err(HaulError::io("write keys to", &self.path))
    }
}

/// A hidden name beside a file's own.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{ending}"))
}

/// Two calls that add to one file would each forget what the other one saw.
fn lock(path: &Path) -> Result<File, HaulError> {
    let beside = beside(path, "lock");
    let lock = File::create(&beside).map_err(HaulError::io("write", &beside))?;
    match evenkeel_os::try_lock(lock.as_fd()).map_err(HaulError::io("lock", &beside))? {
        true => Ok(lock),
        false => Err(HaulError::InUse(path.to_owned())),
    }
}
