//! Who saw the server, in words.

use super::{counted, significant};
use evenkeel_study::store::format::{RunFile, SensedBy, SensedRecord};

/// A line for each way in which runs were sensed, in the order of the runs.
pub fn sensed(runs: &[RunFile]) -> Vec<String> {
    let mut ways: Vec<(&SensedRecord, Vec<&SensedRecord>)> = Vec::new();
    for record in runs.iter().filter_map(|run| run.sensed.as_ref()) {
        let same =
            |(first, _): &&mut (&SensedRecord, _)| (first.by, &first.with) == (record.by, &record.with);
        match ways.iter_mut().find(same) {
            Some((_, all)) => all.push(record),
            None => ways.push((record, vec![record])),
        }
    }
    ways.iter().map(|(first, all)| way(first, all)).collect()
}

fn way(first: &SensedRecord, all: &[&SensedRecord]) -> String {
    let with = first.with.as_ref().map_or_else(String::new, |with| format!(" ({with})"));
    let host = first.host.as_ref().map_or_else(String::new, |host| format!(" on {host}"));
    let what = match first.by {
        SensedBy::Statistics => "; work per request, without threads in the background, and no utilisation",
        SensedBy::NodeExporter => "; of all processes of that machine",
        SensedBy::Nobody => "; where the server runs elsewhere, --sense-with or --sense-from shows it",
        SensedBy::ThisMachine | SensedBy::Command => "",
    };
    let mut text = format!("server sensed by {}{with}{host}{what}", first.by);
    if let Some(gap) = most(all, |record| record.gap_ms) {
        text.push_str(&format!("; a reading every {} ms", significant(gap, 3)));
        // A process has a clock of its own that counts nanoseconds; only what is coarse is worth a word.
        let coarse = most(all, |record| record.resolution_ms).filter(|step| *step >= 0.1);
        text.push_str(
            &coarse.map_or_else(String::new, |step| format!(" in steps of {} ms", significant(step, 3))),
        );
    }
    if let Some(error) = most(all, |record| record.clock_error_ms) {
        text.push_str(&format!(", placed within {} ms", significant(error, 2)));
    }
    let missing: Vec<&String> = all.iter().filter_map(|record| record.missing.as_ref()).collect();
    if let Some(last) = missing.last() {
        let runs = counted(all.len(), "run");
        text.push_str(&format!("; not available to the end in {} of {runs}: it {last}", missing.len()));
    }
    text
}

/// What the load generator took of the machine where the server runs too.
pub fn generator(runs: &[RunFile]) -> Option<String> {
    let is_beside = |run: &&RunFile| run.sensed.as_ref().is_some_and(|by| by.by == SensedBy::ThisMachine);
    let used = runs.iter().filter(is_beside).filter_map(|run| run.generator_cpu_percent).reduce(f64::max)?;
    Some(format!("on the same machine the load generator used up to {used:.0} % of a CPU"))
}

fn most(all: &[&SensedRecord], of: fn(&SensedRecord) -> Option<f64>) -> Option<f64> {
    all.iter().filter_map(|record| of(record)).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(sensed: SensedRecord) -> RunFile {
        RunFile { sensed: Some(sensed), ..RunFile::default() }
    }

    #[test]
    fn a_command_is_named_with_how_fine_it_sees_and_when_it_ended() {
        let record = SensedRecord {
            by: SensedBy::Command,
            with: Some("ssh db1 evenkeel sense".into()),
            host: Some("db1".into()),
            readings: 90,
            gap_ms: Some(100.0),
            resolution_ms: Some(1e-6),
            clock_error_ms: Some(0.25),
            missing: None,
        };
        let ended = SensedRecord { missing: Some("ended (exit status: 255)".into()), ..record.clone() };
        assert_eq!(
            sensed(&[run(record), run(ended)]),
            [
                "server sensed by command (ssh db1 evenkeel sense) on db1; a reading every 100 ms, placed within 0.25 ms; \
              not available to the end in 1 of 2 runs: it ended (exit status: 255)"
            ]
        );
    }
}
