//! What is drawn as heat maps: matrices, and figures over two factors.

use super::super::chart::{Heat, Place, Scale, Spacing};
use super::super::legend::Text;
use super::super::page::card;
use crate::format;
use crate::published::{Published, number_words, plus_minus};
use evenkeel_study::harness::{Cell, Chart, Figure, Level, Mark, Matrix, Part};

/// A picture for each matrix.
pub fn matrices<'a>(of: impl Iterator<Item = &'a Matrix>) -> String {
    let figures: String = of.enumerate().map(|(at, of)| matrix(at, of)).collect();
    if figures.is_empty() { figures } else { format!("<div class=\"heats\">\n{figures}</div>\n") }
}

fn matrix(at: usize, of: &Matrix) -> String {
    let marks = || of.rows.iter().flat_map(|(_, places)| places.iter().flatten());
    let shade = shades(marks().map(|mark| mark.number.value), of.fine);
    let place = |row: &str, column: &str, mark: &Mark| {
        let within =
            mark.number.interval.map(|(low, high)| [low, high].map(|value| format::significant(value, 3)));
        Place {
            text: format::significant(mark.number.value, 3),
            within: within.map_or_else(String::new, |ends| ends.join(" to ")),
            tip: format!("{row}, {column}\n{}", number_words(&mark.number)),
            shade: shade(mark.number.value),
            is_marked: mark.is_strong,
        }
    };
    let row = |(name, marks): &(String, Vec<Option<Mark>>)| {
        let places = of.columns.iter().zip(marks);
        let places = places.map(|(column, mark)| Some(place(name, column, mark.as_ref()?)));
        (name.clone(), places.collect())
    };
    let rows: Vec<(String, Vec<Option<Place>>)> = of.rows.iter().map(row).collect();
    let title = format::capital(&of.title);
    let heat = Heat {
        id: format!("matrix-{}-{at}", of.part),
        is_trouble: of.fine.is_some(),
        columns: of.columns.clone(),
        rows,
        title: title.clone(),
    };
    card(&title, of.words, "", &heat.table())
}

/// How dark a value is, from 0 to 1: above what is fine by powers, else as on an axis.
fn shades(values: impl Iterator<Item = f64> + Clone, fine: Option<f64>) -> impl Fn(f64) -> f64 {
    let scale = Scale::new(values.clone(), Spacing::Fitting, 0.0, 1.0);
    let most = values.fold(0.0, f64::max);
    move |value| match fine {
        Some(fine) => (value / fine).ln() / (most / fine).max(2.0).ln(),
        None => scale.place(value).unwrap_or(0.0),
    }
}

/// A picture for each figure that asks for it: the last factor of the part across, the one before down, and a map for each combination
/// of the others.
pub fn of_figures(view: &Published<'_>, part: &Part) -> String {
    let cells = view.cells_of(part);
    let drawn = view.known(&cells).into_iter().filter_map(|figure| Some((figure, figure.chart?)));
    drawn
        .filter(|(_, chart)| chart.is_heat)
        .map(|(figure, chart)| of_figure(figure, &chart, part, &cells))
        .collect()
}

fn of_figure(figure: &Figure, chart: &Chart, part: &Part, cells: &[&Cell<'_>]) -> String {
    let [others @ .., down, across] = part.factors.as_slice() else { return String::new() };
    // All maps have the same shades.
    let shade = shades(cells.iter().filter_map(|cell| cell.mean(figure.key)), None);
    let of_map =
        |cell: &Cell<'_>| others.iter().map(|factor| cell.words(&factor.name).to_owned()).collect::<Vec<_>>();
    let mut maps: Vec<Vec<String>> = cells.iter().map(|cell| of_map(cell)).collect();
    maps.dedup();
    let mut drawn = String::new();
    for (at, map) in maps.iter().enumerate() {
        let place = |row: &str, column: &str| {
            let is_it =
                |cell: &&&Cell<'_>| cell.level(&down.name) == row && cell.level(&across.name) == column;
            let cell = cells.iter().filter(|cell| of_map(cell) == *map).find(is_it)?;
            let text = plus_minus(&cell.estimate(figure.key)?);
            let (value, within) = text.split_once(" ± ").unwrap_or((&text, ""));
            Some(Place {
                text: value.to_owned(),
                within: if within.is_empty() { String::new() } else { format!("± {within}") },
                tip: format!(
                    "{} {}, {} {}\n{text} {}\n{}",
                    down.name,
                    cell.words(&down.name),
                    across.name,
                    cell.words(&across.name),
                    figure.head[1],
                    format::counted(cell.runs.len(), "run")
                ),
                shade: shade(cell.mean(figure.key)?),
                is_marked: false,
            })
        };
        let row = |level: &Level| {
            let places = across.levels.iter().map(|column| place(&level.name, &column.name));
            (level.words().to_owned(), places.collect())
        };
        let heading = map.join(", ");
        let heat = Heat {
            id: format!("heat-{}-{}-{at}", figure.key.replace('_', "-"), part.name),
            title: format!("{} {heading}", chart.heading),
            is_trouble: false,
            columns: across.levels.iter().map(|level| level.words().to_owned()).collect(),
            rows: down.levels.iter().map(row).collect(),
        };
        drawn += &format!("<div><h4>{}</h4>{}</div>\n", Text(&heading), heat.table());
    }
    let axes = format!("{}: {} down, {} across.", chart.axis, down.name, across.name);
    let words = format!("{} {axes}", chart.words);
    card(chart.heading, words.trim(), "", &format!("<div class=\"heats\">\n{drawn}</div>"))
}

#[cfg(test)]
mod tests;
