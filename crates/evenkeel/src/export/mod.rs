//! Studies for other programs: CSV tables of cells and runs, and JSON with the records as they are stored.
//!
//! Columns of both begin with what cell it is. Of a mean over runs there are `X_mean, X_se, X_low, X_high`: the ends of its 95 %
//! interval; a low without a high is a lower bound of 99 %. Of a run's distribution there are `X_mean_ms, X_p50_ms` and so on;
//! `status_NAME` is how much a counter rose in `status_stretch_s` seconds, in which the server was asked
//! `status_stretch_requests` requests, give or take `status_slack_s` seconds; `gauge_NAME_mean, gauge_NAME_max` are of what was
//! looked at meanwhile, `sense_NAME` further measures of a run.
//!
//! An absent value is an empty field. Names do not change within a format version; new columns come at the end, before `sense_`.

mod csv;

pub use csv::{Columns, cells, runs};

use evenkeel_study::store::format::{ManifestFile, PlanFile, RunFile, SummaryFile};

/// One object `{plan, manifest, summary, runs}`, each as its file has it, ending in a line feed.
pub fn json(
    plan: &PlanFile,
    manifest: &ManifestFile,
    summary: &SummaryFile,
    runs: &[RunFile],
) -> Result<String, serde_json::Error> {
    #[derive(serde::Serialize)]
    struct Study<'a> {
        plan: &'a PlanFile,
        manifest: &'a ManifestFile,
        summary: &'a SummaryFile,
        runs: &'a [RunFile],
    }
    let mut text = serde_json::to_string_pretty(&Study { plan, manifest, summary, runs })?;
    text.push('\n');
    Ok(text)
}
