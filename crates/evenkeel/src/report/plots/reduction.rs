//! What larger buffer pools save at each rate, the study's figure 10.

use super::traces::tip;
use super::{HALF, Plot, chart, time_axis};
use crate::report::chart::{Guide, Point, Spacing, Trace};
use crate::report::study::Study;
use evenkeel_study::profile::{Reduction, reductions};

/// Tau of the smallest pool less that of each other against the arrival rate; `None` where the pool is no factor.
pub fn reduction(study: &Study<'_>) -> Option<Plot> {
    let all = reductions(study.plan, study.summary);
    if all.is_empty() {
        return None;
    }
    let y = time_axis("reduction of the response time", Spacing::Linear);
    let none = Guide::Level { y: 0.0, text: "none".to_owned(), class: "accent".to_owned() };
    let traces = (0..study.plan.series.len()).map(|series| trace(study, &all, series)).collect();
    Some(Plot {
        heading: "What a larger buffer pool saves".to_owned(),
        words: "Mean response time with the smallest buffer pool, less that with each larger one at the \
                same rate, with 95 % intervals. Where the smallest pool was overloaded, the saving is at least \
                that, and its mark is hollow."
            .to_owned(),
        notes: Vec::new(),
        narrow: None,
        chart: chart(study, "reduction", HALF, y, vec![none], traces),
    })
}

fn trace(study: &Study<'_>, all: &[Reduction], series: usize) -> Trace {
    let look = study.look(series);
    let own = all.iter().filter(|one| one.series == series);
    Trace {
        class: format!("s{}", look.hue),
        marker: look.marker,
        dashed: look.dashed,
        points: own.map(|one| point(study, one)).collect(),
        ..Trace::default()
    }
}

fn point(study: &Study<'_>, one: &Reduction) -> Point {
    let cells = study.cells_of(one.series);
    let cell = cells.iter().find(|cell| cell.rate_per_s == one.rate_per_s);
    Point {
        x: one.rate_per_s,
        y: one.less_ms.mean,
        interval: one.less_ms.low.zip(one.less_ms.high),
        hollow: one.at_least,
        lower_bound: one.at_least,
        tip: cell.map_or_else(String::new, |cell| tip(study, cell)),
        ..Point::default()
    }
}
