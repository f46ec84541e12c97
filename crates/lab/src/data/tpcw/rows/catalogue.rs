//! The rows of items and of their authors.

use super::{Generator, Row, day_in};
use crate::data::tpcw::values;
use evenkeel_core::random::Random;

#[rustfmt::skip]
pub const SUBJECTS: [&str; 24] = [
    "ARTS", "BIOGRAPHIES", "BUSINESS", "CHILDREN", "COMPUTERS", "COOKING", "HEALTH", "HISTORY", "HOME",
    "HUMOR", "LITERATURE", "MYSTERY", "NON-FICTION", "PARENTING", "POLITICS", "REFERENCE", "RELIGION",
    "ROMANCE", "SELF-HELP", "SCIENCE-NATURE", "SCIENCE-FICTION", "SPORTS", "YOUTH", "TRAVEL",
];

const BACKINGS: [&str; 5] = ["HARDBACK", "PAPERBACK", "USED", "AUDIO", "LIMITED-EDITION"];

impl Generator {
    pub(super) fn item(&self, number: u64, row: &mut Row<'_>) {
        let published = day_in(row.random, 1930, 2000);
        let available = published.plus(row.random.uniform(1, 30));
        let list_price_cents = row.random.uniform(100, 99_999);
        let discount_percent = row.random.uniform(0, 50);
        let authors = self.scale.authors();
        // Every author wrote at least one item.
        let author = if number <= authors { number } else { row.random.uniform(1, authors) };
        let related = related(row.random, self.scale.items());
        row.whole(number).astring(14, 60).whole(author).date(published).astring(14, 60).choice(&SUBJECTS);
        row.astring(100, 500);
        for item in related {
            row.whole(item);
        }
        row.field(|out, _| values::picture(out, "thumb", number))
            .field(|out, _| values::picture(out, "image", number))
            .decimal(list_price_cents, 2)
            .decimal(list_price_cents * (100 - discount_percent), 4)
            .date(available)
            .uniform(10, 30)
            .astring_fixed(13)
            .uniform(20, 9_999)
            .choice(&BACKINGS)
            .field(dimensions);
    }
}

/// Five different items.
fn related(random: &mut Random, items: u64) -> [u64; 5] {
    let mut related = [0; 5];
    for index in 0..related.len() {
        related[index] = loop {
            let item = random.uniform(1, items);
            if !related[..index].contains(&item) {
                break item;
            }
        };
    }
    related
}

/// Three lengths of 0.01 to 99.99, joined by `x`.
fn dimensions(out: &mut Vec<u8>, random: &mut Random) {
    for side in 0..3 {
        if side > 0 {
            out.push(b'x');
        }
        values::decimal(out, random.uniform(1, 9_999), 2);
    }
}
