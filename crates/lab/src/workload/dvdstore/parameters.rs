//! Parameters of every statement, from what the customer knows and by the rules of the population.

use super::order::Shopper;
use super::statements::Sql;
use crate::data::dvdstore::words;
use crate::data::dvdstore::{CATEGORIES, LINES_MAX, PASSWORD, customer_fields, user_name};
use crate::data::tpcw::values::{cents, whole};
use crate::workload::{Fill, Parameters};
use evenkeel_core::random::Random;

/// Most products on a page: a mean of five.
const BATCH_MAX: u64 = 9;

impl Shopper {
    pub fn write(&self, sql: Sql, random: &mut Random, parameters: &mut Parameters) {
        use Sql::*;
        let fill = &mut Fill::over(parameters);
        match sql {
            Begin | Commit | Rollback => {}
            Login => {
                fill.text(|out| user_name(out, self.name)).bytes(PASSWORD.as_bytes());
            }
            History => fill.ints([self.customer]),
            Bought | GoesWith | Stock => fill.ints([self.product]),
            NameCount => {
                fill.text(|out| self.new_user_name(out));
            }
            CustomerInsert => self.write_customer(random, fill),
            BrowseCategory => fill.ints([random.uniform(1, CATEGORIES.len() as u64), batch(random)]),
            BrowseActor => {
                fill.text(|out| words::actor(out, random));
                fill.ints([batch(random)]);
            }
            BrowseTitle => {
                let product = random.uniform(1, self.size.products());
                fill.text(|out| words::title(out, product));
                fill.ints([batch(random)]);
            }
            Prices => {
                // A list of fixed length: the last product stands for those that are not.
                for place in 0..LINES_MAX as usize {
                    fill.ints([self.lines[place.min(self.lines.len() - 1)].product]);
                }
            }
            OrderInsert => {
                fill.ints([self.customer]);
                for amount in self.totals() {
                    fill.text(|out| cents(out, amount));
                }
            }
            StockUpdate => {
                let quantity = self.lines[self.line].quantity;
                fill.ints([quantity, quantity, self.product, quantity]);
            }
            LinesInsert(_) => {
                for (line, number) in self.lines.iter().zip(1..) {
                    fill.ints([number, self.order, line.product, line.quantity]);
                }
            }
            HistoryInsert(_) => {
                for line in &self.lines {
                    fill.ints([self.customer, self.order, line.product]);
                }
            }
        }
    }

    fn new_user_name(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"newuser");
        whole(out, self.name);
    }

    /// The fields of a row of the population, as parameters; numbers go as texts, which a server reads as well.
    fn write_customer(&self, random: &mut Random, fill: &mut Fill<'_>) {
        let mut fields = Vec::new();
        let at_home = random.chance(0.5);
        customer_fields(&mut fields, random, at_home, |out| self.new_user_name(out));
        for field in fields.split(|&byte| byte == b'\t') {
            fill.bytes(field);
        }
    }
}

fn batch(random: &mut Random) -> u64 {
    random.uniform(1, BATCH_MAX)
}
