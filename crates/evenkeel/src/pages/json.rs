//! What was found, for programs.

use super::found::{FoundFile, FoundIndex};
use serde_json::{Map, Value, json as value};

pub fn json(files: &[FoundFile], table: Option<&str>) -> Value {
    Value::Array(files.iter().map(|file| one(file, table)).collect())
}

fn one(file: &FoundFile, table: Option<&str>) -> Value {
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
