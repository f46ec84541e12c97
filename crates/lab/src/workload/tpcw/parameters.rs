//! Parameters of every statement, from what the session knows and by the rules of the population.

use super::session::{Act, Session};
use super::statements::Sql;
use super::values::{CARDS, COUNTRY_NAMES, SHIP_TYPES, dig_syl, one_of, search_a, search_prefix};
use crate::data::tpcw::SUBJECTS;
use crate::data::tpcw::values::{astring, nstring};
use crate::workload::{Fill, Parameters};
use evenkeel_core::random::Random;

/// Lines that `Sql::CartFill` writes.
const CART_FILL_LINES: u64 = 3;

impl Session {
    /// Writes the parameters of a statement.
    pub fn write(&mut self, act: Act, random: &mut Random, parameters: &mut Parameters) {
        let mut fill = Fill::over(parameters);
        match act.sql {
            Sql::Begin
            | Sql::Commit
            | Sql::CartCount
            | Sql::CustomerMax
            | Sql::AddressMax
            | Sql::OrderCount => {}
            Sql::CustomerName
            | Sql::CustomerUname
            | Sql::CustomerDiscount
            | Sql::CustomerAddress
            | Sql::Login => {
                int(&mut fill, self.known_customer(random));
            }
            Sql::Customer | Sql::CustomerPassword | Sql::LatestOrder => {
                let customer = self.known_customer(random);
                fill.text(|buffer| dig_syl(buffer, customer));
            }
            Sql::Promotion | Sql::RelatedItem => {
                int(&mut fill, self.store.item(random));
            }
            Sql::NewProducts | Sql::BestSellers | Sql::SearchSubject => {
                fill.bytes(one_of(&SUBJECTS, random).as_bytes());
            }
            Sql::SearchTitle | Sql::SearchAuthor => self.write_search(act.sql, random, &mut fill),
            Sql::ProductDetail => {
                int(&mut fill, self.item);
            }
            Sql::ItemStock => {
                int(&mut fill, act.item);
            }
            Sql::ItemStockUpdate => {
                int(int(&mut fill, act.quantity), act.item);
            }
            Sql::ItemUpdate => self.write_item(random, &mut fill),
            Sql::CoOrdered => {
                int(int(&mut fill, self.item), self.item);
            }
            Sql::ItemRelatedUpdate => {
                int(self.related.iter().fold(&mut fill, |fill, &item| int(fill, item)), self.item);
            }
            Sql::OrderDisplay | Sql::OrderLines => {
                int(&mut fill, self.order);
            }
            Sql::OrderInsert => self.write_order(random, &mut fill),
            Sql::OrderLineInsert => {
                self.order_lines += 1;
                write_line(self.order_lines, self.order, act, random, &mut fill);
            }
            Sql::Write => {
                let (order, line) = self.store.ids.next_line();
                let act = Act { item: self.store.item(random), quantity: random.uniform(1, 300), ..act };
                write_line(line, order, act, random, &mut fill);
            }
            Sql::CreditCardInsert => self.write_card(random, &mut fill),
            Sql::Country => {
                fill.bytes(one_of(&COUNTRY_NAMES, random).as_bytes());
            }
            Sql::Address => self.write_address(&mut fill),
            Sql::AddressInsert => {
                int(&mut fill, self.ship_address);
                self.write_address(&mut fill);
            }
            Sql::CustomerInsert => self.write_customer(random, &mut fill),
            _ => self.write_cart(act, random, &mut fill),
        }
    }

    /// The statements about a cart.
    fn write_cart(&mut self, act: Act, random: &mut Random, fill: &mut Fill<'_>) {
        let cart = self.cart.unwrap_or(1);
        match act.sql {
            Sql::CartLine | Sql::CartLineDelete => int(int(fill, cart), act.item),
            Sql::CartLineInsert => int(int(int(fill, cart), act.item), act.quantity),
            Sql::CartLineUpdate => int(int(int(fill, act.quantity), cart), act.item),
            Sql::CartFill => (0..CART_FILL_LINES).fold(fill, |fill, _| {
                int(int(int(fill, cart), self.store.item(random)), random.uniform(1, 10))
            }),
            _ => int(fill, cart),
        };
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
        int(fill, self.item);
    }

    fn write_order(&mut self, random: &mut Random, fill: &mut Fill<'_>) {
        let totals = self.totals();
        int(int(fill, self.order), self.known_customer(random));
        fill.double(totals.sub_total).double(totals.tax).double(totals.total);
        fill.bytes(one_of(&SHIP_TYPES, random).as_bytes());
        int(int(int(fill, random.uniform(0, 7)), self.bill_address), self.ship_address);
    }

    fn write_card(&self, random: &mut Random, fill: &mut Fill<'_>) {
        int(fill, self.order).bytes(one_of(&CARDS, random).as_bytes());
        fill.text(|buffer| nstring(buffer, random, 16, 16));
        fill.text(|buffer| astring(buffer, random, 14, 30));
        int(fill, random.uniform(10, 730));
        fill.text(|buffer| astring(buffer, random, 15, 15));
        int(fill.double(self.totals().total), self.ship_address);
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
        int(self.address.parts.iter().fold(fill, |fill, part| fill.bytes(part)), self.address.country);
    }

    fn write_customer(&mut self, random: &mut Random, fill: &mut Fill<'_>) {
        let customer = self.known_customer(random);
        let uname = |buffer: &mut Vec<u8>| dig_syl(buffer, customer);
        int(fill, customer).text(uname).text(|buffer| {
            uname(buffer);
            buffer.make_ascii_lowercase();
        });
        for _ in ["c_fname", "c_lname"] {
            fill.text(|buffer| astring(buffer, random, 8, 15));
        }
        int(fill, self.ship_address);
        fill.text(|buffer| nstring(buffer, random, 9, 16));
        fill.text(|buffer| {
            uname(buffer);
            buffer.push(b'@');
            astring(buffer, random, 2, 9);
            buffer.extend_from_slice(b".com");
        });
        int(fill.double(cents(random, 0, 50)), random.uniform(18 * 365, 90 * 365));
        fill.text(|buffer| astring(buffer, random, 100, 500));
    }
}

fn int<'a, 'b>(fill: &'a mut Fill<'b>, number: u64) -> &'a mut Fill<'b> {
    // Ids are counted up from what an INT column holds, so that this bound is never met.
    fill.int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn cents(random: &mut Random, min: u64, max: u64) -> f64 {
    random.uniform(min, max) as f64 / 100.0
}

fn write_line(line: u64, order: u64, act: Act, random: &mut Random, fill: &mut Fill<'_>) {
    int(int(int(int(fill, line), order), act.item), act.quantity);
    fill.double(cents(random, 0, 30)).text(|buffer| astring(buffer, random, 20, 100));
}

/// `img17/image_417.gif`
fn picture_path(buffer: &mut Vec<u8>, kind: &str, picture: u64) {
    use std::io::Write;
    // Writing to memory cannot fail.
    let _ = write!(buffer, "img{}/{kind}_{picture}.gif", picture % 100);
}
