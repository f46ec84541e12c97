//! What a report asks of a study: its records, joined. No index from a file is trusted.

use super::chart::Marker;
use super::details::Details;
use crate::config;
use crate::format::distinct;
use crate::study::comparison::{self, Wording};
use evenkeel_study::compare::Side;
use evenkeel_study::profile::{standing, summarise};
use evenkeel_study::store::StudyFolder;
use evenkeel_study::store::format::{
    CellSummary, HeadlineRecord, ManifestFile, PlanFile, RunFile, SeriesRecord, SummaryFile,
};

pub const HUES: usize = 6;

#[derive(Clone, Debug)]
pub struct Study {
    pub plan: PlanFile,
    /// Where it was measured: machine, servers, versions.
    pub manifest: ManifestFile,
    /// What follows from the runs.
    pub summary: SummaryFile,
    pub runs: Vec<RunFile>,
    pub details: Details,
    pub verdicts: Vec<Wording>,
}

/// By the figure that the study's file names; none of a profile, and of a file that cannot be read.
fn verdicts(folder: &StudyFolder, plan: &PlanFile, runs: &[RunFile]) -> Vec<Wording> {
    if plan.series.iter().all(|series| series.levels.is_empty()) {
        return Vec::new();
    }
    let asked = config::study::load(&folder.path().join("study.toml"));
    asked.map(|asked| comparison::of_levels(plan, runs, asked.compare, asked.margin)).unwrap_or_default()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub hue: usize,
    pub marker: Marker,
    pub dashed: bool,
}

impl Study {
    pub fn read(folder: &StudyFolder) -> anyhow::Result<Self> {
        let (plan, manifest, runs) = (folder.plan()?, folder.manifest()?, folder.runs()?);
        let summary = summarise(&plan, &runs);
        let details = Details::read(folder, &runs);
        let verdicts = verdicts(folder, &plan, &runs);
        Ok(Self { plan, manifest, summary, runs, details, verdicts })
    }

    pub fn side(&self) -> Side {
        Side::of(self.plan.clone(), self.runs.clone())
    }

    pub fn cells_of(&self, series: usize) -> Vec<&CellSummary> {
        let mut cells: Vec<_> = self.summary.cells.iter().filter(|cell| cell.series == series).collect();
        cells.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
        cells
    }

    pub fn cells(&self) -> Vec<&CellSummary> {
        (0..self.plan.series.len()).flat_map(|series| self.cells_of(series)).collect()
    }

    pub fn runs_of(&self, cell: u32) -> Vec<&RunFile> {
        let mut runs: Vec<_> = self.runs.iter().filter(|run| run.cell == cell).collect();
        runs.sort_by_key(|run| run.repeat);
        runs
    }

    /// Those of them that the figures of the cell are of: where the generator failed in some, the others.
    pub fn standing_of(&self, cell: u32) -> Vec<&RunFile> {
        standing(&self.runs_of(cell))
    }

    /// Whether there is more than one series, so that they must be told apart.
    pub fn has_several(&self) -> bool {
        self.plan.series.len() > 1
    }

    /// Name of a cell, with its series where there are several.
    pub fn cell_name(&self, cell: &CellSummary) -> String {
        crate::caveats::cell_name(&self.plan, cell)
    }

    /// Colour, shape and dash of a series. Series that differ in nothing but the target have one colour
    /// and differ in shape and dash; otherwise shapes change when the colours have all had a turn.
    pub fn look(&self, series: usize) -> Look {
        let Some(own) = self.plan.series.get(series) else {
            return Look { hue: 0, marker: Marker::Circle, dashed: false };
        };
        let (all, before) = (&self.plan.series, &self.plan.series[..series]);
        let is_first =
            |at: &usize| !all[..*at].iter().any(|earlier: &SeriesRecord| earlier.same_but_target(&all[*at]));
        let mut firsts = (0..all.len()).filter(is_first);
        let group = firsts.position(|first| all[first].same_but_target(own)).unwrap_or(0);
        let within = before.iter().filter(|other| other.same_but_target(own)).count();
        Look { hue: group % HUES, marker: Marker::numbered(group / HUES + within), dashed: within % 2 == 1 }
    }

    /// The headline, where there is exactly one.
    pub fn only_headline(&self) -> Option<&HeadlineRecord> {
        match self.summary.headlines.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    /// Names of the workloads, each once, in the order of the series.
    pub fn workloads(&self) -> Vec<&str> {
        distinct(self.plan.series.iter().map(|series| series.workload.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture;

    #[test]
    fn twelve_series_all_look_different() {
        let study = fixture::twelve();
        let looks: Vec<_> = (0..12).map(|series| study.look(series)).collect();
        for (at, look) in looks.iter().enumerate() {
            assert!(!looks[..at].contains(look), "{at} {look:?}");
        }
    }

    #[test]
    fn an_index_beyond_the_plan_is_no_panic() {
        let study = fixture::demo();
        assert_eq!(study.look(99).hue, 0);
        assert!(study.cells_of(99).is_empty());
    }
}
