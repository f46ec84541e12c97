//! Lines for a reader who may not read: nobody waits for him.
//!
//! A pipe that is full stops whoever writes to it, and a service whose log has no reader any more must go on. So a thread
//! of its own writes, and what finds the queue full is dropped and counted; how much that was is a line of its own, as
//! soon as there is room.

use super::log::{Form, line};
use crate::clock::unix_time;
use serde_json::json;
use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Lines that wait to be written, and their bytes: more are dropped.
const LINES_MAX: usize = 1_024;
const BYTES_MAX: usize = 256 << 10;

#[derive(Clone, Default)]
pub struct Lines(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    lines: VecDeque<String>,
    bytes: usize,
    dropped: u64,
    form: Form,
    writes: bool,
}

impl Queue {
    fn push(&mut self, line: String) {
        if self.lines.len() >= LINES_MAX || self.bytes + line.len() > BYTES_MAX {
            self.dropped += 1;
            return;
        }
        self.tell_dropped();
        self.bytes += line.len();
        self.lines.push_back(line);
    }

    fn tell_dropped(&mut self) {
        let count = std::mem::take(&mut self.dropped);
        if count > 0 {
            let text = format!("{count} lines dropped");
            let fields = json!({ "count": count, "text": text, "hint": "the log is not read fast enough" });
            let told = line(("warn", "lines_dropped", fields), unix_time().as_millis(), self.form);
            self.bytes += told.len();
            self.lines.push_back(told);
        }
    }

    fn next(&mut self) -> Option<String> {
        if self.lines.is_empty() {
            self.tell_dropped();
        }
        let line = self.lines.pop_front();
        self.bytes -= line.as_ref().map_or(0, String::len);
        self.writes = line.is_some();
        line
    }
}

impl Lines {
    /// Starts the thread, which lives as long as the process.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(to: impl Write + Send + 'static) -> std::io::Result<Self> {
        let lines = Self::default();
        let written = lines.clone();
        std::thread::Builder::new().name("log".into()).spawn(move || written.write(to))?;
        Ok(lines)
    }

    /// Has a line written some time, if there is room.
    pub fn tell(&self, line: String, form: Form) {
        let mut queue = self.lock();
        queue.form = form;
        queue.push(line);
        self.0.changed.notify_all();
    }

    /// The form of what was told last.
    pub fn form(&self) -> Form {
        self.lock().form
    }

    /// Waits until all is written, but no longer than this.
    pub fn finish(&self, patience: Duration) {
        let busy = |queue: &mut Queue| queue.writes || !queue.lines.is_empty() || queue.dropped > 0;
        // Whether it was in time or not: this is the end.
        let _ = self.0.changed.wait_timeout_while(self.lock(), patience, busy);
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, mut to: impl Write) {
        loop {
            let mut queue = self.lock();
            let next = loop {
                if let Some(line) = queue.next() {
                    break line;
                }
                self.0.changed.notify_all();
                queue = self.0.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            };
            drop(queue);
            // A reader who is gone stops nobody.
            let _ = to.write_all(format!("{next}\n").as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// Takes a line whenever it is let.
    struct Slow(Receiver<()>, Sender<String>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Once nobody lets it any more, it takes all.
            let _ = self.0.recv();
            let text = String::from_utf8_lossy(bytes).into_owned();
            self.1.send(text).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn whoever_has_something_to_tell_waits_for_no_reader_and_what_was_dropped_is_counted() {
        let ((let_go, lets), (taken, takes)) = (channel(), channel());
        let lines = Lines::start(Slow(lets, taken)).expect("a thread");
        (0..5_000).for_each(|number| lines.tell(format!("line {number}"), Form::Text));
        lines.finish(Duration::from_millis(1));
        assert!(takes.try_recv().is_err(), "nothing was taken yet");
        drop(let_go);
        lines.finish(Duration::from_secs(60));
        let written: Vec<String> = takes.try_iter().collect();
        let (kept, counts): (Vec<&String>, Vec<&String>) =
            written.iter().partition(|line| line.starts_with("line "));
        let count = |line: &&String| line.split(" count=").nth(1)?.split(' ').next()?.parse::<usize>().ok();
        let dropped: usize = counts.iter().filter_map(count).sum();
        assert!(kept.len() >= LINES_MAX && kept.len() + dropped == 5_000, "{} and {counts:?}", kept.len());
        let last = written.last().expect("lines");
        assert!(last.contains("event=lines_dropped") && last.contains(" lines dropped\""), "{last}");
        lines.tell("and on".into(), Form::Text);
        lines.finish(Duration::from_secs(60));
        assert_eq!(takes.try_iter().collect::<Vec<_>>(), ["and on\n"]);
    }
}
