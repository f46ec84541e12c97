//! What passes a guard, written to files: each command that went to the server, and what came of it.
//!
//! Sessions put records into one buffer, which a thread of its own empties into the file. Nobody waits for the disk: where the buffer is
//! full a record is left out, and counted. Where the file cannot be written the capture ends, and the guard goes on.

mod mask;
mod tape;

use evenkeel_core::Nanos;
use evenkeel_os::clock::{monotonic, unix_time};
use evenkeel_os::{Background, free_bytes};
use evenkeel_wire::capture::{MAGIC, Record};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
pub use tape::Tape;

/// Records that wait for the disk, bytes.
const BUFFER_MAX: usize = 64 << 20;
/// Commands that are still coming in, bytes of all sessions together.
const UNFINISHED_MAX: usize = 256 << 20;
const WRITE_EVERY: Duration = Duration::from_millis(20);
/// The server may have its data on the same disk.
const FREE_MIN: u64 = 1 << 30;

/// Where it is written, and what of it.
#[derive(Clone, Debug)]
pub struct Settings {
    pub folder: PathBuf,
    /// Most bytes of all files.
    pub most: u64,
    /// Values in statements are replaced, and commands with parameters left out.
    pub redact: bool,
    /// What the first line of each file says of the server, as JSON.
    pub server: String,
}

/// What the disk has to take next.
#[derive(Debug, Default)]
struct Waiting {
    bytes: Vec<u8>,
    commands: u64,
}

/// Shared by all sessions.
#[derive(Debug)]
pub struct Capture {
    settings: Settings,
    waiting: Mutex<Waiting>,
    unfinished: AtomicUsize,
    sessions: AtomicU64,
    /// Commands that are in the files, and those that are not.
    pub commands: AtomicU64,
    pub left_out: AtomicU64,
    /// Bytes of files.
    pub bytes: AtomicU64,
    over: AtomicBool,
    /// Why it ended.
    failed: OnceLock<String>,
    /// Nanoseconds since 1970 at the origin of the monotonic clock.
    origin: u64,
}

impl Capture {
    /// Makes the folder and a first file, and writes from now on, until what comes with it is dropped.
    /// Errors: the folder or the file cannot be made.
    pub fn start(settings: Settings) -> io::Result<(Arc<Self>, Background<()>)> {
        DirBuilder::new().recursive(true).mode(0o700).create(&settings.folder)?;
        let origin = Nanos::from(unix_time()) - monotonic();
        let capture = Arc::new(Self {
            settings,
            waiting: Mutex::default(),
            unfinished: AtomicUsize::new(0),
            sessions: AtomicU64::new(0),
            commands: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            over: AtomicBool::new(false),
            failed: OnceLock::new(),
            origin: origin.0,
        });
        let mut file = capture.file()?;
        let writer = Arc::clone(&capture);
        let thread = Background::start("capture", move |until| {
            let (mut goes_on, mut full) = (true, Waiting::default());
            while goes_on {
                goes_on = until.wait(WRITE_EVERY);
                if let Err(error) = writer.empty(&mut full, &mut file) {
                    writer.end(error.to_string());
                }
            }
            let mut bytes = Vec::new();
            let left_out = writer.left_out.load(Ordering::Relaxed);
            Record::Ended { left_out, at: writer.now() }.write(&mut bytes);
            // Without it a reader knows that the file is not whole.
            let _ = file.write_all(&bytes);
        })?;
        Ok((capture, thread))
    }

    /// Why nothing more is written; `None` as long as it is.
    pub fn failed(&self) -> Option<&str> {
        self.failed.get().map(String::as_str)
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn end(&self, why: String) {
        let _ = self.failed.set(why);
        self.over.store(true, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        self.origin + monotonic().0
    }

    /// Puts a record, which stands for so many commands. Where there is no room it is counted as left out; false then.
    fn put(&self, record: &Record<'_>, commands: u64) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let is_kept = !self.is_over() && waiting.bytes.len() < BUFFER_MAX;
        if is_kept {
            record.write(&mut waiting.bytes);
            waiting.commands += commands;
        } else {
            self.left_out.fetch_add(commands, Ordering::Relaxed);
        }
        is_kept
    }

    /// Writes what has been put since the last time: all of it, or nothing.
    fn empty(&self, full: &mut Waiting, file: &mut File) -> io::Result<()> {
        full.bytes.clear();
        full.commands = 0;
        // Its memory is filled again: sessions do not wait for more of it.
        std::mem::swap(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner), full);
        if full.bytes.is_empty() {
            return Ok(());
        }
        let written = if self.is_over() { Ok(()) } else { self.write(&full.bytes, file) };
        let is_kept = written.is_ok() && !self.is_over();
        let count = if is_kept { &self.commands } else { &self.left_out };
        count.fetch_add(full.commands, Ordering::Relaxed);
        written
    }

    fn write(&self, bytes: &[u8], file: &mut File) -> io::Result<()> {
        let written = self.bytes.load(Ordering::Relaxed);
        if written + bytes.len() as u64 > self.settings.most {
            return Err(io::Error::other(format!("it has reached --capture-max ({written} bytes)")));
        }
        if free_bytes(&self.settings.folder)? < FREE_MIN {
            return Err(io::Error::other("less than 1 GiB of its disk is free"));
        }
        let length = file.stream_position()?;
        if let Err(error) = file.write_all(bytes) {
            // A part of it would be neither there nor left out.
            file.set_len(length)?;
            return Err(error);
        }
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// A file of the user's alone, named by its time, with its first line.
    fn file(&self) -> io::Result<File> {
        let Settings { folder, redact, server, .. } = &self.settings;
        let now = self.now();
        let path = folder.join(format!("{:020}.capture", now / 1_000));
        let mut file = made(&path)?;
        let line =
            format!("{{\"source\":\"guard\",\"server\":{server},\"began\":{now},\"redacted\":{redact}}}\n");
        file.write_all(&[MAGIC.as_slice(), line.as_bytes()].concat())?;
        Ok(file)
    }
}

fn made(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    // The folder's entry too has to be there after a loss of power.
    path.parent().map_or(Ok(()), |folder| fs::File::open(folder)?.sync_all())?;
    Ok(file)
}
