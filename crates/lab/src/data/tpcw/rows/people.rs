//! Addresses, authors and customers.

use super::{COUNTRIES, Generator, Row, day_in};
use crate::data::tpcw::values;

impl Generator {
    pub(super) fn address(&self, number: u64, row: &mut Row<'_>) {
        row.whole(number)
            .astring(15, 40)
            .astring(15, 40)
            .astring(4, 30)
            .astring(2, 20)
            .astring(5, 10)
            .uniform(1, COUNTRIES);
    }

    pub(super) fn author(&self, number: u64, row: &mut Row<'_>) {
        row.whole(number).astring(3, 20).astring(1, 20).astring(1, 20);
        let born = day_in(row.random, 1800, 1990);
        row.date(born).astring(125, 500);
    }

    /// `c_login` is noon of the data set's day, UTC, and the session expires two hours later.
    pub(super) fn customer(&self, number: u64, row: &mut Row<'_>) {
        let since = self.today.minus(row.random.uniform(1, 730));
        let last_login = since.plus(row.random.uniform(0, 60)).min(self.today);
        let birth = day_in(row.random, 1880, 2000);
        row.whole(number)
            .field(|out, _| values::digsyl(out, number))
            .field(|out, _| {
                let start = out.len();
                values::digsyl(out, number);
                out[start..].make_ascii_lowercase();
            })
            .astring(8, 15)
            .astring(8, 15)
            .uniform(1, self.scale.addresses())
            .nstring(9, 16)
            .field(|out, random| {
                values::digsyl(out, number);
                out.push(b'@');
                values::astring(out, random, 2, 9);
                out.extend_from_slice(b".com");
            })
            .date(since)
            .date(last_login)
            .field(|out, _| {
                values::date(out, self.today);
                out.extend_from_slice(b" 12:00:00");
            })
            .field(|out, _| {
                values::date(out, self.today);
                out.extend_from_slice(b" 14:00:00");
            })
            .uniform_cents(0, 50)
            .whole(0)
            .uniform_cents(0, 99_999)
            .date(birth)
            .astring(100, 500);
    }
}
