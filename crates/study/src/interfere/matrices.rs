//! Matrices: a row for each job of a domain, a column for what the others do.

use super::jobs::{ALONE, Job};
use super::setting::PART;
use super::slowdown::{Slowdown, neighbours, rate, victims};
use crate::harness::{Cell, Mark, Matrix, Number, Part};
use evenkeel_core::statistics::Estimate;

/// How much slower the jobs of a domain are beside those of the others.
pub fn slower(part: &Part, domain: usize, found: &[Slowdown<'_>]) -> Matrix {
    let place = |levels: &[String]| {
        let one = found.iter().find(|one| one.domain == domain && one.beside.levels == levels)?;
        let number = Number::of("slowdown", Some(&one.compared.ratio)).pop()?;
        Some(Mark { number, is_strong: one.is_named })
    };
    Matrix {
        title: format!("times slower in {}", part.factors[domain].name),
        words: "Rows are victims, columns their neighbours, with 95 % intervals. The darker the slower; a frame marks what is named.",
        fine: Some(1.0),
        ..matrix(part, domain, |_| true, place)
    }
}

/// What the first domain's jobs and their neighbours do together, of what each does alone.
pub fn together(part: &Part, cells: &[Cell<'_>]) -> Matrix {
    let find = |levels: &[String]| cells.iter().find(|cell| cell.part.name == PART && cell.levels == levels);
    let share = |cell: &Cell<'_>, domain: usize, repeat| {
        let mut alone = vec![ALONE.to_owned(); cell.levels.len()];
        alone[domain].clone_from(&cell.levels[domain]);
        Some(rate(cell, domain, repeat)? / rate(find(&alone)?, domain, repeat).filter(|rate| *rate > 0.0)?)
    };
    let place = |levels: &[String]| {
        let (cell, at_work) = (find(levels)?, |domain: &usize| levels[*domain] != ALONE);
        let all = || (0..levels.len()).filter(at_work);
        let sum = |repeat| all().map(|domain| share(cell, domain, repeat)).sum::<Option<f64>>();
        let sums: Vec<f64> = (1..=part.repeats).filter_map(sum).collect();
        Some(Mark { number: Number::mean("together", &Estimate::of(&sums)?), is_strong: false })
    };
    Matrix {
        title: "together, of what each does alone".to_owned(),
        words: "As many as there are jobs where none minds the others, 1 where they take turns.",
        ..matrix(part, 0, |job| Job::named(job).is_none_or(Job::is_busy), place)
    }
}

/// A row for each job of a domain that does something, a column for what there is in the others, where that is to be shown.
fn matrix(
    part: &Part,
    domain: usize,
    is_shown: impl Fn(&str) -> bool,
    place: impl Fn(&[String]) -> Option<Mark>,
) -> Matrix {
    let mut columns = part.combinations();
    columns.retain(|levels| levels[domain] == ALONE && levels.iter().all(|level| is_shown(level)));
    columns.remove(0);
    let row = |job: &str| {
        let at = |levels: &Vec<String>| {
            let mut levels = levels.clone();
            levels[domain] = job.to_owned();
            place(&levels)
        };
        (format!("{}'s {job}", part.factors[domain].name), columns.iter().map(at).collect())
    };
    Matrix {
        part: PART.to_owned(),
        rows: if columns.is_empty() { Vec::new() } else { victims(part, domain).map(row).collect() },
        columns: columns.iter().map(|levels| neighbours(part, levels, domain)).collect(),
        ..Matrix::default()
    }
}
