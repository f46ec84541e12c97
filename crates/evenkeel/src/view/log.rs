//! Events as lines on stderr: `key=value`, or JSON for machines.

use crate::format::instant;
use evenkeel_os::clock::{Clock, unix_time};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Form of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// `time=2026-11-23T01:02:03.456Z level=info event=limit from=4 to=5 why="..."`
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

impl Form {
    pub const NAMES: [(&str, Self); 2] = [("text", Self::Text), ("json", Self::Json)];
}

/// An event: its level, its name, and an object of its fields.
pub type Parts = (&'static str, &'static str, Value);

/// One event as a line without its end; `unix_ms` is the time of day.
pub fn line((level, name, fields): Parts, unix_ms: u128, form: Form) -> String {
    let unix_ms = u64::try_from(unix_ms).unwrap_or(u64::MAX);
    let mut all = vec![("time".to_owned(), json!(instant(unix_ms)))];
    if form == Form::Json {
        // A number is what machines compare.
        all.push(("time_ms".to_owned(), json!(unix_ms)));
    }
    all.extend([("level".to_owned(), json!(level)), ("event".to_owned(), json!(name))]);
    if let Value::Object(fields) = fields {
        all.extend(fields);
    }
    match form {
        Form::Json => Value::Object(Map::from_iter(all)).to_string(),
        Form::Text => {
            all.iter().map(|(key, value)| format!("{key}={}", plain(value))).collect::<Vec<_>>().join(" ")
        }
    }
}

/// Words without blanks stand as they are, everything else in quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text)
            if !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() && c != '"' && c != '=') =>
        {
            text.clone()
        }
        other => other.to_string(),
    }
}

// Lines for a reader who may not read: nobody waits for him.
//
// A pipe that is full stops whoever writes to it, and a service whose log has no reader any more must go on. So a thread
// of its own writes, and what finds the queue full is dropped and counted; how many those were is a line of its own, as
// soon as there is room.

/// Lines that wait to be written: more are dropped.
const LINES_MAX: usize = 1_024;
/// How often it is looked whether all is written, at the end.
const NAP: Duration = Duration::from_millis(1);

#[derive(Clone)]
pub struct Lines {
    queue: Sender<(String, Form)>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    waiting: AtomicUsize,
    dropped: AtomicUsize,
}

impl Lines {
    /// Starts the thread, which lives as long as the process.
    pub fn start(to: impl Write + Send + 'static) -> std::io::Result<Self> {
        let ((queue, lines), counts) = (channel(), Arc::<Counts>::default());
        let written = Arc::clone(&counts);
        std::thread::Builder::new().name("log".into()).spawn(move || write(&lines, &written, to))?;
        Ok(Self { queue, counts })
    }

    /// Has a line written some time, if there is room.
    pub fn tell(&self, line: String, form: Form) {
        if self.counts.waiting.fetch_add(1, SeqCst) < LINES_MAX && self.queue.send((line, form)).is_ok() {
            return;
        }
        self.counts.dropped.fetch_add(1, SeqCst);
        self.counts.waiting.fetch_sub(1, SeqCst);
    }

    /// Waits until all is written, but no longer than this.
    pub fn finish(&self, patience: Duration) {
        let clock = Clock::start();
        while self.counts.waiting.load(SeqCst) > 0 && Duration::from(clock.now()) < patience {
            std::thread::sleep(NAP);
        }
    }
}

fn write(lines: &Receiver<(String, Form)>, counts: &Counts, mut to: impl Write) {
    // A reader who is gone stops nobody.
    let mut write = |text: &str| drop(to.write_all(format!("{text}\n").as_bytes()));
    for (text, form) in lines {
        write(&text);
        let is_last = counts.waiting.load(SeqCst) == 1;
        let count = if is_last { counts.dropped.swap(0, SeqCst) } else { 0 };
        if count > 0 {
            let text = format!("{count} lines dropped");
            let fields = json!({ "count": count, "text": text, "hint": "the log is not read fast enough" });
            write(&line(("warn", "lines_dropped", fields), unix_time().as_millis(), form));
        }
        counts.waiting.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

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
