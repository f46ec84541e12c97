//! The journal on disk: a line of JSON for each tick, enough to ask a controller again.
//!
//! The file is bounded: when it is full it becomes `FILE.1`, and that one is forgotten.

use anyhow::{Context, Result, bail};
use evenkeel_core::Nanos;
use evenkeel_core::control::{Response, Sample};
use evenkeel_guard::control::{Entry, Journal, Sensor, values};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes of one file; two are kept. An hour at ten ticks a second takes some 15 MB.
pub const FILE_MAX: u64 = 64 << 20;

/// A tick as a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Line {
    start_ns: u64,
    end_ns: u64,
    limit: u32,
    in_flight_mean: f64,
    in_flight_max: u32,
    queued: f64,
    completions: u64,
    work: f64,
    #[serde(default, skip_serializing_if = "is_zero")]
    rejected: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    overload: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    rolled_back: u64,
    /// Mean, shortest, longest in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<[f64; 3]>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    signals: BTreeMap<String, f64>,
    /// The limit from then on.
    decided: u32,
    why: String,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl From<&Entry> for Line {
    fn from(entry: &Entry) -> Self {
        let sample = &entry.sample;
        let named = Sensor::ALL.iter().zip(values(&sample.signals));
        Self {
            start_ns: sample.start.0,
            end_ns: sample.end.0,
            limit: sample.limit,
            in_flight_mean: sample.in_flight_mean,
            in_flight_max: sample.in_flight_max,
            queued: sample.queued,
            completions: sample.completions,
            work: sample.work,
            rejected: sample.rejected,
            overload: sample.overload,
            rolled_back: sample.rolled_back,
            response: sample.response.map(|r| [r.mean, r.min, r.max]),
            signals: named.filter_map(|(sensor, value)| Some((sensor.name().to_owned(), value?))).collect(),
            decided: entry.verdict.limit,
            why: entry.verdict.to_string(),
        }
    }
}

impl Line {
    fn sample(&self) -> Sample {
        let mut sample = Sample {
            start: Nanos(self.start_ns),
            end: Nanos(self.end_ns),
            limit: self.limit,
            in_flight_mean: self.in_flight_mean,
            in_flight_max: self.in_flight_max,
            queued: self.queued,
            completions: self.completions,
            work: self.work,
            rejected: self.rejected,
            overload: self.overload,
            rolled_back: self.rolled_back,
            response: self.response.map(|[mean, min, max]| Response { mean, min, max }),
            ..Sample::default()
        };
        for sensor in Sensor::ALL {
            *sensor.of(&mut sample.signals) = self.signals.get(sensor.name()).copied();
        }
        sample
    }
}

/// A tick that was read back.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// What the controller got to see.
    pub sample: Sample,
    /// The limit that was decided.
    pub decided: u32,
    /// The reason for it, in words.
    pub why: String,
}

/// Writes entries.
pub struct Writer {
    path: PathBuf,
    file: BufWriter<File>,
    written: u64,
    most: u64,
}

impl Writer {
    /// Goes on at the end of a file that is there.
    pub fn open(path: &Path, most: u64) -> Result<Self> {
        let open = || File::options().create(true).append(true).open(path);
        let file = open().with_context(|| format!("opening journal {}", path.display()))?;
        let written = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file), written, most })
    }

    /// Writes one tick. The disk is not waited for: a kill may cost the last lines.
    pub fn write(&mut self, entry: &Entry) -> Result<()> {
        if self.written >= self.most {
            self.turn_over()?;
        }
        let mut line = serde_json::to_string(&Line::from(entry))?;
        line.push('\n');
        self.file.write_all(line.as_bytes())?;
        self.file.flush()?;
        self.written += line.len() as u64;
        Ok(())
    }

    fn turn_over(&mut self) -> Result<()> {
        let mut old = self.path.clone().into_os_string();
        old.push(".1");
        std::fs::rename(&self.path, &old).with_context(|| format!("renaming {}", self.path.display()))?;
        *self = Self::open(&self.path, self.most)?;
        Ok(())
    }
}

/// A journal in memory, as it would be in a file.
pub fn text(journal: &Journal) -> Result<String> {
    let mut text = String::new();
    for entry in journal.entries() {
        text.push_str(&serde_json::to_string(&Line::from(entry))?);
        text.push('\n');
    }
    Ok(text)
}

/// Reads a journal. A last line that a kill cut off is passed over.
pub fn read(path: &Path) -> Result<Vec<Recorded>> {
    let file = File::open(path).with_context(|| format!("opening journal {}", path.display()))?;
    let lines: Vec<String> = BufReader::new(file).lines().collect::<Result<_, _>>()?;
    let last = lines.len();
    let mut read = Vec::with_capacity(last);
    for (number, text) in lines.iter().enumerate().map(|(index, text)| (index + 1, text)) {
        match serde_json::from_str::<Line>(text) {
            Ok(line) => read.push(Recorded { sample: line.sample(), decided: line.decided, why: line.why }),
            Err(_) if number == last => {}
            Err(error) => bail!("{}: line {number}: {error}", path.display()),
        }
    }
    Ok(read)
}

/// Reads a journal while it is written.
pub struct Follower {
    file: BufReader<File>,
    /// The start of a line that is not whole yet.
    part: String,
}

impl Follower {
    /// From the first tick on.
    ///
    /// # Errors
    /// There is no journal.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("opening journal {}", path.display()))?;
        Ok(Self { file: BufReader::new(file), part: String::new() })
    }

    /// The ticks that came since the last call.
    ///
    /// # Errors
    /// A line that is no tick, or the disk.
    pub fn ticks(&mut self) -> Result<Vec<Recorded>> {
        let mut ticks = Vec::new();
        while self.file.read_line(&mut self.part)? > 0 && self.part.ends_with('\n') {
            let line: Line = serde_json::from_str(&self.part).context("reading a tick of a journal")?;
            self.part.clear();
            ticks.push(Recorded { sample: line.sample(), decided: line.decided, why: line.why });
        }
        Ok(ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{sample, verdict};
    use super::*;

    fn entry() -> Entry {
        Entry { sample: sample(), verdict: verdict() }
    }

    #[test]
    fn what_is_written_is_read_back_exactly() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut writer = Writer::open(&path, FILE_MAX).unwrap();
        let mut odd = entry();
        odd.sample.work = 0.1 + 0.2;
        odd.sample.signals.lock_wait_share = Some(1.0 / 3.0);
        [entry(), odd.clone()].iter().for_each(|entry| writer.write(entry).unwrap());
        let read = read(&path).unwrap();
        assert_eq!((&read[0].sample, &read[1].sample), (&entry().sample, &odd.sample));
        assert_eq!((read[0].decided, read[0].why.as_str()), (4, "limit 4, because it is fixed"));
    }

    #[test]
    fn a_journal_is_followed_tick_by_tick_and_a_part_of_a_line_waits_for_its_rest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        assert!(Follower::open(&path).is_err());
        let line = format!("{}\n", serde_json::to_string(&Line::from(&entry())).unwrap());
        let append = |text: &str| {
            let mut file = File::options().create(true).append(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        append(&line[..40]);
        let mut follower = Follower::open(&path).unwrap();
        let mut count = || follower.ticks().unwrap().len();
        assert_eq!(count(), 0);
        append(&format!("{}{line}", &line[40..]));
        assert_eq!((count(), count()), (2, 0));
        append("rubbish\n");
        assert!(follower.ticks().is_err());
    }

    #[test]
    fn the_files_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut writer = Writer::open(&path, 2_000).unwrap();
        (0..100).for_each(|_| writer.write(&entry()).unwrap());
        let sizes: Vec<u64> =
            folder.path().read_dir().unwrap().map(|file| file.unwrap().metadata().unwrap().len()).collect();
        assert!(sizes.len() == 2 && sizes.iter().all(|size| *size < 2_500), "{sizes:?}");
    }

    #[test]
    fn a_line_that_was_cut_off_is_passed_over_and_a_wrong_one_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let line = serde_json::to_string(&Line::from(&entry())).unwrap();
        std::fs::write(&path, format!("{line}\n{}", &line[..40])).unwrap();
        assert_eq!(read(&path).unwrap().len(), 1);
        std::fs::write(&path, format!("{line}\nrubbish\n{line}\n")).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
    }
}
