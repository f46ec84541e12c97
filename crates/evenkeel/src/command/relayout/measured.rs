//! How the indexes of a table lie, and how they would after a rebuild.

use crate::failure::WithHint;
use crate::pages::{read_live, table_of};
use anyhow::{Result, anyhow};
use evenkeel_os::Stop;
use evenkeel_sense::pages::{IndexLayout, Room};
use evenkeel_site::server::Target;
use serde::Serialize;
use std::path::Path;

/// Share of an index that a range of keys reads.
pub const RANGE: f64 = 0.05;
/// From this share of leaves in order on, and from this fill, there is little to gain.
const WELL_IN_ORDER: f64 = 0.9;
const WELL_FILLED: f64 = 0.85;
/// An index of fewer leaves than an extent is read at once however they lie; InnoDB gives it single pages first, where it finds some.
const FEW_LEAVES: u64 = 64;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pages {
    /// Its name; with that of the partition where there is one.
    pub index: String,
    pub pages: u64,
    /// Bytes of each.
    pub page_bytes: u64,
    pub leaves: u64,
    pub fill: f64,
    /// That share where rows are sorted anew: whole rows have to fit.
    pub reached_fill: f64,
    pub in_order: Option<f64>,
    /// Stretches of 1 MiB that a range of 5 % of the keys touches, in the mean.
    pub range_extents: Option<f64>,
    /// After a rebuild, about.
    pub rebuilt_pages: u64,
    pub rebuilt_range_extents: Option<f64>,
}

impl Pages {
    fn of(page_bytes: u64, partition: Option<&str>, name: &str, layout: &IndexLayout) -> Self {
        let less = layout.less(page_bytes);
        Self {
            index: partition.map_or_else(|| name.to_owned(), |partition| format!("{name} of {partition}")),
            pages: layout.pages,
            page_bytes,
            leaves: layout.leaves,
            fill: layout.fill,
            reached_fill: layout.reached_fill(page_bytes),
            in_order: layout.in_order,
            range_extents: layout.range.map(|range| range.extents),
            rebuilt_pages: layout.rebuilt_pages(page_bytes),
            rebuilt_range_extents: layout
                .range
                .map(|range| (f64::from(range.extents_least as u32) * less).max(1.0)),
        }
    }

    /// Whether a new layout would gain little.
    pub fn lies_well(&self) -> bool {
        self.leaves < FEW_LEAVES
            || (self.in_order.is_none_or(|share| share >= WELL_IN_ORDER)
                && self.fill >= WELL_FILLED * self.reached_fill)
    }
}

/// A table by its pages.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub indexes: Vec<Pages>,
    pub room: Room,
}

impl Seen {
    /// Whether a new layout would gain little, and give little back.
    pub fn lies_well(&self) -> bool {
        self.indexes.iter().all(Pages::lies_well) && self.room.gives_back().is_none()
    }
}

/// A table, read while the server holds it still.
/// Errors: it may not be held, or its file cannot be read.
pub fn seen(target: &Target, data: &Path, table: &str, stop: &Stop) -> Result<Seen> {
    let database = target.database.as_deref().unwrap_or_default();
    let name = format!("{database}.{table}");
    let files = read_live(target, data, Some(&name), RANGE, stop, &mut |_, _| {})?;
    let (mut all, mut room) = (Vec::new(), Room::default());
    for file in &files {
        room = room.with(file.room().unwrap_or_default());
        for index in file.indexes(Some(&name), true) {
            let partition = table_of(&index.name.table).1;
            all.push(Pages::of(
                file.space.format.page_bytes as u64,
                partition,
                &index.name.index,
                index.layout,
            ));
        }
    }
    if all.is_empty() {
        return Err(anyhow!("no file of table {table} is found at the server"))
            .hint("its name may have letters that cannot be converted here");
    }
    Ok(Seen { indexes: all, room })
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_sense::pages::RangeCost;

    fn layout(leaves: u64, fill: f64, in_order: f64) -> IndexLayout {
        IndexLayout {
            id: 1,
            pages: leaves + 1,
            freed: 0,
            levels: 2,
            leaves,
            records: 100 * leaves,
            deleted: 0,
            used_bytes: 0,
            fill,
            fills: [0; 10],
            in_order: Some(in_order),
            mean_jump: None,
            range: Some(RangeCost { leaves: leaves / 20, extents: 9.0, extents_least: 2 }),
        }
    }

    fn index(leaves: u64, fill: f64, in_order: f64) -> Pages {
        Pages::of(16_384, None, "PRIMARY", &layout(leaves, fill, in_order))
    }

    #[test]
    fn an_index_out_of_order_or_half_empty_is_worth_it_and_a_small_one_is_not() {
        assert!(!index(400, 0.93, 0.1).lies_well() && !index(400, 0.6, 0.99).lies_well());
        assert!(index(400, 0.93, 0.95).lies_well() && index(40, 0.3, 0.0).lies_well());
    }

    #[test]
    fn two_large_rows_to_a_leaf_are_all_that_a_new_layout_can_reach() {
        let layout =
            IndexLayout { records: 800, used_bytes: 800 * 6_000, fill: 0.74, ..layout(400, 0.74, 0.99) };
        let found = Pages::of(16_384, None, "PRIMARY", &layout);
        assert!(found.lies_well() && found.rebuilt_pages == 401, "{found:?}");
    }

    #[test]
    fn half_empty_leaves_have_fewer_pages_after_a_rebuild_and_full_ones_as_many() {
        let half = index(400, 0.46875, 0.1);
        assert_eq!((half.rebuilt_pages, half.rebuilt_range_extents), (201, Some(1.0)));
        assert_eq!(index(400, 0.98, 0.1).rebuilt_pages, 401);
    }
}
