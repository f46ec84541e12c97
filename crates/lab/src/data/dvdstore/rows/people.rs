//! The rows of customers.

use super::Row;
use crate::data::dvdstore::size::Size;
use crate::data::tpcw::values::{month, nstring, whole};
use evenkeel_core::random::Random;

/// States and districts of the country of the first half of the customers.
const STATES: [&str; 51] = [
    "AK", "AL", "AR", "AZ", "CA", "CO", "CT", "DC", "DE", "FL", "GA", "HI", "IA", "ID", "IL", "IN", "KS",
    "KY", "LA", "MA", "MD", "ME", "MI", "MN", "MO", "MS", "MT", "NC", "ND", "NE", "NH", "NJ", "NM", "NV",
    "NY", "OH", "OK", "OR", "PA", "RI", "SC", "SD", "TN", "TX", "UT", "VA", "VT", "WA", "WI", "WV", "WY",
];
/// Countries of the second half.
const COUNTRIES: [&str; 10] =
    ["Australia", "Canada", "Chile", "China", "France", "Germany", "Japan", "Russia", "South Africa", "UK"];

pub const PASSWORD: &str = "password";

/// Appends all fields of a customer but the id, tabs between: at home in the country with states, or abroad.
pub fn customer_fields(
    out: &mut Vec<u8>,
    random: &mut Random,
    at_home: bool,
    user_name: impl FnOnce(&mut Vec<u8>),
) {
    let mut row = Row::new(out, random);
    let (mut last_name, mut phone) = (Vec::new(), Vec::new());
    letters(&mut last_name, row.random, 10);
    nstring(&mut phone, row.random, 10, 10);
    row.field(|out, random| letters(out, random, 6))
        .field(|out, _| out.extend_from_slice(&last_name))
        .field(|out, _| out.extend([&phone[..], b" Disc Way"].concat()))
        .text("")
        .field(|out, random| letters(out, random, 7));
    if at_home {
        row.choice(&STATES).uniform(10_000, 99_999).text("US").whole(1);
    } else {
        row.text("").whole(0).choice(&COUNTRIES).whole(2);
    }
    row.field(|out, _| out.extend([&last_name[..], b"@mail.test"].concat()))
        .field(|out, _| out.extend_from_slice(&phone))
        .uniform(1, 5)
        .field(|out, random| nstring(out, random, 16, 16))
        .field(expiration)
        .field(|out, _| user_name(out))
        .text(PASSWORD)
        .uniform(18, 90)
        .field(|out, random| whole(out, 20_000 * random.uniform(1, 5)))
        .choice(&["M", "F"]);
    row.end();
}

pub(super) fn customer(size: Size, number: u64, row: &mut Row<'_>) {
    row.whole(number);
    let at_home = number * 2 <= size.customers();
    row.field(|out, random| customer_fields(out, random, at_home, |out| user_name(out, number)));
}

/// Appends so many random capital letters.
fn letters(out: &mut Vec<u8>, random: &mut Random, count: usize) {
    out.extend((0..count).map(|_| b'A' + random.uniform(0, 25) as u8));
}

/// Appends the end of a credit card as `yyyy/mm`.
fn expiration(out: &mut Vec<u8>, random: &mut Random) {
    let year = random.uniform(2008, 2012);
    month(out, year, random.uniform(1, 12));
}

/// Appends the user name of a customer of the population.
pub fn user_name(out: &mut Vec<u8>, customer: u64) {
    out.extend_from_slice(b"user");
    whole(out, customer);
}
