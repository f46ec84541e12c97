//! The journal on disk: a line of JSON for each tick, with all that the controller got to see.
//!
//! The file is bounded: when it is full it becomes `FILE.1`, and that one is forgotten.

use anyhow::{Context, Result};
use evenkeel_core::Nanos;
use evenkeel_core::control::{Response, Sample, Signals};
use evenkeel_core::control::{Sensor, values};
use evenkeel_guard::control::Entry;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes of one file; two are kept. An hour at ten ticks a second takes some 15 MB.
pub const FILE_MAX: u64 = 64 << 20;

/// A tick as a line has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    #[serde(flatten, with = "SampleFields")]
    pub sample: Sample,
    pub decided: u32,
    pub why: String,
}

/// The fields of a [`Sample`], which has no serde of its own, as they stand in a line.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Sample")]
struct SampleFields {
    #[serde(rename = "start_ns", with = "NanosNumber")]
    start: Nanos,
    #[serde(rename = "end_ns", with = "NanosNumber")]
    end: Nanos,
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
    #[serde(default, skip_serializing_if = "Option::is_none", with = "triple")]
    response: Option<Response>,
    #[serde(default, skip_serializing_if = "is_blind", with = "by_name")]
    signals: Signals,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Nanos")]
struct NanosNumber(u64);

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn is_blind(signals: &Signals) -> bool {
    *signals == Signals::default()
}

/// Mean, shortest, longest in seconds.
mod triple {
    use super::{Response, Serialize};
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(response: &Option<Response>, out: S) -> Result<S::Ok, S::Error> {
        response.map(|r| [r.mean, r.min, r.max]).serialize(out)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(text: D) -> Result<Option<Response>, D::Error> {
        let response = Option::<[f64; 3]>::deserialize(text)?;
        Ok(response.map(|[mean, min, max]| Response { mean, min, max }))
    }
}

/// Readings by the names of their sensors; one that is not available is left out.
mod by_name {
    use super::{BTreeMap, Sensor, Signals, values};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(signals: &Signals, out: S) -> Result<S::Ok, S::Error> {
        let named = Sensor::ALL.iter().zip(values(signals));
        let there = named.filter_map(|(sensor, value)| Some((sensor.name(), value?)));
        there.collect::<BTreeMap<_, _>>().serialize(out)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(text: D) -> Result<Signals, D::Error> {
        let named = BTreeMap::<String, f64>::deserialize(text)?;
        let mut signals = Signals::default();
        for sensor in Sensor::ALL {
            *sensor.of(&mut signals) = named.get(sensor.name()).copied();
        }
        Ok(signals)
    }
}

impl From<&Entry> for Recorded {
    fn from(entry: &Entry) -> Self {
        let Entry { sample, verdict } = entry;
        Self { sample: sample.clone(), decided: verdict.limit, why: verdict.to_string() }
    }
}

/// Writes entries to the journal's file, a line of JSON each.
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
        let mut line = serde_json::to_string(&Recorded::from(entry))?;
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

/// Reads a journal, also while it is written.
pub struct Follower {
    file: BufReader<File>,
    /// The start of a line that is not whole yet.
    part: String,
}

impl Follower {
    /// From the first tick on.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("opening journal {}", path.display()))?;
        Ok(Self { file: BufReader::new(file), part: String::new() })
    }

    /// The ticks that came since the last call.
    /// Errors: a line that is no tick, or the disk.
    pub fn ticks(&mut self) -> Result<Vec<Recorded>> {
        let mut ticks = Vec::new();
        while self.file.read_line(&mut self.part)? > 0 && self.part.ends_with('\n') {
            ticks.push(serde_json::from_str(&self.part).context("reading a tick of a journal")?);
            self.part.clear();
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
        let read = Follower::open(&path).unwrap().ticks().unwrap();
        assert_eq!((&read[0].sample, &read[1].sample), (&entry().sample, &odd.sample));
        assert_eq!((read[0].decided, read[0].why.as_str()), (4, "limit 4, because it is fixed"));
    }

    /// Journals of earlier versions are read, and programs of others read ours.
    #[test]
    fn a_line_stays_as_it_is() {
        let line = concat!(
            r#"{"start_ns":100000000,"end_ns":200000000,"limit":4,"in_flight_mean":3.5,"in_flight_max":4,"queued":2.0,"#,
            r#""completions":10,"work":9.5,"rolled_back":1,"response":[0.02,0.01,0.05],"signals":{"cpu_per_commit":0.002},"#,
            r#""decided":4,"why":"limit 4, because it is fixed"}"#
        );
        let mut tick: Recorded = serde_json::from_str(line).unwrap();
        assert_eq!((tick.sample.start, tick.sample.rejected), (Nanos::from_millis(100), 0));
        assert_eq!(serde_json::to_string(&tick).unwrap(), line);
        (tick.sample.rolled_back, tick.sample.response, tick.sample.signals) = (0, None, Signals::default());
        let short = serde_json::to_string(&tick).unwrap();
        assert!(short.contains(r#""work":9.5,"decided":4"#), "{short}");
        assert_eq!(serde_json::from_str::<Recorded>(&short).unwrap(), tick);
    }

    #[test]
    fn a_journal_is_followed_tick_by_tick_and_a_part_of_a_line_waits_for_its_rest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        assert!(Follower::open(&path).is_err());
        let line = format!("{}\n", serde_json::to_string(&Recorded::from(&entry())).unwrap());
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
}
