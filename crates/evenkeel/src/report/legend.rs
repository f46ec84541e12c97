//! What colours, shapes and lines mean.

use super::chart::Marker;
use super::details::Details;
use crate::config;
use crate::format::{distinct, steers};
use crate::study::comparison;
use crate::study::comparison::Wording;
use evenkeel_study::compare::Side;
use evenkeel_study::profile::{standing, summarise};
use evenkeel_study::store::StudyFolder;
use evenkeel_study::store::format::{
    CellSummary, HeadlineRecord, ManifestFile, PlanFile, RunFile, SeriesRecord, SummaryFile,
};
use std::fmt;

pub const MARKS: &str = include_str!("marks.html");

pub fn swatch(look: Look) -> String {
    let dash = if look.dashed { " dashed" } else { "" };
    format!(
        "<svg class=\"swatch s{}\" viewBox=\"0 0 28 12\" aria-hidden=\"true\"><path class=\"mean{dash}\" d=\"M0 6H28\"/>\
         <path class=\"fill\" transform=\"translate(14 6)\" d=\"{}\"/></svg>",
        look.hue,
        look.marker.path(4.4)
    )
}

pub fn legend<'a>(lines: impl Iterator<Item = (Look, &'a str)>) -> String {
    let items: String =
        lines.map(|(look, words)| format!("<li>{}{}</li>\n", swatch(look), Text(words))).collect();
    format!("<ul class=\"legend\">\n{items}</ul>\n")
}

/// Names of the series; nothing with one series.
pub fn series(study: &Study) -> String {
    if !study.has_several() {
        return String::new();
    }
    let names = study.plan.series.iter().enumerate();
    legend(names.map(|(at, series)| (study.look(at), series.label.as_str())))
}

/// Prints text so that no character of it is markup, in elements and in quoted attributes. Control
/// characters that no document may hold become a replacement character.
pub struct Text<'a>(pub &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => out.write_str("&amp;")?,
                '<' => out.write_str("&lt;")?,
                '>' => out.write_str("&gt;")?,
                '"' => out.write_str("&quot;")?,
                '\'' => out.write_str("&#39;")?,
                '\n' | '\t' => fmt::Write::write_char(out, character)?,
                _ if steers(character) => out.write_str("\u{fffd}")?,
                _ => fmt::Write::write_char(out, character)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub mod check {
    //! A small reader that says whether elements close in the order they opened.

    const VOID: [&str; 4] = ["meta", "br", "hr", "!doctype"];

    /// The first fault of a page, in words.
    pub fn fault(page: &str) -> Option<String> {
        let mut open: Vec<&str> = Vec::new();
        let mut rest = page;
        while let Some(at) = rest.find('<') {
            let Some(end) = rest[at..].find('>') else {
                return Some(format!("open end: {}", clip(&rest[at..])));
            };
            let tag = &rest[at + 1..at + end];
            if tag.contains('<') {
                return Some(format!("tag within a tag: {}", clip(tag)));
            }
            if !tag.matches('"').count().is_multiple_of(2) {
                return Some(format!("uneven quotes: {}", clip(tag)));
            }
            rest = &rest[at + end + 1..];
            let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap_or_default();
            if VOID.contains(&name.to_lowercase().as_str()) || tag.ends_with('/') {
                continue;
            }
            if !tag.starts_with('/') {
                open.push(name);
                if name == "script" || name == "style" {
                    rest = &rest[rest.find("</")?..];
                }
            } else if open.pop() != Some(name) {
                return Some(format!("</{name}> closes nothing, before {}", clip(rest)));
            }
        }
        open.pop().map(|name| format!("<{name}> is never closed"))
    }

    fn clip(text: &str) -> String {
        text.chars().take(60).collect()
    }

    #[test]
    fn faults_are_found() {
        for bad in ["<p>", "<p></b>", "<p class=\"a></p>", "<p", "<a <b></b></a>"] {
            assert!(fault(bad).is_some(), "{bad}");
        }
        assert_eq!(fault("<!doctype html><p class=\"a\">x<br><b/></p><style>a>b</style>"), None);
    }
}

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
    use super::*;
    use crate::fixture;

    #[test]
    fn no_character_of_a_text_is_markup() {
        let text = Text("<b a=\"1\" b='2'>&\u{7}").to_string();
        assert_eq!(text, "&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;\u{fffd}");
    }

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
