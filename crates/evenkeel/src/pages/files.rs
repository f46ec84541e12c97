//! Which files are meant by a name on the command line, and how their indexes are called.

use super::live::{FoundFile, FoundIndex, is_named, is_of_full_text, label};
use crate::failure::WithHint;
use crate::format;
use crate::table::{GridColumn, Ink, Look, Place, lines, paint};
use anyhow::{Result, anyhow};
use evenkeel_sense::pages::{Names, Room, Tablespace, holder};
use serde_json::{Map, Value, json as value};
use std::fs;
use std::path::{Path, PathBuf};

/// The tablespace that tables without a file of their own share, and that names all indexes.
const SHARED: &str = "ibdata1";

/// Files to read, and the names of what is in them.
#[derive(Debug)]
pub struct Files {
    /// Files in the order in which they are read.
    pub paths: Vec<PathBuf>,
    /// Names of indexes, as far as the server's dictionary is there.
    pub names: Names,
}

/// One file of a stopped server.
pub fn of_file(path: &Path) -> Result<Files> {
    let shared = shared_of(path);
    refuse_held(shared.as_deref().unwrap_or(path), path)?;
    refuse_held(path, path)?;
    Ok(Files::named(shared.as_deref(), vec![path.to_owned()]))
}

impl Files {
    /// By the dictionary in the shared tablespace, and by what files of MySQL 8 or later say themselves. What cannot be read costs names,
    /// no figures.
    fn named(shared: Option<&Path>, paths: Vec<PathBuf>) -> Self {
        let mut names = shared.and_then(|shared| Names::read(shared).ok()).unwrap_or_default();
        for path in &paths {
            let _ = names.add_of_tablespace(path);
        }
        Self { paths, names }
    }
}

pub fn of_directory(directory: &Path, table: Option<&str>) -> Result<Files> {
    let shared = directory.join(SHARED);
    if !shared.is_file() {
        return Err(anyhow!("{} is not a data directory: it has no {SHARED}", directory.display()))
            .hint("name an .ibd file, the ibdata1 of a stopped server, or a data directory");
    }
    refuse_held(&shared, directory)?;
    let mut paths = vec![shared.clone()];
    for database in entries(directory)?.into_iter().filter(|path| path.is_dir()) {
        let is_table = |path: &PathBuf| {
            path.is_file()
                && path.extension().is_some_and(|end| end == "ibd")
                && !is_of_full_text(&label(path))
        };
        paths.extend(entries(&database)?.into_iter().filter(is_table));
    }
    if let Some(table) = table {
        let own: Vec<PathBuf> = paths.iter().filter(|path| is_named(&label(path), table)).cloned().collect();
        // A table without a file of its own is in the shared one.
        paths = if own.is_empty() { vec![shared.clone()] } else { own };
    }
    Ok(Files::named(Some(&shared), paths))
}

/// The shared tablespace of the server to which this file belongs.
fn shared_of(path: &Path) -> Option<PathBuf> {
    if path.file_name().is_some_and(|name| name == SHARED) {
        return Some(path.to_owned());
    }
    let path = fs::canonicalize(path).ok()?;
    path.ancestors().skip(1).take(2).map(|folder| folder.join(SHARED)).find(|shared| shared.is_file())
}

/// Refuses files that a server has open: what it has in memory is not in them.
fn refuse_held(shared: &Path, path: &Path) -> Result<()> {
    match holder(shared) {
        None => Ok(()),
        Some(pid) => Err(anyhow!("a server (process {pid}) has {} open", path.display()))
            .hint("stop it, or name the server: mysql://user@host/database, or sandbox:NAME"),
    }
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error| anyhow::Error::from(error).context(format!("reading {}", directory.display()));
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}

pub fn json(files: &[FoundFile], table: Option<&str>, range: f64) -> Value {
    Value::Array(files.iter().map(|file| one(file, table, range)).collect())
}

fn one(file: &FoundFile, table: Option<&str>, range: f64) -> Value {
    let space = &file.space;
    let kinds: Map<String, Value> =
        space.kinds.iter().map(|(kind, count)| (kind.name().to_owned(), (*count).into())).collect();
    let broken: Vec<Value> = space
        .broken
        .iter()
        .map(|broken| {
            let name = file.name_of(broken.index);
            value!({
                "index_id": broken.index, "level": broken.level, "fault": broken.fault.to_string(),
                "table": name.map(|name| &name.table), "index": name.map(|name| &name.index),
            })
        })
        .collect();
    value!({
        "file": file.path.display().to_string(),
        "page_bytes": space.format.page_bytes,
        "pages": space.pages,
        "page_types": kinds,
        "index_pages_in_double_write_buffer": space.copies,
        "free_pages": space.free,
        "outside_pages": space.outside,
        "range_outside_pages": of_range(space, range),
        "room": file.room(),
        "gives_back_bytes": file.room().and_then(|room| room.gives_back()),
        "indexes": file.indexes(table, true).iter().map(index).collect::<Vec<_>>(),
        "broken": broken,
    })
}

fn index(found: &FoundIndex<'_>) -> Value {
    let layout = found.layout;
    value!({
        "table": found.name.table,
        "index": found.name.index,
        "index_id": layout.id,
        "pages": layout.pages,
        "freed_pages": layout.freed,
        "levels": layout.levels,
        "leaves": layout.leaves,
        "records": layout.records,
        "deleted_records": layout.deleted,
        "used_bytes": layout.used_bytes,
        "fill": layout.fill,
        "leaves_by_tenth_of_fill": layout.fills,
        "in_order": layout.in_order,
        "mean_jump_pages": layout.mean_jump,
        "range_leaves": layout.range.map(|range| range.leaves),
        "range_extents": layout.range.map(|range| range.extents),
        "range_extents_least": layout.range.map(|range| range.extents_least),
    })
}

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
    for file in files.iter().filter(|file| !file.indexes(wanted, all).is_empty()) {
        text.push_str(&advice(file, range));
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
        number(["mean", "jump"], 2, |row| format::decimal(row.layout.mean_jump).into()),
        number(["extents", &of_range], 2, |row| {
            format::decimal(row.layout.range.map(|range| range.extents)).into()
        }),
        number(["at", "least"], 3, least),
    ]
}

fn share(value: Option<f64>, doubt: f64, tells: bool) -> Place {
    let Some(value) = value else { return Place::new("-", Ink::Soft) };
    let ink = if tells && value < doubt { Ink::Doubt } else { Ink::Plain };
    Place::new(format!("{value:.3}"), ink)
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

/// Pages of values outside their rows that a range of keys reads besides those of its index, in the mean.
fn of_range(space: &Tablespace, range: f64) -> u64 {
    (space.outside as f64 * range).ceil() as u64
}

/// What the columns do not show of the room of its table.
fn advice(file: &FoundFile, range: f64) -> String {
    let (Some(room), Some(name)) = (file.room(), file.names.first()) else { return String::new() };
    let more = format!(
        "; reading {} of the rows with these values reads {}",
        format::percent(range * 100.0),
        format::counted(of_range(&file.space, range) as usize, "more page"),
    );
    room_lines(&name.table.replacen('/', ".", 1), &room, &more)
}

/// Values outside the rows of a table, and `more` about them; room that a rebuild would free.
pub fn room_lines(table: &str, room: &Room, more: &str) -> String {
    let outside = (room.outside_bytes > 0).then(|| {
        format!("{table}: {} of long values outside the rows{more}\n", format::bytes(room.outside_bytes))
    });
    let free = room.gives_back().map(|bytes| {
        let [back, file, free] = [bytes, room.file_bytes, room.free_bytes].map(format::bytes);
        format!("{table}: a rebuild (evenkeel relayout) would free about {back} of {file}; {free} are unused pages now\n")
    });
    [outside, free].into_iter().flatten().collect()
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
