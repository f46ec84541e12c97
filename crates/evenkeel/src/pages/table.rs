//! What was found, as a table for people.

use super::found::{FoundFile, FoundIndex};
use crate::format;
use crate::table::{GridColumn, Ink, Look, Place, lines, paint};

/// Below this share of leaves in order, and this fill, an index is worth a look.
const ORDER_DOUBT: f64 = 0.8;
const FILL_DOUBT: f64 = 0.6;

/// Files with their indexes, and what is wrong with chains. `range` is the share that a range of keys reads.
pub fn table(files: &[FoundFile], wanted: Option<&str>, all: bool, range: f64, look: Look) -> String {
    let rows: Vec<FoundIndex<'_>> = files.iter().flat_map(|file| file.indexes(wanted, all)).collect();
    let mut text = String::new();
    if !rows.is_empty() {
        text.push_str(&lines(columns(&rows, range), &[], look));
        text.push('\n');
    }
    for file in files.iter().filter(|file| rows.is_empty() || !file.indexes(wanted, all).is_empty()) {
        text.push_str(&summary(file));
    }
    for file in files {
        text.push_str(&broken(file, look));
    }
    text
}

fn columns(rows: &[FoundIndex<'_>], range: f64) -> Vec<GridColumn> {
    let name = |head: &str, ink, of: fn(&FoundIndex<'_>) -> String| {
        GridColumn::of(rows, [head, ""], false, 0, |row| Place::new(of(row), ink))
    };
    let number = |head: [&str; 2], rank, place: fn(&FoundIndex<'_>) -> Place| {
        GridColumn::of(rows, head, true, rank, place)
    };
    let of_range = format!("of {}", format::percent(range * 100.0));
    let least = |row: &FoundIndex<'_>| -> Place {
        row.layout.range.map_or("-".to_owned(), |range| range.extents_least.to_string()).into()
    };
    vec![
        name("table", Ink::Strong, |row| row.name.table.replacen('/', ".", 1)),
        name("index", Ink::Plain, |row| row.name.index.clone()),
        number(["pages", ""], 0, |row| row.layout.pages.to_string().into()),
        number(["levels", ""], 3, |row| row.layout.levels.to_string().into()),
        number(["rows", ""], 4, |row| row.layout.records.to_string().into()),
        number(["fill", ""], 1, |row| share(Some(row.layout.fill), FILL_DOUBT, row.layout.leaves > 1)),
        number(["in", "order"], 0, |row| share(row.layout.in_order, ORDER_DOUBT, true)),
        number(["mean", "jump"], 2, |row| decimal(row.layout.mean_jump).into()),
        number(["extents", &of_range], 2, |row| decimal(row.layout.range.map(|range| range.extents)).into()),
        number(["at", "least"], 3, least),
    ]
}

fn share(value: Option<f64>, doubt: f64, tells: bool) -> Place {
    let Some(value) = value else { return Place::new("-", Ink::Soft) };
    let ink = if tells && value < doubt { Ink::Doubt } else { Ink::Plain };
    Place::new(format!("{value:.3}"), ink)
}

fn decimal(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.1}"))
}

/// A file in a line: its size, and its pages by kind.
fn summary(file: &FoundFile) -> String {
    let space = &file.space;
    let bytes = space.pages * space.format.page_bytes as u64;
    let mut kinds: Vec<_> = space.kinds.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let counts: Vec<String> =
        kinds.into_iter().map(|(kind, count)| format!("{count} {}", kind.name())).collect();
    let path = file.path.display();
    let size = space.format.page_bytes >> 10;
    format!("{path}: {}, {} pages of {size} KiB: {}\n", format::bytes(bytes), space.pages, counts.join(", "))
}

fn broken(file: &FoundFile, look: Look) -> String {
    let one = |broken: &evenkeel_sense::pages::Broken| {
        let name = file.name_of(broken.index);
        let index =
            name.map_or(String::new(), |name| format!("{} {}", name.table.replacen('/', ".", 1), name.index));
        let mark = paint("broken:", Ink::Bad, look.colour);
        format!("{mark} {index}, level {}: {}\n", broken.level, broken.fault)
    };
    file.space.broken.iter().map(one).collect()
}
