//! Opens an input, and unpacks it where its first bytes say that it is packed.

use crate::HaulError;
use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
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

/// Whether a file is packed; one that cannot be read is not.
pub(crate) fn is_packed(path: &Path) -> bool {
    File::open(path).is_ok_and(|mut file| starts_packed(&mut file).unwrap_or(false))
}

/// Whether a file that can seek is packed; it stands at its beginning afterwards.
fn starts_packed(file: &mut File) -> io::Result<bool> {
    let mut head = Vec::new();
    file.by_ref().take(ZSTD.len() as u64).read_to_end(&mut head)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(head.starts_with(GZIP) || head.starts_with(ZSTD))
}

fn unpacked(mut stream: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut head = Vec::new();
    stream.by_ref().take(ZSTD.len() as u64).read_to_end(&mut head)?;
    let kind = head.clone();
    let whole = io::Cursor::new(head).chain(stream);
    Ok(match kind {
        kind if kind.starts_with(GZIP) => {
            Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(BUFFER, whole)))
        }
        kind if kind.starts_with(ZSTD) => Box::new(zstd::stream::read::Decoder::new(whole)?),
        _ => Box::new(whole),
    })
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

    fn said(path: &Path, offset: u64) -> String {
        let mut text = String::new();
        let mut opened = open(path, offset).unwrap();
        opened.stream.read_to_string(&mut text).unwrap();
        assert_eq!(opened.read.load(Ordering::Relaxed), path.metadata().unwrap().len());
        text
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
        ] {
            std::fs::write(&path, bytes).unwrap();
            assert!(said(&path, 0).starts_with(&text));
            assert!(said(&path, 9_990).starts_with("0123456789"));
        }
    }

    #[test]
    fn a_file_that_ends_before_the_offset_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a");
        std::fs::write(&path, zstd::encode_all(&b"abc"[..], 1).unwrap()).unwrap();
        assert!(open(&path, 9).is_err());
    }
}
