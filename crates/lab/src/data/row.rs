//! One row of a table, field by field.

use super::tpcw::{Date, values};
use evenkeel_core::random::Random;

/// A row under construction; each call appends one field and a tab.
pub struct Row<'a> {
    out: &'a mut Vec<u8>,
    /// What the fields draw from.
    pub random: &'a mut Random,
}

impl<'a> Row<'a> {
    /// An empty one at the end of `out`.
    pub fn new(out: &'a mut Vec<u8>, random: &'a mut Random) -> Self {
        Self { out, random }
    }

    /// Takes the last tab away.
    pub fn end(&mut self) {
        self.out.pop();
    }

    /// A field that the closure writes.
    pub fn field(&mut self, write: impl FnOnce(&mut Vec<u8>, &mut Random)) -> &mut Self {
        write(self.out, self.random);
        self.out.push(b'\t');
        self
    }

    /// Adds a field with this text.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.field(|out, _| out.extend_from_slice(text.as_bytes()))
    }

    /// One of several texts, uniform.
    pub fn choice(&mut self, texts: &[&str]) -> &mut Self {
        let text = values::choice(self.random, texts);
        self.text(text)
    }

    /// A whole number.
    pub fn whole(&mut self, number: u64) -> &mut Self {
        self.field(|out, _| values::whole(out, number))
    }

    /// A whole number, uniform in `low..=high`.
    pub fn uniform(&mut self, low: u64, high: u64) -> &mut Self {
        let number = self.random.uniform(low, high);
        self.whole(number)
    }

    /// An amount of money, always with two decimals, as the server prints a DECIMAL.
    pub fn cents(&mut self, cents: u64) -> &mut Self {
        self.field(|out, _| {
            values::whole(out, cents / 100);
            out.extend([b'.', b'0' + (cents / 10 % 10) as u8, b'0' + (cents % 10) as u8]);
        })
    }

    /// A number with so many decimals, as the server prints a DOUBLE: without zeros at the end.
    pub fn decimal(&mut self, units: u64, places: u32) -> &mut Self {
        self.field(|out, _| values::decimal(out, units, places))
    }

    /// A number with two decimals, uniform in `low..=high` hundredths.
    pub fn uniform_cents(&mut self, low: u64, high: u64) -> &mut Self {
        let cents = self.random.uniform(low, high);
        self.decimal(cents, 2)
    }

    /// Adds a field with this day.
    pub fn date(&mut self, date: Date) -> &mut Self {
        self.field(|out, _| values::date(out, date))
    }

    /// Random letters and digits, a length uniform in `shortest..=longest`.
    pub fn astring(&mut self, shortest: u64, longest: u64) -> &mut Self {
        self.field(|out, random| values::astring(out, random, shortest, longest))
    }

    /// For a CHAR column: the server drops spaces at the end, so they are not written.
    pub fn astring_fixed(&mut self, length: u64) -> &mut Self {
        self.field(|out, random| {
            let start = out.len();
            values::astring(out, random, length, length);
            while out.len() > start && out.ends_with(b" ") {
                out.pop();
            }
        })
    }

    /// Random digits, a length uniform in `shortest..=longest`.
    pub fn nstring(&mut self, shortest: u64, longest: u64) -> &mut Self {
        self.field(|out, random| values::nstring(out, random, shortest, longest))
    }
}
