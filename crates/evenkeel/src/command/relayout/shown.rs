//! What a relayout is estimated to gain and what it gained, as tables for people.

use super::measured::{Pages, RANGE, Seen};
use crate::format;
use crate::pages::room_lines;
use crate::table::{GridColumn, Look, lines};
use evenkeel_sense::pages::Room;
use evenkeel_site::relayout::{Done, Facts, Waits};
use serde::Serialize;

/// All tables before anything is done, with an estimate for after a rebuild.
pub fn before(all: &[Table], dry_run: bool, look: Look) -> String {
    let chosen: Vec<&Table> = all.iter().filter(|table| table.left.is_none()).collect();
    let mut text = String::new();
    let rows: Vec<(&str, &Pages)> = chosen.iter().flat_map(|table| rows(table)).collect();
    if !rows.is_empty() {
        text.push_str(&lines(estimated(&rows), &[], look));
        text.push('\n');
    }
    for table in &chosen {
        if let Some(why) = &table.unread {
            text.push_str(&format!("{}: no estimate, since {why}\n", table.facts.table));
        }
    }
    for table in all {
        if let Some(why) = &table.left {
            text.push_str(&format!("{}: {why}\n", table.facts.table));
        }
    }
    for table in &chosen {
        let kept = table.facts.kept();
        if !kept.is_empty() {
            text.push_str(&format!("{}: keeps {}\n", table.facts.table, kept.join("; ")));
        }
    }
    for table in &chosen {
        text.push_str(
            &table.room_before.map_or(String::new(), |room| room_lines(&table.facts.table, &room, "")),
        );
    }
    let room = chosen.iter().map(|table| table.rebuilt_bytes()).max().unwrap_or(0);
    let waits = "writers do not wait if the server can avoid it";
    let tables = format::counted(chosen.len(), "table");
    text.push_str(&match (chosen.is_empty(), dry_run) {
        (true, _) if all.iter().any(|table| table.left.as_deref() != Some(WELL)) => {
            "nothing is rebuilt: the tables named above were refused or cannot be read\n".to_owned()
        }
        (true, _) => "nothing to do: all tables have a good layout\n".to_owned(),
        (_, true) => format!(
            "{tables} would be rebuilt, with {} of free space for the largest; {waits}\n",
            format::bytes(room)
        ),
        (_, false) => format!(
            "{tables} to be rebuilt, with {} of free space for the largest; {waits}\n",
            format::bytes(room)
        ),
    });
    text
}

/// A table once it is done, or why it is not.
pub fn after(table: &Table, look: Look) -> String {
    let Some(done) = &table.done else {
        let why = table.left.as_deref().unwrap_or("not done");
        return format!("{}: {why}\n", table.facts.table);
    };
    let (before, after) = (rows(table), table.after.as_deref().unwrap_or_default());
    let mut text = String::new();
    if !after.is_empty() {
        text.push_str(&lines(gained(&before, after), &[], look));
    }
    let waited = match done.waits {
        Waits::Nobody => "writers waited for moments",
        Waits::Writers => "writers waited all the time",
    };
    let pages = match table.pages_s {
        none if none <= 0.0 => String::new(),
        pages_s => format!(", and {} while its pages were read", format::seconds(pages_s)),
    };
    let took = format::seconds(table.took_s.unwrap_or_default());
    let room = table.room_before.zip(table.room_after).map(|(before, after)| {
        format!(", its file {} -> {}", format::bytes(before.file_bytes), format::bytes(after.file_bytes))
    });
    let room = room.unwrap_or_default();
    text.push_str(&format!("{}: rebuilt in {took}{room}, {waited}{pages}\n\n", table.facts.table));
    text
}

fn rows(table: &Table) -> Vec<(&str, &Pages)> {
    let pages = table.before.as_deref().unwrap_or_default();
    pages.iter().map(|index| (table.facts.table.as_str(), index)).collect()
}

fn estimated(rows: &[(&str, &Pages)]) -> Vec<GridColumn> {
    let of = format!("of {}", format::percent(RANGE * 100.0));
    vec![
        GridColumn::of(rows, ["table", ""], false, 0, |(table, _)| (*table).to_owned()),
        GridColumn::of(rows, ["index", ""], false, 0, |(_, index)| index.index.clone()),
        GridColumn::of(rows, ["fill", ""], true, 2, |(_, index)| share(Some(index.fill))),
        GridColumn::of(rows, ["in", "order"], true, 0, |(_, index)| share(index.in_order)),
        GridColumn::of(rows, ["pages", ""], true, 0, |(_, index)| index.pages.to_string()),
        GridColumn::of(rows, ["pages", "estimate"], true, 0, |(_, index)| index.rebuilt_pages.to_string()),
        GridColumn::of(rows, ["extents", &of], true, 1, |(_, index)| format::decimal(index.range_extents)),
        GridColumn::of(rows, ["extents", "estimate"], true, 1, |(_, index)| {
            format::decimal(index.rebuilt_range_extents)
        }),
    ]
}

fn gained(before: &[(&str, &Pages)], after: &[Pages]) -> Vec<GridColumn> {
    let was = |index: &Pages| before.iter().find(|(_, old)| old.index == index.index).map(|(_, old)| *old);
    let pair = |index: &Pages, figure: &dyn Fn(&Pages) -> String| {
        format!("{} -> {}", was(index).map_or("-".to_owned(), figure), figure(index))
    };
    let of = format!("of {}", format::percent(RANGE * 100.0));
    vec![
        GridColumn::of(after, ["index", ""], false, 0, |index| index.index.clone()),
        GridColumn::of(after, ["fill", ""], true, 2, |index| pair(index, &|old| share(Some(old.fill)))),
        GridColumn::of(after, ["in order", ""], true, 0, |index| pair(index, &|old| share(old.in_order))),
        GridColumn::of(after, ["pages", ""], true, 0, |index| pair(index, &|old| old.pages.to_string())),
        GridColumn::of(after, ["pages", "estimate"], true, 1, |index| {
            was(index).map_or("-".to_owned(), |old| old.rebuilt_pages.to_string())
        }),
        GridColumn::of(after, ["extents", &of], true, 0, |index| {
            pair(index, &|old| format::decimal(old.range_extents))
        }),
    ]
}

fn share(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.3}"))
}

/// What is said of a table that has nothing to gain.
pub const WELL: &str = "good layout";

#[derive(Debug, Serialize)]
pub struct Table {
    #[serde(flatten)]
    pub facts: Facts,
    /// How its indexes lay before; none where pages cannot be read from here.
    pub before: Option<Vec<Pages>>,
    pub room_before: Option<Room>,
    pub unread: Option<String>,
    pub after: Option<Vec<Pages>>,
    pub room_after: Option<Room>,
    pub done: Option<Done>,
    pub took_s: Option<f64>,
    /// How long writers waited while its pages were read, before and after.
    pub pages_s: f64,
    pub left: Option<String>,
}

impl Table {
    pub fn new(facts: Facts, seen: Result<Seen, String>, pages_s: f64, left: Option<String>) -> Self {
        let (seen, unread) = (seen.as_ref().ok().cloned(), seen.err());
        let (before, room_before) = seen.map(|seen| (seen.indexes, seen.room)).unzip();
        let (after, room_after, done, took_s) = (None, None, None, None);
        Self { facts, before, room_before, unread, after, room_after, done, took_s, pages_s, left }
    }

    /// Bytes of its file after a rebuild, about: by its pages where they were read, since the server's own figure may be old.
    pub fn rebuilt_bytes(&self) -> u64 {
        let by_pages = self.room_before.map(|room| room.rebuilt_bytes).filter(|bytes| *bytes > 0);
        by_pages.unwrap_or(self.facts.bytes)
    }
}
