//! Parameters of every statement, from what the session knows and by the rules of the population.

use super::session::{Act, Session};
use super::statements::Sql;
use super::values::{COUNTRY_NAMES, search_a, search_prefix};
use crate::data::tpcw::values::{astring, choice, digsyl, nstring, picture};
use crate::data::tpcw::{CARD_TYPES, SHIP_TYPES, SUBJECTS};
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
