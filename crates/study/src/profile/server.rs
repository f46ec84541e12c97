//! What the server and its disk did in a run, in figures that can be set beside those of other runs.

use super::figures::{estimate, parts_figures};
use crate::store::format::{EstimateRecord, RunFile, StretchRecord};
use evenkeel_core::Nanos;
use evenkeel_sense::sampler::SenseSample;
use evenkeel_sense::status::is_of_sessions;
use std::collections::BTreeMap;

/// Counters per completed request, by name; several are added up.
pub const COUNTERS_PER_REQUEST: [(&str, &[&str]); 11] = [
    ("pool_read_requests_per_request", &["Innodb_buffer_pool_read_requests"]),
    ("pool_reads_per_request", &["Innodb_buffer_pool_reads"]),
    ("row_lock_waits_per_request", &["Innodb_row_lock_waits"]),
    ("row_lock_wait_ms_per_request", &["Innodb_row_lock_time"]),
    ("log_writes_per_request", &["Innodb_log_writes"]),
    ("log_fsyncs_per_request", &["Innodb_os_log_fsyncs"]),
    (
        "handler_reads_per_request",
        &[
            "Handler_read_first",
            "Handler_read_key",
            "Handler_read_last",
            "Handler_read_next",
            "Handler_read_prev",
            "Handler_read_rnd",
            "Handler_read_rnd_next",
        ],
    ),
    ("handler_writes_per_request", &["Handler_delete", "Handler_update", "Handler_write"]),
    ("tmp_tables_per_request", &["Created_tmp_tables"]),
    ("tmp_disk_tables_per_request", &["Created_tmp_disk_tables"]),
    ("sort_merge_passes_per_request", &["Sort_merge_passes"]),
];

/// Figures of one run by name with their unit: counters per request of the stretch that they were counted in, and the threads
/// that were running, the one that asks included. What the server did not tell is not there.
pub fn server_measures(run: &RunFile) -> BTreeMap<&'static str, f64> {
    let stretch = run.status_stretch.as_ref();
    let requests = stretch.and_then(|stretch| stretch.requests).filter(|requests| *requests > 0.0);
    let is_sharp = stretch.is_none_or(StretchRecord::is_sharp);
    let is_of_it = |name: &str| is_sharp || is_of_sessions(name);
    let sum = |counters: &[&str]| {
        let known = counters.iter().filter(|name| is_of_it(name)).filter_map(|name| run.status.get(*name));
        known.copied().reduce(|sum, count| sum + count)
    };
    let counters = COUNTERS_PER_REQUEST.iter().chain(&DATA_COUNTERS);
    let per_request = counters.filter_map(|(name, counters)| Some((*name, sum(counters)? / requests?)));
    let mut measures: BTreeMap<&str, f64> = per_request.collect();
    if let Some(running) = run.gauges.get("Threads_running") {
        measures.insert("threads_running_mean", running.mean);
        measures.insert("threads_running_max", running.max);
    }
    let pages = ["pool_read_requests_per_request", "pool_reads_per_request"];
    // Percent of the pages requested that were not in the buffer pool.
    if let [Some(asked), Some(read)] = pages.map(|name| measures.get(name).copied())
        && asked > 0.0
    {
        measures.insert("pool_miss_percent", 100.0 * read / asked);
    }
    measures.extend(disk_figures(run));
    measures.extend(parts_figures(run));
    measures
}

/// The same over the runs of a cell; each figure over the runs that have it.
pub(super) fn over_runs(runs: &[&RunFile]) -> BTreeMap<String, EstimateRecord> {
    let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, value) in runs.iter().flat_map(|run| server_measures(run)) {
        values.entry(name).or_default().push(value);
    }
    values.into_iter().map(|(name, values)| (name.to_owned(), estimate(&values))).collect()
}

/// A figure of a sample over the whole run, in which so many requests were completed.
type DiskFigure = fn(&SenseSample, Option<f64>) -> Option<f64>;

/// Figures in `sense` of a run, with their unit: what the server's own process moved, and what the device that holds its data did for
/// all who use it, with the mean time of an I/O in its queue and on it.
const FIGURES: [(&str, DiskFigure); 6] = [
    ("server_read_bytes_per_request", |whole, requests| {
        each(whole.process_io.as_ref()?.read_bytes, requests)
    }),
    ("server_write_bytes_per_request", |whole, requests| {
        each(whole.process_io.as_ref()?.write_bytes, requests)
    }),
    ("disk_reads_per_request", |whole, requests| each(whole.device_io.as_ref()?.reads, requests)),
    ("disk_writes_per_request", |whole, requests| each(whole.device_io.as_ref()?.writes, requests)),
    ("disk_read_ms", |whole, _| whole.device_io.as_ref().and_then(|io| mean_ms(io.read_time, io.reads))),
    ("disk_write_ms", |whole, _| whole.device_io.as_ref().and_then(|io| mean_ms(io.write_time, io.writes))),
];

fn each(count: u64, requests: Option<f64>) -> Option<f64> {
    Some(count as f64 / requests?)
}

fn mean_ms(time: Nanos, count: u64) -> Option<f64> {
    (count > 0).then(|| time.as_millis_f64() / count as f64)
}

/// What a read takes as the server waits for it, ms.
pub const READ_MS: &str = "data_read_ms";

/// Counters of the server by which it tells the same, also from elsewhere.
const DATA_COUNTERS: [(&str, &[&str]); 5] = [
    ("data_reads_per_request", &["Innodb_data_reads"]),
    ("data_read_bytes_per_request", &["Innodb_data_read"]),
    ("data_writes_per_request", &["Innodb_data_writes"]),
    ("data_written_bytes_per_request", &["Innodb_data_written"]),
    ("data_fsyncs_per_request", &["Innodb_data_fsyncs"]),
];

/// Figures of a sample over the whole run, in which so many requests were completed; what is not known is not there.
pub(super) fn disk_values(whole: &SenseSample, requests: Option<f64>) -> Vec<(&'static str, f64)> {
    FIGURES.into_iter().filter_map(|(name, of)| Some((name, of(whole, requests)?))).collect()
}

/// The same of a stored run, and how long the server itself waited for a read.
fn disk_figures(run: &RunFile) -> Vec<(&'static str, f64)> {
    let seen = FIGURES.into_iter().filter_map(|(name, _)| Some((name, *run.sense.get(name)?)));
    seen.chain(read_ms(run).map(|value| (READ_MS, value))).collect()
}

/// Mean time of a read as the server waits for it, also where something in front of the device holds it back, or the server runs
/// elsewhere: by Little's law the reads that were out in the mean, over those that ended in a second.
fn read_ms(run: &RunFile) -> Option<f64> {
    let out = run.gauges.get("Innodb_data_pending_reads").filter(|gauge| gauge.samples > 0)?.mean;
    let reads = run.status.get("Innodb_data_reads").filter(|reads| **reads > 0.0)?;
    let stretch = run.status_stretch.as_ref().filter(|stretch| stretch.is_sharp())?;
    Some(1e3 * out * stretch.seconds / reads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::format::GaugeRecord;
    use evenkeel_sense::disk::{DeviceIo, ProcessIo};

    const PAGES: &str = "pool_read_requests_per_request";
    const TABLES: &str = "tmp_tables_per_request";

    fn run(stretch: StretchRecord) -> RunFile {
        let status = [("Innodb_buffer_pool_read_requests", 6_000.0), ("Created_tmp_tables", 200.0)];
        RunFile {
            status: status.map(|(name, count)| (name.to_owned(), count)).into(),
            status_stretch: Some(stretch),
            ..RunFile::default()
        }
    }

    #[test]
    fn what_the_server_did_is_divided_by_the_requests_of_the_same_stretch() {
        let told =
            |requests, slack_s| server_measures(&run(StretchRecord { seconds: 8.0, requests, slack_s }));
        let sharp = told(Some(200.0), 0.1);
        assert_eq!((sharp[PAGES], sharp[TABLES]), (30.0, 1.0));
        // Pages are counted a moment later than statements, temporary tables are not.
        let slow = told(Some(200.0), 0.3);
        assert_eq!((slow.get(PAGES), slow[TABLES]), (None, 1.0));
        assert!(told(None, 0.0).is_empty() && told(Some(0.0), 0.0).is_empty());
    }

    #[test]
    fn what_was_moved_is_told_per_request_and_an_io_by_its_mean_time() {
        let whole = SenseSample {
            process_io: Some(ProcessIo { read_bytes: 16_384_000, write_bytes: 0 }),
            device_io: Some(DeviceIo {
                reads: 1_500,
                read_time: Nanos::from_millis(4_500),
                ..DeviceIo::default()
            }),
            ..SenseSample::default()
        };
        let found = disk_values(&whole, Some(500.0));
        let of = |name: &str| found.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        assert_eq!(
            (of("server_read_bytes_per_request"), of("disk_reads_per_request")),
            (Some(32_768.0), Some(3.0))
        );
        assert_eq!((of("disk_read_ms"), of("disk_write_ms")), (Some(3.0), None), "no write has no time");
        let without = disk_values(&whole, None);
        assert_eq!(without, [("disk_read_ms", 3.0)], "a run without requests has no figure per request");
        let run = RunFile { sense: [("disk_read_ms".to_owned(), 3.0)].into(), ..RunFile::default() };
        assert_eq!(disk_figures(&run), without);
    }

    #[test]
    fn what_a_read_takes_follows_from_the_reads_that_are_out() {
        let gauge = GaugeRecord { samples: 10, mean: 6.0, max: 11.0 };
        let mut run = RunFile {
            gauges: [("Innodb_data_pending_reads".to_owned(), gauge)].into(),
            status: [("Innodb_data_reads".to_owned(), 1_200.0)].into(),
            status_stretch: Some(StretchRecord { seconds: 4.0, requests: Some(40.0), slack_s: 0.0 }),
            ..RunFile::default()
        };
        assert_eq!(disk_figures(&run), [(READ_MS, 20.0)]);
        run.status.insert("Innodb_data_reads".to_owned(), 0.0);
        assert!(disk_figures(&run).is_empty(), "no read has no time");
    }
}
