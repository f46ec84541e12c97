//! Has the disk write what a file got, while more of it is made.

use std::fs::File;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

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
