//! Parameters of every statement, from what the session knows and by the rules of the population.

use super::session::{Act, Session};
use super::statements::Sql;
use crate::data::tpcw::values::{astring, choice, digsyl, nstring, picture};
use crate::data::tpcw::{CARD_TYPES, SHIP_TYPES, SUBJECTS};
use crate::workload::{Fill, Parameters};
use evenkeel_core::distribution::NuRand;
use evenkeel_core::random::Random;

/// Lines that `Sql::CartFill` writes.
const CART_FILL_LINES: u64 = 3;

impl Session {
    pub fn write(&mut self, act: Act, random: &mut Random, parameters: &mut Parameters) {
        use Sql::*;
        let fill = &mut Fill::over(parameters);
        match act.sql {
            Begin | Commit => {}
            CustomerName | CustomerUname | CustomerDiscount | CustomerAddress | Login => {
                fill.ints([self.known_customer(random)]);
            }
            Customer | CustomerPassword | LatestOrder => self.write_uname(random, fill),
            CustomerInsert => self.write_customer(random, fill),
            Promotion | RelatedItem => fill.ints([self.store.item(random)]),
            NewProducts | BestSellers | SearchSubject => text(fill, choice(random, &SUBJECTS)),
            SearchTitle | SearchAuthor => self.write_search(act.sql, random, fill),
            ProductDetail => fill.ints([self.item]),
            CoOrdered => fill.ints([self.item, self.item]),
            ItemStock => fill.ints([act.item]),
            ItemStockUpdate => fill.ints([act.quantity, act.item]),
            ItemUpdate => self.write_item(random, fill),
            ItemRelatedUpdate => {
                fill.ints(self.related);
                fill.ints([self.item]);
            }
            CartInsert | CartSize | CartTouch | CartClear | Cart | CartLine | CartLineInsert
            | CartLineUpdate | CartLineDelete | CartFill => self.write_cart(act, random, fill),
            OrderDisplay | OrderLines => fill.ints([self.order]),
            OrderInsert => self.write_order(random, fill),
            OrderLineInsert => {
                self.order_lines += 1;
                write_line(self.order_lines, self.order, act, random, fill);
            }
            Write => {
                let (order, line) = self.store.ids.next_line();
                let act = Act { item: self.store.item(random), quantity: random.uniform(1, 300), ..act };
                write_line(line, order, act, random, fill);
            }
            CreditCardInsert => self.write_card(random, fill),
            Country => text(fill, choice(random, &COUNTRY_NAMES)),
            Address => self.write_address(fill),
            AddressInsert => {
                fill.ints([self.ship_address]);
                self.write_address(fill);
            }
        }
    }

    fn write_cart(&mut self, act: Act, random: &mut Random, fill: &mut Fill<'_>) {
        let cart = self.cart.unwrap_or(1);
        match act.sql {
            Sql::CartLine | Sql::CartLineDelete => fill.ints([cart, act.item]),
            Sql::CartLineInsert => fill.ints([cart, act.item, act.quantity]),
            Sql::CartLineUpdate => fill.ints([act.quantity, cart, act.item]),
            Sql::CartFill => {
                for _ in 0..CART_FILL_LINES {
                    fill.ints([cart, self.store.item(random), random.uniform(1, 10)]);
                }
            }
            _ => fill.ints([cart]),
        }
    }

    fn write_uname(&mut self, random: &mut Random, fill: &mut Fill<'_>) {
        let customer = self.known_customer(random);
        fill.text(|buffer| digsyl(buffer, customer));
    }

    fn write_search(&self, sql: Sql, random: &mut Random, fill: &mut Fill<'_>) {
        let items = self.store.scale.items();
        let words = if sql == Sql::SearchTitle { items / 5 } else { items / 10 };
        fill.text(|buffer| search_prefix(buffer, random, search_a(items), words));
    }

    fn write_item(&self, random: &mut Random, fill: &mut Fill<'_>) {
        fill.double(cents(random, 100, 99_999));
        for kind in ["image", "thumb"] {
            let number = random.uniform(1, self.store.scale.items());
            fill.text(|buffer| picture(buffer, kind, number));
        }
        fill.ints([self.item]);
    }

    fn write_order(&mut self, random: &mut Random, fill: &mut Fill<'_>) {
        let totals = self.totals();
        fill.ints([self.order, self.known_customer(random)]);
        fill.double(totals.sub_total).double(totals.tax).double(totals.total);
        text(fill, choice(random, &SHIP_TYPES));
        fill.ints([random.uniform(0, 7), self.bill_address, self.ship_address]);
    }

    fn write_card(&self, random: &mut Random, fill: &mut Fill<'_>) {
        fill.ints([self.order]);
        text(fill, choice(random, &CARD_TYPES));
        fill.text(|buffer| nstring(buffer, random, 16, 16));
        fill.text(|buffer| astring(buffer, random, 14, 30));
        fill.ints([random.uniform(10, 730)]);
        fill.text(|buffer| astring(buffer, random, 15, 15));
        fill.double(self.totals().total).ints([self.ship_address]);
    }

    /// Types in an address that is nobody's yet, as good as certainly.
    pub fn type_address(&mut self, random: &mut Random) {
        const LENGTHS: [(u64, u64); 5] = [(15, 40), (15, 40), (4, 30), (2, 20), (5, 10)];
        for (part, (min, max)) in self.address.parts.iter_mut().zip(LENGTHS) {
            part.clear();
            astring(part, random, min, max);
        }
    }

    fn write_address(&self, fill: &mut Fill<'_>) {
        for part in &self.address.parts {
            fill.bytes(part);
        }
        fill.ints([self.address.country]);
    }

    fn write_customer(&mut self, random: &mut Random, fill: &mut Fill<'_>) {
        let customer = self.known_customer(random);
        let uname = |buffer: &mut Vec<u8>| digsyl(buffer, customer);
        fill.ints([customer]);
        fill.text(uname).text(|buffer| {
            uname(buffer);
            buffer.make_ascii_lowercase();
        });
        for _ in ["c_fname", "c_lname"] {
            fill.text(|buffer| astring(buffer, random, 8, 15));
        }
        fill.ints([self.ship_address]);
        fill.text(|buffer| nstring(buffer, random, 9, 16));
        fill.text(|buffer| {
            uname(buffer);
            buffer.push(b'@');
            astring(buffer, random, 2, 9);
            buffer.extend_from_slice(b".com");
        });
        fill.double(cents(random, 0, 50)).ints([random.uniform(18 * 365, 90 * 365)]);
        fill.text(|buffer| astring(buffer, random, 100, 500));
    }
}

fn text(fill: &mut Fill<'_>, text: &str) {
    fill.bytes(text.as_bytes());
}

fn cents(random: &mut Random, min: u64, max: u64) -> f64 {
    random.uniform(min, max) as f64 / 100.0
}

fn write_line(line: u64, order: u64, act: Act, random: &mut Random, fill: &mut Fill<'_>) {
    fill.ints([line, order, act.item, act.quantity]);
    fill.double(cents(random, 0, 30)).text(|buffer| astring(buffer, random, 20, 100));
}

/// Countries that customers type in: some of those that the population has.
pub const COUNTRY_NAMES: [&str; 4] = ["United States", "United Kingdom", "Canada", "Germany"];

/// `A` of the choice of a search text.
pub fn search_a(items: u64) -> u64 {
    match items {
        0..10_000 => 63,
        10_000..100_000 => 511,
        100_000..1_000_000 => 4_095,
        1_000_000..10_000_000 => 32_767,
        _ => 524_287,
    }
}

/// Appends a search pattern: a prefix that is as long as lets one of `words` equally likely words be meant.
///
/// The specification hides one of `words` known words in the title (or name) of every item and searches for
/// one of them. Titles of this population are random texts in which such a word never stands, so a search
/// for it would find nothing at any size. A prefix of n letters has the likelihood (2/79)^n in a collation
/// that takes upper and lower case for the same; n is the one nearest to 1 / `words`, at least one.
pub fn search_prefix(buffer: &mut Vec<u8>, random: &mut Random, a: u64, words: u64) {
    let letters = ((words.max(1) as f64).ln() / 39.5_f64.ln()).round().max(1.0) as u32;
    let mut word = NuRand { a, x: 0, y: words }.draw(random);
    for _ in 0..letters {
        buffer.push(b'a' + (word % 26) as u8);
        word /= 26;
    }
    buffer.push(b'%');
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::random::Seed;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut buffer = Vec::new();
        write(&mut buffer);
        String::from_utf8(buffer).unwrap()
    }

    #[test]
    fn the_skew_of_searches_follows_the_items() {
        for (items, a) in
            [(1_000, 63), (10_000, 511), (100_000, 4_095), (1_000_000, 32_767), (10_000_000, 524_287)]
        {
            assert_eq!(search_a(items), a);
        }
    }

    #[test]
    fn search_prefixes_grow_with_the_words() {
        let mut random = Random::new(Seed(4));
        for (words, length) in [(1, 2), (200, 2), (2_000, 3), (20_000, 4), (200_000, 4)] {
            assert_eq!(
                text(|buffer| search_prefix(buffer, &mut random, 511, words)).len(),
                length,
                "{words}"
            );
        }
    }
}
