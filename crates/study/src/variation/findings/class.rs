//! Whether the statements of a class behave alike: whether runs and servers differ by more than is trusted for all of them, or for none.

use super::statements::{all, breaks, limit_over, untested};
use crate::harness::{Cell, Finding, Number};
use crate::variation::figures::TAU;
use crate::variation::parts::{CLASS, CLASSES, STATEMENT};
use crate::variation::record::Setting;

const NAME: &str = "statements-of-a-class-alike";
const PUBLISHED: &str = "all statements of a class behave alike";

/// A statement, and whether its runs and servers differ by more than is trusted.
type Behaves = (&'static str, Option<bool>);

/// Of each class: simple reads, complex reads.
pub(super) fn alike(setting: &Setting, cells: &[Cell<'_>]) -> Finding {
    let own: Vec<&Cell<'_>> =
        cells.iter().filter(|cell| cell.part.name == CLASS && !cell.values(TAU).is_empty()).collect();
    if own.is_empty() {
        return untested(NAME, CLASS, PUBLISHED, "It was not measured; this needs private servers.");
    }
    let classes: Vec<(&str, Vec<Behaves>)> = CLASSES
        .iter()
        .map(|(class, of)| (*class, of.iter().map(|name| behaves(setting, &own, name)).collect()))
        .collect();
    let each: Vec<Option<bool>> = classes.iter().map(|(_, of)| are_alike(of)).collect();
    let here = classes.iter().map(|(class, of)| words(class, of)).collect::<Vec<_>>().join(" ");
    Finding::of(NAME, CLASS, PUBLISHED, all(&each), here).with(spreads(&own))
}

fn behaves(setting: &Setting, cells: &[&Cell<'_>], name: &'static str) -> Behaves {
    let own: Vec<&Cell<'_>> = cells.iter().copied().filter(|cell| cell.level(STATEMENT) == name).collect();
    let (points, limit) = limit_over(setting, &own);
    (name, breaks(&points, &limit))
}

/// `None` where one of them cannot be told, and none of the others says no.
fn are_alike(of: &[Behaves]) -> Option<bool> {
    let has = |wanted: Option<bool>| of.iter().any(|(_, behaves)| *behaves == wanted);
    match (has(Some(true)), has(Some(false)), has(None)) {
        (true, true, _) => Some(false),
        (_, _, true) => None,
        _ => Some(true),
    }
}

fn words(class: &str, of: &[Behaves]) -> String {
    let said = |wanted: Option<bool>, words: &str| {
        let names: Vec<&str> =
            of.iter().filter(|(_, behaves)| *behaves == wanted).map(|(name, _)| *name).collect();
        (!names.is_empty()).then(|| format!("{} {words}", names.join(", ")))
    };
    let all = [
        said(Some(false), "can be trusted"),
        said(Some(true), "cannot be trusted"),
        said(None, "cannot be decided by so few runs"),
    ];
    format!("Of {class} reads {}.", all.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

/// Standard deviation of the runs of each statement at each load, percent of their mean.
fn spreads(cells: &[&Cell<'_>]) -> Vec<Number> {
    let mut all: Vec<(String, Vec<f64>)> = Vec::new();
    for cell in cells {
        let name = format!(
            "spread_percent_of_{}_at_{}",
            cell.level(STATEMENT),
            cell.level(crate::variation::parts::LOAD)
        );
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.extend(cell.values(TAU)),
            None => all.push((name, cell.values(TAU))),
        }
    }
    all.into_iter().filter_map(|(name, values)| Some(Number::plain(&name, spread(&values)?))).collect()
}

fn spread(values: &[f64]) -> Option<f64> {
    let estimate = evenkeel_core::statistics::Estimate::of(values)?;
    let deviation = estimate.standard_error()? * (values.len() as f64).sqrt();
    Some(100.0 * deviation / estimate.mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_alike_where_all_of_it_is_told_and_agrees() {
        let of = |all: [Option<bool>; 3]| are_alike(&all.map(|behaves| ("tpcw.simple", behaves)));
        assert_eq!(of([Some(true); 3]), Some(true));
        assert_eq!(of([Some(false); 3]), Some(true));
        assert_eq!(of([Some(true), Some(false), None]), Some(false));
        assert_eq!(of([Some(true), Some(true), None]), None);
    }
}
