//! Parameters of every statement, from what the session knows and by the rules of the population.

use super::session::{Act, Session};
use super::statements::Sql;
use super::values::{CARDS, COUNTRY_NAMES, SHIP_TYPES, one_of, search_a, search_prefix};
use crate::data::tpcw::SUBJECTS;
use crate::data::tpcw::values::{astring, digsyl, nstring};
use crate::workload::{Fill, Parameters};
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
                ints(fill, [self.known_customer(random)]);
            }
            Customer | CustomerPassword | LatestOrder => self.write_uname(random, fill),
            CustomerInsert => self.write_customer(random, fill),
            Promotion | RelatedItem => ints(fill, [self.store.item(random)]),
            NewProducts | BestSellers | SearchSubject => text(fill, one_of(&SUBJECTS, random)),
            SearchTitle | SearchAuthor => self.write_search(act.sql, random, fill),
            ProductDetail => ints(fill, [self.item]),
            CoOrdered => ints(fill, [self.item, self.item]),
            ItemStock => ints(fill, [act.item]),
            ItemStockUpdate => ints(fill, [act.quantity, act.item]),
            ItemUpdate => self.write_item(random, fill),
            ItemRelatedUpdate => {
                ints(fill, self.related);
                ints(fill, [self.item]);
            }
            CartInsert | CartSize | CartTouch | CartClear | Cart | CartLine | CartLineInsert
            | CartLineUpdate | CartLineDelete | CartFill => self.write_cart(act, random, fill),
            OrderDisplay | OrderLines => ints(fill, [self.order]),
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
            Country => text(fill, one_of(&COUNTRY_NAMES, random)),
            Address => self.write_address(fill),
            AddressInsert => {
                ints(fill, [self.ship_address]);
                self.write_address(fill);
            }
        }
    }

    fn write_cart(&mut self, act: Act, random: &mut Random, fill: &mut Fill<'_>) {
        let cart = self.cart.unwrap_or(1);
        match act.sql {
            Sql::CartLine | Sql::CartLineDelete => ints(fill, [cart, act.item]),
            Sql::CartLineInsert => ints(fill, [cart, act.item, act.quantity]),
            Sql::CartLineUpdate => ints(fill, [act.quantity, cart, act.item]),
            Sql::CartFill => {
                for _ in 0..CART_FILL_LINES {
                    ints(fill, [cart, self.store.item(random), random.uniform(1, 10)]);
                }
            }
            _ => ints(fill, [cart]),
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
            let picture = random.uniform(1, self.store.scale.items());
            fill.text(|buffer| picture_path(buffer, kind, picture));
        }
        ints(fill, [self.item]);
    }

    fn write_order(&mut self, random: &mut Random, fill: &mut Fill<'_>) {
        let totals = self.totals();
        ints(fill, [self.order, self.known_customer(random)]);
        fill.double(totals.sub_total).double(totals.tax).double(totals.total);
        text(fill, one_of(&SHIP_TYPES, random));
        ints(fill, [random.uniform(0, 7), self.bill_address, self.ship_address]);
    }

    fn write_card(&self, random: &mut Random, fill: &mut Fill<'_>) {
        ints(fill, [self.order]);
        text(fill, one_of(&CARDS, random));
        fill.text(|buffer| nstring(buffer, random, 16, 16));
        fill.text(|buffer| astring(buffer, random, 14, 30));
        ints(fill, [random.uniform(10, 730)]);
        fill.text(|buffer| astring(buffer, random, 15, 15));
        ints(fill.double(self.totals().total), [self.ship_address]);
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
        ints(fill, [self.address.country]);
    }

    fn write_customer(&mut self, random: &mut Random, fill: &mut Fill<'_>) {
        let customer = self.known_customer(random);
        let uname = |buffer: &mut Vec<u8>| digsyl(buffer, customer);
        ints(fill, [customer]);
        fill.text(uname).text(|buffer| {
            uname(buffer);
            buffer.make_ascii_lowercase();
        });
        for _ in ["c_fname", "c_lname"] {
            fill.text(|buffer| astring(buffer, random, 8, 15));
        }
        ints(fill, [self.ship_address]);
        fill.text(|buffer| nstring(buffer, random, 9, 16));
        fill.text(|buffer| {
            uname(buffer);
            buffer.push(b'@');
            astring(buffer, random, 2, 9);
            buffer.extend_from_slice(b".com");
        });
        ints(fill.double(cents(random, 0, 50)), [random.uniform(18 * 365, 90 * 365)]);
        fill.text(|buffer| astring(buffer, random, 100, 500));
    }
}

fn ints<const COUNT: usize>(fill: &mut Fill<'_>, numbers: [u64; COUNT]) {
    for number in numbers {
        // Ids are counted up from what an INT column holds, so that this bound is never met.
        fill.int(i64::try_from(number).unwrap_or(i64::MAX));
    }
}

fn text(fill: &mut Fill<'_>, text: &str) {
    fill.bytes(text.as_bytes());
}

fn cents(random: &mut Random, min: u64, max: u64) -> f64 {
    random.uniform(min, max) as f64 / 100.0
}

fn write_line(line: u64, order: u64, act: Act, random: &mut Random, fill: &mut Fill<'_>) {
    ints(fill, [line, order, act.item, act.quantity]);
    fill.double(cents(random, 0, 30)).text(|buffer| astring(buffer, random, 20, 100));
}

/// Writes the path of a picture, as `img17/image_417.gif`.
fn picture_path(buffer: &mut Vec<u8>, kind: &str, picture: u64) {
    use std::io::Write;
    // Writing to memory cannot fail.
    let _ = write!(buffer, "img{}/{kind}_{picture}.gif", picture % 100);
}
