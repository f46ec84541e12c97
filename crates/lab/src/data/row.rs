//! One row of a table, field by field.

use super::tpcw::{Date, values};
use evenkeel_core::random::Random;

/// A row under construction; each call appends one field and a tab.
pub struct Row<'a> {
    out: &'a mut Vec<u8>,
    pub random: &'a mut Random,
}

impl<'a> Row<'a> {
    pub fn new(out: &'a mut Vec<u8>, random: &'a mut Random) -> Self {
        Self { out, random }
    }

    /// Takes the last tab away.
    pub fn end(&mut self) {
        self.out.pop();
    }

    pub fn field(&mut self, write: impl FnOnce(&mut Vec<u8>, &mut Random)) -> &mut Self {
        write(self.out, self.random);
        self.out.push(b'\t');
        self
    }

    pub fn text(&mut self, text: &str) -> &mut Self {
        self.field(|out, _| out.extend_from_slice(text.as_bytes()))
    }

    pub fn choice(&mut self, texts: &[&str]) -> &mut Self {
        let text = values::choice(self.random, texts);
        self.text(text)
    }

    pub fn whole(&mut self, number: u64) -> &mut Self {
        self.field(|out, _| values::whole(out, number))
    }

    pub fn uniform(&mut self, low: u64, high: u64) -> &mut Self {
        let number = self.random.uniform(low, high);
        self.whole(number)
    }

    pub fn cents(&mut self, cents: u64) -> &mut Self {
        self.field(|out, _| values::cents(out, cents))
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

    pub fn date(&mut self, date: Date) -> &mut Self {
        self.field(|out, _| values::date(out, date))
    }

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

    pub fn nstring(&mut self, shortest: u64, longest: u64) -> &mut Self {
        self.field(|out, random| values::nstring(out, random, shortest, longest))
    }
}
