//! Events as lines of text.

use super::ProgressEvent;
use crate::format;
use evenkeel_core::caveat::cause;
use evenkeel_core::disturbance::Disturbance;
use evenkeel_study::profile::RunPlace;

/// What an event adds to what stays on the screen; `None` where it only changes the live line.
pub fn lasting(event: &ProgressEvent) -> Option<String> {
    match event {
        ProgressEvent::Populated { rows, took_s } => {
            let per_s = *rows as f64 / took_s.max(1e-9);
            let (rows, per_s) = (format::count(*rows), format::fixed(per_s, 0));
            Some(format!("{rows} rows in {}, {per_s} rows/s", format::seconds(*took_s)))
        }
        ProgressEvent::Probed { series, rate_per_s, throughput_per_s, theta_percent, settled } => {
            let load = rate_per_s.map_or_else(|| "closed".to_owned(), format::rate);
            Some(join(&[
                Some(format!("probe {series} {load}")),
                Some(format!("throughput {}", format::rate(*throughput_per_s))),
                theta(*theta_percent),
                (!settled).then(|| "not settled".to_owned()),
            ]))
        }
        ProgressEvent::RunFinished {
            run,
            tau_ms,
            p95_ms,
            lower_bound,
            throughput_per_s,
            theta_percent,
            stability,
            caveats,
        } => {
            let bound = if *lower_bound { "at least " } else { "" };
            let time =
                |time: &Option<f64>| time.map_or("-".to_owned(), |ms| format!("{bound}{}", format::time(ms)));
            Some(join(&[
                Some(name(run)),
                Some(format!("response {}", time(tau_ms))),
                Some(format!("p95 {}", time(p95_ms))),
                theta(*theta_percent),
                Some(format!("throughput {}", format::rate(*throughput_per_s))),
                Some(stability.clone()).filter(|stability| stability != "settled"),
                doubts(caveats),
            ]))
        }
        ProgressEvent::Planned { folder, cells, runs, done, left_s } => Some(join(&[
            Some(format::counted(*runs as usize, "run") + " in " + &format::counted(*cells, "cell")),
            (*done > 0).then(|| format!("{done} finished before")),
            left(*left_s),
            Some(folder.clone()),
        ])),
        ProgressEvent::MeasuredAgain { run, steal_percent, other_load_percent } => {
            let because = Disturbance { steal: *steal_percent, other_load: *other_load_percent };
            let told = format!("disturbed ({because}): measured again as attempt {}", run.attempt);
            Some(join(&[Some(repeat(run)), Some(told)]))
        }
        ProgressEvent::SweepEnded { series, reason, not_measured_per_s } => {
            let above: Vec<String> = not_measured_per_s.iter().map(|rate| format::rate(*rate)).collect();
            let above = (!above.is_empty()).then(|| format!("above not measured: {}", above.join(", ")));
            Some(join(&[Some(format!("the sweep of {series} ends: {reason}")), above]))
        }
        ProgressEvent::Announced { text } => Some(text.clone()),
        ProgressEvent::Warning { text } => Some(format!("warning: {text}")),
        _ => None,
    }
}

/// The live line; `None` where it is left as it is.
pub fn live(event: &ProgressEvent) -> Option<String> {
    match event {
        ProgressEvent::Step { text } => Some(text.clone()),
        ProgressEvent::Populating { table, rows, rows_total, rows_per_s, left_s } => Some(join(&[
            Some(format!("populating {table}")),
            Some(format!("{} of {} rows", format::count(*rows), format::count(*rows_total))),
            Some(format!("{} rows/s", format::fixed(*rows_per_s, 0))),
            left(*left_s),
        ])),
        ProgressEvent::Converting { step, records, rejects, bytes_per_s, left_s, .. } => Some(join(&[
            Some(step.clone()),
            (*records > 0).then(|| format!("{} records", format::count(*records))),
            (*rejects > 0).then(|| format!("{} rejects", format::count(*rejects))),
            Some(format!("{} MB/s", format::fixed(*bytes_per_s / 1e6, 0))),
            left(*left_s),
        ])),
        ProgressEvent::Rebuilding { table, share, elapsed_s, built_bytes, left_s, .. } => Some(join(&[
            Some(format!("rebuilding {table}")),
            share.map(|share| format::percent((share * 100.0).floor())),
            built_bytes.map(|bytes| format!("{} built", format::bytes(bytes))),
            Some(format::seconds(elapsed_s.floor())),
            left(*left_s),
        ])),
        ProgressEvent::Running { run, phase, tau_ms, theta_percent, left_s } => Some(join(&[
            Some(short_name(run)),
            Some(phase.clone()).filter(|phase| phase != "measure"),
            tau_ms.map(|tau| format!("response {}", format::time(tau))),
            theta(*theta_percent),
            left(*left_s),
        ])),
        _ => None,
    }
}

/// Causes of doubts, each once: `(others used the CPUs; the generator was late)`.
fn doubts(codes: &[String]) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for code in codes {
        let name = cause(code).map_or(code.as_str(), |(cause, _)| cause.name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| format!("({})", names.join("; ").to_lowercase().replace("cpu", "CPU")))
}

/// Share of the work that is done, from 0 to 1, where the event tells.
pub fn share(event: &ProgressEvent) -> Option<f64> {
    let share = |done: f64, total: f64| (total > 0.0).then(|| (done / total).clamp(0.0, 1.0));
    match event {
        ProgressEvent::Populating { rows, rows_total, .. } => share(*rows as f64, *rows_total as f64),
        ProgressEvent::Converting { bytes, bytes_total, .. } => {
            bytes_total.and_then(|total| share(*bytes as f64, total as f64))
        }
        ProgressEvent::Rebuilding { share, .. } => *share,
        ProgressEvent::Running { run, .. } => share(f64::from(run.number) - 1.0, f64::from(run.total)),
        ProgressEvent::RunFinished { run, .. } => share(f64::from(run.number), f64::from(run.total)),
        _ => None,
    }
}

/// `3/18 tpcw.complex 40/s repeat 2`, and which attempt where it is not the first.
fn name(run: &RunPlace) -> String {
    let again = if run.attempt > 1 { format!(" attempt {}", run.attempt) } else { String::new() };
    format!("{}/{} {}{again}", run.number, run.total, repeat(run))
}

/// `tpcw.complex 40/s repeat 2`.
fn repeat(run: &RunPlace) -> String {
    format!("{} {} repeat {}", run.series, format::rate(run.rate_per_s), run.repeat)
}

/// The same with a long label cut short, so that what follows still fits into the live line.
fn short_name(run: &RunPlace) -> String {
    const LONGEST: usize = 28;
    if run.series.chars().count() <= LONGEST {
        return name(run);
    }
    let start: String = run.series.chars().take(LONGEST - 1).collect();
    name(&RunPlace { series: format!("{}…", start.trim_end()), ..run.clone() })
}

fn theta(percent: Option<f64>) -> Option<String> {
    percent.filter(|percent| percent.is_finite()).map(|percent| format!("CPU use {percent:.0} %"))
}

/// Above a minute in whole minutes: more is not known, and would not fit beside the rest.
fn left(seconds: Option<f64>) -> Option<String> {
    let seconds = seconds.filter(|seconds| seconds.is_finite())?.max(0.0);
    let unit = if seconds > 60.0 { 60.0 } else { 1.0 };
    Some(format!("{} left", format::seconds((seconds / unit).ceil() * unit)))
}

fn join(parts: &[Option<String>]) -> String {
    parts.iter().flatten().map(String::as_str).collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> RunPlace {
        let series = "tpcw.complex".to_owned();
        RunPlace { number: 3, total: 18, series, rate_per_s: 40.0, repeat: 2, attempt: 1 }
    }

    fn running(phase: &str, tau_ms: Option<f64>, theta: f64, left_s: Option<f64>) -> ProgressEvent {
        let (phase, theta_percent) = (phase.to_owned(), Some(theta));
        ProgressEvent::Running { run: run(), phase, tau_ms, theta_percent, left_s }
    }

    #[test]
    fn no_share_comes_from_a_total_of_zero() {
        let event = running("measure", None, 1.0, None);
        assert_eq!(share(&event), Some(2.0 / 18.0));
        let ProgressEvent::Running { run, phase, .. } = event else { return };
        let run = RunPlace { total: 0, ..run };
        let none = ProgressEvent::Running { run, phase, tau_ms: None, theta_percent: None, left_s: None };
        assert_eq!(share(&none), None);
    }
}
