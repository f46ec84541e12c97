//! What is read: files, folders and patterns, packed or not.

use crate::HaulError;
use std::fs::{File, Metadata};
use std::io;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The name that the outputs of a file begin with: its own, without what says how it is packed.
pub fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let packed = [".gz", ".zst"].into_iter().find_map(|ending| name.strip_suffix(ending));
    packed.unwrap_or(&name).to_owned()
}

/// What grew or was replaced while it was read was not read as one file.
pub(crate) fn changed(path: &Path, at: u64) -> HaulError {
    let what = "its size, modification time or inode is different now; run again when nothing writes to it";
    HaulError::Changed { path: path.to_owned(), at, what }
}

/// The inputs that these words name, in the order of the words; what a folder or a pattern holds, by name. `-` is the standard input.
/// Hidden files of a folder are left out, since they are not finished, as a rule.
pub fn list(words: &[String]) -> Result<Vec<PathBuf>, HaulError> {
    let mut found = Vec::new();
    for word in words {
        match word.as_str() {
            "-" => found.push("/dev/stdin".into()),
            _ if Path::new(word).is_dir() => found.extend(folder(Path::new(word))?),
            _ if Path::new(word).exists() => found.push(word.into()),
            _ => found.extend(pattern(word)?),
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|input| seen.insert(input.clone()));
    Ok(found)
}

fn folder(path: &Path) -> Result<Vec<PathBuf>, HaulError> {
    let mut found = Vec::new();
    for entry in path.read_dir().map_err(HaulError::io("read", path))? {
        let entry = entry.map_err(HaulError::io("read", path))?;
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if !hidden && entry.path().is_file() {
            found.push(entry.path());
        }
    }
    found.sort();
    match found.is_empty() {
        true => Err(HaulError::Nothing(path.display().to_string())),
        false => Ok(found),
    }
}

fn pattern(word: &str) -> Result<Vec<PathBuf>, HaulError> {
    let nothing = || HaulError::Nothing(word.to_owned());
    let paths = glob::glob(word).map_err(|_| nothing())?;
    let mut found: Vec<PathBuf> = paths.flatten().filter(|path| path.exists() && !path.is_dir()).collect();
    found.sort();
    if found.is_empty() { Err(nothing()) } else { Ok(found) }
}

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Byte order marks of UTF-16.
const UTF16: [&[u8]; 2] = [&[0xff, 0xfe], &[0xfe, 0xff]];
/// Bytes that are read from a packed file at once.
const BUFFER: usize = 1 << 18;

/// An input that is open, at the offset that was asked for.
pub struct Opened {
    /// What it says, unpacked.
    pub stream: Box<dyn Read + Send>,
    /// Bytes of the file that were read so far, packed as they are.
    pub read: Arc<AtomicU64>,
    /// What it was when it was opened; `None` of a pipe.
    pub identity: Option<Identity>,
}

/// What tells a file from what it becomes by being changed or replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Identity {
    /// Number of the file on its device.
    pub inode: u64,
    /// Size in bytes.
    pub size: u64,
    /// When it was last written, nanoseconds since 1970.
    pub changed_ns: i128,
}

impl Identity {
    /// Of a file as it is now; `None` where there is none.
    pub fn of(path: &Path) -> Option<Self> {
        Some(Self::from(&path.metadata().ok()?))
    }

    fn from(found: &Metadata) -> Self {
        Self { inode: found.ino(), size: found.len(), changed_ns: changed_ns(found) }
    }
}

/// When a file was last written, nanoseconds since 1970.
pub(crate) fn changed_ns(found: &Metadata) -> i128 {
    i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec())
}

/// Opens an input at an offset of what it says, unpacked.
pub fn open(path: &Path, offset: u64) -> Result<Opened, HaulError> {
    let failed = || HaulError::io("read", path);
    let read = Arc::new(AtomicU64::new(0));
    let mut file = File::open(path).map_err(failed())?;
    let found = file.metadata().map_err(failed())?;
    let identity = found.is_file().then(|| Identity::from(&found));
    if identity.is_some() && !starts_packed(&mut file).map_err(failed())? {
        file.seek(SeekFrom::Start(offset)).map_err(failed())?;
        read.store(offset, Ordering::Relaxed);
        let stream = Box::new(Counted { stream: file, read: Arc::clone(&read) });
        return Ok(Opened { stream, read, identity });
    }
    let stream = unpacked(Counted { stream: file, read: Arc::clone(&read) }).map_err(failed())?;
    skipped(Opened { stream, read, identity }, offset).map_err(failed())
}

/// Whether a file is packed or in UTF-16; one that cannot be read is not.
pub(crate) fn is_packed(path: &Path) -> bool {
    File::open(path).is_ok_and(|mut file| starts_packed(&mut file).unwrap_or(false))
}

/// Whether a file that can seek is packed; it stands at its beginning afterwards.
fn starts_packed(file: &mut File) -> io::Result<bool> {
    let mut head = Vec::new();
    file.by_ref().take(ZSTD.len() as u64).read_to_end(&mut head)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(head.starts_with(GZIP) || head.starts_with(ZSTD) || is_utf16(&head))
}

fn is_utf16(head: &[u8]) -> bool {
    UTF16.iter().any(|mark| head.starts_with(mark))
}

fn unpacked(stream: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let (head, whole) = head(stream)?;
    match head {
        head if head.starts_with(GZIP) => {
            decoded(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(BUFFER, whole)))
        }
        head if head.starts_with(ZSTD) => decoded(zstd::stream::read::Decoder::new(whole)?),
        _ => decoded(whole),
    }
}

/// UTF-16 as UTF-8.
fn decoded(stream: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let (head, whole) = head(stream)?;
    match is_utf16(&head) {
        true => Ok(Box::new(encoding_rs_io::DecodeReaderBytes::new(whole))),
        false => Ok(Box::new(whole)),
    }
}

/// A stream whose first bytes were read, from its beginning.
type Whole<R> = io::Chain<io::Cursor<Vec<u8>>, R>;

/// The first bytes of a stream, and the whole.
fn head<R: Read>(mut stream: R) -> io::Result<(Vec<u8>, Whole<R>)> {
    let mut head = Vec::new();
    stream.by_ref().take(ZSTD.len() as u64).read_to_end(&mut head)?;
    Ok((head.clone(), io::Cursor::new(head).chain(stream)))
}

/// Reads on to the offset: what is packed has no other way there.
fn skipped(mut opened: Opened, offset: u64) -> io::Result<Opened> {
    let passed = io::copy(&mut opened.stream.by_ref().take(offset), &mut io::sink())?;
    match passed == offset {
        true => Ok(opened),
        false => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it is shorter than it was")),
    }
}

/// Counts what is read.
pub(crate) struct Counted<R, C> {
    pub stream: R,
    pub read: C,
}

impl<R: Read, C: Deref<Target = AtomicU64>> Read for Counted<R, C> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(into)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn files_folders_and_patterns_name_each_file_once_and_a_name_without_a_file_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        for name in ["b.cdr", "a.cdr", ".c.part", "x.txt"] {
            std::fs::write(home.path().join(name), "").unwrap();
        }
        let of = |words: &[&str]| {
            let words: Vec<String> =
                words.iter().map(|word| home.path().join(word).display().to_string()).collect();
            list(&words).map(|found| found.iter().map(|path| crate::input::stem(path)).collect::<Vec<_>>())
        };
        assert_eq!(of(&[""]).unwrap(), ["a.cdr", "b.cdr", "x.txt"]);
        assert_eq!(of(&["b.cdr", "*.cdr"]).unwrap(), ["b.cdr", "a.cdr"]);
        assert!(matches!(of(&["c.cdr"]), Err(HaulError::Nothing(_))));
        assert!(matches!(of(&["*.zip"]), Err(HaulError::Nothing(_))));
        assert_eq!(list(&["-".to_owned()]).unwrap(), [PathBuf::from("/dev/stdin")]);
    }

    fn said(path: &Path, offset: u64) -> String {
        let mut text = String::new();
        let mut opened = open(path, offset).unwrap();
        opened.stream.read_to_string(&mut text).unwrap();
        assert_eq!(opened.read.load(Ordering::Relaxed), path.metadata().unwrap().len());
        text
    }

    fn utf16(text: &str) -> Vec<u8> {
        [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn what_is_packed_is_unpacked_by_its_first_bytes_and_begins_at_any_offset() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a");
        let text = "0123456789".repeat(1000);
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(text.as_bytes()).unwrap();
        let gzip = packer.finish().unwrap();
        for bytes in [
            text.clone().into_bytes(),
            [gzip.clone(), gzip].concat(),
            zstd::encode_all(text.as_bytes(), 1).unwrap(),
            utf16(&text),
            zstd::encode_all(&utf16(&text)[..], 1).unwrap(),
        ] {
            std::fs::write(&path, bytes).unwrap();
            assert!(said(&path, 0).starts_with(&text));
            assert!(said(&path, 9_990).starts_with("0123456789"));
        }
        assert!(open(&path, 10_001).is_err(), "it ends before");
    }
}
