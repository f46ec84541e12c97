//! A study as one HTML file that a person can forward: no network, no script that it needs, light and
//! dark, screen and paper.
//!
//! `study` joins the records, `details` reads what lies beside them, `plots` says what is drawn, `chart` draws, `sections` writes the rest,
//! `palette` and `style.css` give colours and form, `page` puts all together. Whatever comes from records
//! goes through [`markup::Text`].

mod chart;
mod details;
mod legend;
mod markup;
mod page;
mod palette;
mod plots;
mod sections;
pub mod shares;
mod study;
pub mod throttling;

pub use details::Details;
#[cfg(test)]
pub use details::RunDetails;

use evenkeel_lab::store::format::{ManifestFile, PlanFile, RunFile, SummaryFile};

/// The report of a study in any state, also of one that has no runs yet.
pub fn html(
    plan: &PlanFile,
    manifest: &ManifestFile,
    summary: &SummaryFile,
    runs: &[RunFile],
    details: &Details,
) -> String {
    page::page(&study::Study { plan, manifest, summary, runs, details })
}

#[cfg(test)]
mod tests;
