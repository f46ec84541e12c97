//! A study as one HTML file that a person can forward: no network, no script that it needs, light and
//! dark, screen and paper.
//!
//! `study` joins the records, `details` reads what lies beside them, `plots` says what is drawn, `chart` draws, `sections` writes the rest,
//! `palette` and `style.css` give colours and form, `page` puts all together. Whatever comes from records
//! goes through [`markup::Text`].

mod chart;
mod compare;
mod details;
mod legend;
mod markup;
mod page;
mod page_map;
mod palette;
mod plots;
pub mod published;
mod save;
mod sections;
mod study;

pub use compare::compare;
pub use details::Details;
#[cfg(test)]
pub use details::RunDetails;
pub use page_map::{Picture, PictureIndex, page_maps};
pub use save::save;

use crate::config;
use crate::study::comparison::{self, Wording};
use evenkeel_study::compare::Side;
use evenkeel_study::store::StudyFolder;
use evenkeel_study::store::format::{ManifestFile, PlanFile, RunFile, SummaryFile};
use std::path::PathBuf;

/// All that is known of one study.
#[derive(Clone, Debug)]
pub struct Records {
    /// What was to be measured.
    pub plan: PlanFile,
    /// Where it was measured: machine, servers, versions.
    pub manifest: ManifestFile,
    /// What follows from the runs.
    pub summary: SummaryFile,
    /// Finished runs, each by the attempt that stands.
    pub runs: Vec<RunFile>,
    /// What lies beside them.
    pub details: Details,
    /// Levels of a study of a file, compared.
    pub verdicts: Vec<Wording>,
}

impl Records {
    /// Reads a study.
    pub fn read(folder: &StudyFolder) -> anyhow::Result<Self> {
        let (plan, manifest, runs) = (folder.plan()?, folder.manifest()?, folder.runs()?);
        let summary = evenkeel_study::profile::summarise(&plan, &runs);
        let details = Details::read(folder, &runs);
        let verdicts = verdicts(folder, &plan, &runs);
        Ok(Self { plan, manifest, summary, runs, details, verdicts })
    }

    fn study(&self) -> study::Study<'_> {
        let Self { plan, manifest, summary, runs, details, verdicts } = self;
        study::Study { plan, manifest, summary, runs, details, verdicts }
    }

    /// As one side of a comparison.
    fn side(&self) -> Side {
        Side::of(self.plan.clone(), self.runs.clone())
    }
}

/// By the figure that the study's file names; none of a profile, and of a file that cannot be read.
fn verdicts(folder: &StudyFolder, plan: &PlanFile, runs: &[RunFile]) -> Vec<Wording> {
    if plan.series.iter().all(|series| series.levels.is_empty()) {
        return Vec::new();
    }
    let asked = config::study::load(&folder.path().join("study.toml"));
    asked.map(|asked| comparison::of_levels(plan, runs, asked.compare, asked.margin)).unwrap_or_default()
}

/// The report of a study in any state, also of one that has no runs yet.
pub fn html(records: &Records) -> String {
    page::page(&records.study())
}

/// Writes the report of a study into its folder; gives where it is.
pub fn write(folder: &StudyFolder) -> anyhow::Result<PathBuf> {
    save(None, folder.path(), "report.html", &html(&Records::read(folder)?))
}

#[cfg(test)]
pub use markup::check::fault;
#[cfg(test)]
pub use tests::labels::readable;
#[cfg(test)]
mod tests;
