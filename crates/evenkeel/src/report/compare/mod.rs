//! Two studies over each other, as one page: both headlines, their curves, ratios where rates match, and what differs
//! in where and how they were measured.

mod differences;
mod ratios;

use super::markup::Text;
use super::page::{banner, document, figure, small};
use super::plots;
use super::sections::{guide, trust_text, verdicts};
use super::study::Study;
use super::{Records, legend};
use crate::format;
use crate::study::comparison::{self, Wording};
use evenkeel_core::experiment::Margin;
use evenkeel_study::store::format::CellSummary;
use std::fmt;

/// Why two studies cannot be laid over each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unlike {
    /// One has nothing measured.
    Empty(String),
    /// No series of one is in the other; the labels of both.
    NoSeries([String; 2]),
}

impl fmt::Display for Unlike {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty(name) => write!(out, "study {name} has no finished run to compare"),
            Self::NoSeries([one, other]) => {
                write!(out, "the studies have no series in common: one has {one}, the other {other}")
            }
        }
    }
}

impl std::error::Error for Unlike {}

impl Unlike {
    /// What the user can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Empty(name) => format!("continue it first: `evenkeel runs {name}` shows the command"),
            Self::NoSeries(_) => {
                "series match by their labels: measure both with the same workload, factors and sandboxes"
                    .to_owned()
            }
        }
    }
}

/// A series of one study with that of the other.
struct Match {
    label: String,
    series: [usize; 2],
}

/// Two figures that lie so close are the same, as `evenkeel compare` takes it.
const MARGIN: f64 = 0.05;

/// Rates as close as this are one.
const SAME_RATE: f64 = 0.01;

/// The page of two studies.
pub fn compare(one: &Records, other: &Records) -> Result<String, Unlike> {
    for records in [one, other] {
        if records.summary.cells.is_empty() {
            return Err(Unlike::Empty(records.plan.id.clone()));
        }
    }
    let verdict = verdict(one, other);
    let (one, other) = (one.study(), other.study());
    let both = [&one, &other];
    let matches = matches(both)?;
    let body: String =
        matches.iter().enumerate().map(|(at, found)| part(both, found, at, matches.len())).collect();
    let body =
        format!("{}{body}{}", head(both, verdict.as_ref()), differences::section(both, &matches[0].series));
    let title = format!("{} and {} · Evenkeel", one.plan.id, other.plan.id);
    Ok(document(&title, &banner("two studies:", &format!("{} and {}", one.plan.id, other.plan.id)), &body))
}

/// With one series each there is nothing to choose; otherwise those with the same label.
fn matches(studies: [&Study<'_>; 2]) -> Result<Vec<Match>, Unlike> {
    let [one, other] = studies.map(|study| &study.plan.series);
    if let ([alone], [_]) = (one.as_slice(), other.as_slice()) {
        return Ok(vec![Match { label: alone.label.clone(), series: [0, 0] }]);
    }
    let position = |label: &str| other.iter().position(|series| series.label == label);
    let found: Vec<Match> = one
        .iter()
        .enumerate()
        .filter_map(|(at, series)| {
            Some(Match { label: series.label.clone(), series: [at, position(&series.label)?] })
        })
        .collect();
    let labels = |study: &Study<'_>| {
        study.plan.series.iter().map(|series| format!("\"{}\"", series.label)).collect::<Vec<_>>().join(", ")
    };
    if found.is_empty() { Err(Unlike::NoSeries(studies.map(labels))) } else { Ok(found) }
}

/// Of the second study; `None` where the two cannot be compared.
fn verdict(one: &Records, other: &Records) -> Option<Wording> {
    let margin = Margin::new(MARGIN).ok()?;
    let names = ["A", "B"];
    comparison::of_two([&one.side(), &other.side()], names, None, margin).ok().map(|(told, _)| told)
}

fn head(studies: [&Study<'_>; 2], verdict: Option<&Wording>) -> String {
    let title = match studies.map(Study::workloads) {
        [one, other] if one == other => format!("{} in two studies", one.join(", ")),
        [one, other] => format!("{} beside {}", one.join(", "), other.join(", ")),
    };
    let cards: String = (0..2).map(|side| card(studies[side], side)).collect();
    let tag = if verdict.is_some() { "p" } else { "h1" };
    format!(
        "<header class=\"head\">\n{}<{tag}>{}</{tag}>\n<div class=\"variants\">\n{cards}</div>\n</header>\n",
        verdict.map_or_else(String::new, |told| verdicts(std::slice::from_ref(told))),
        Text(&title)
    )
}

fn card(study: &Study<'_>, side: usize) -> String {
    let headlines = &study.summary.headlines;
    let sentence = |text: &str| format!("<p>{}</p>", Text(&text.replace(" %", "\u{a0}%")));
    let sentences: String = headlines
        .iter()
        .map(|headline| {
            let first = match headline.label.as_str() {
                "" => sentence(&headline.text),
                label => sentence(&format!("{label}: {}", headline.text)),
            };
            first + &trust_text(headline)
        })
        .collect();
    let untold = || "<p>The runs so far do not show what this server carries.</p>".to_owned();
    format!(
        "<article class=\"variant s{}\"><h2>{} {}: {}</h2>{}<p class=\"words\">{}, {} of {} runs</p></article>\n",
        plots::side_look(side).hue,
        legend::swatch(plots::side_look(side)),
        plots::SIDES[side],
        Text(&study.plan.id),
        if sentences.is_empty() { untold() } else { sentences },
        Text(&format::date(study.plan.created_unix_s)),
        study.summary.runs_done,
        study.summary.runs_planned
    )
}

/// Charts and ratios of a pair of series.
fn part(studies: [&Study<'_>; 2], found: &Match, at: usize, of: usize) -> String {
    let heading = if of > 1 { format!("<h2>{}</h2>\n", Text(&found.label)) } else { String::new() };
    let plots = plots::pair(studies, found.series, &at.to_string());
    let mut figures = plots.iter().map(|plot| figure(plot, ""));
    let wide = figures.next().unwrap_or_default();
    let half: String = figures.collect();
    let cells = common(studies, found.series);
    let drawn = plots::distributions(studies, &cells, &at.to_string());
    let words = "At each rate that both have, all runs of a cell together. Each step to the right leaves a tenth: at p99 one \
                 request in a hundred is slower.";
    // The words of the page once, below the first charts.
    let guide = if at == 0 { guide() } else { String::new() };
    let spectra = if drawn.is_empty() {
        String::new()
    } else {
        small("Distribution", words, &drawn, |_| String::new())
    };
    format!(
        "<section id=\"pair-{at}\">{heading}{wide}<div class=\"grid\">\n{half}{guide}</div>{spectra}</section>\n{}",
        ratios::section(studies, found.series, &cells, at)
    )
}

/// Cells of both at the same rate, by rate.
fn common<'a>(studies: [&Study<'a>; 2], series: [usize; 2]) -> Vec<[&'a CellSummary; 2]> {
    let others = studies[1].cells_of(series[1]);
    let same = |one: &CellSummary, other: &CellSummary| {
        (one.rate_per_s - other.rate_per_s).abs() <= SAME_RATE * one.rate_per_s.max(other.rate_per_s)
    };
    let of = |one: &'a CellSummary| {
        let near = others.iter().filter(|other| same(one, other));
        let distance = |other: &&&CellSummary| (other.rate_per_s - one.rate_per_s).abs();
        near.min_by(|a, b| distance(a).total_cmp(&distance(b))).map(|other| [one, *other])
    };
    studies[0].cells_of(series[0]).into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests;
