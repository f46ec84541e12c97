//! The kinds of value that TPC-W rows are made of, written as text into a byte buffer.
//!
//! No value ever holds a tab, a line end, a backslash or a single quote, so a row is the same bytes in a
//! LOAD DATA file and, between quotes, in an INSERT statement. Numbers are written as the server prints
//! them back, which is what lets both sides compute the same checksum.

use evenkeel_core::random::Random;
use std::fmt;
use std::io::Write;
use std::str::FromStr;

/// The alphabet of [`astring`]: 79 symbols, no digits.
pub const ALPHABET: &[u8; 79] =
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!@#$%^&*()_-=+{}[]|:;,.?/~ ";

/// Eight symbols from 64 random bits.
///
/// The bits are read as a fraction; each step multiplies by 79 and takes the whole part as the next symbol. Its
/// probability differs from 1/79 by less than 79^8 / 2^64 = 8.2e-5 of itself.
fn symbols(mut bits: u64) -> [u8; 8] {
    std::array::from_fn(|_| {
        let product = u128::from(bits) * ALPHABET.len() as u128;
        bits = product as u64;
        ALPHABET[(product >> 64) as usize]
    })
}

/// A string of `shortest..=longest` symbols of [`ALPHABET`], its length and each symbol uniform.
pub fn astring(out: &mut Vec<u8>, random: &mut Random, shortest: u64, longest: u64) {
    let length = random.uniform(shortest, longest) as usize;
    let end = out.len() + length;
    for _ in 0..length.div_ceil(8) {
        out.extend_from_slice(&symbols(random.bits()));
    }
    out.truncate(end);
}

/// So many random decimal digits, as text: a number of 16 digits would not fit 32 bits.
pub fn nstring(out: &mut Vec<u8>, random: &mut Random, shortest: u64, longest: u64) {
    let length = random.uniform(shortest, longest) as usize;
    let mut bits = 0;
    for index in 0..length {
        // Sixteen digits from 64 bits by the same steps as in `symbols`; the bias is below 10^16 / 2^64.
        if index % 16 == 0 {
            bits = random.bits();
        }
        let product = u128::from(bits) * 10;
        out.push(b'0' + (product >> 64) as u8);
        bits = product as u64;
    }
}

/// The decimal digits of `number` as syllables, without padding: 17 is OGUL. User names are made so.
pub fn digsyl(out: &mut Vec<u8>, number: u64) {
    const SYLLABLES: [&[u8; 2]; 10] = [b"BA", b"OG", b"AL", b"RI", b"RE", b"SE", b"AT", b"UL", b"IN", b"NG"];
    let mut unit = 10_u64.pow(number.checked_ilog10().unwrap_or(0));
    while unit > 0 {
        out.extend_from_slice(SYLLABLES[(number / unit % 10) as usize]);
        unit /= 10;
    }
}

pub fn whole(out: &mut Vec<u8>, number: u64) {
    write(out, format_args!("{number}"));
}

/// Writing to memory cannot fail.
fn write(out: &mut Vec<u8>, what: fmt::Arguments<'_>) {
    let _ = out.write_fmt(what);
}

/// An amount of money, always with two decimals, as the server prints a DECIMAL.
pub fn cents(out: &mut Vec<u8>, cents: u64) {
    write(out, format_args!("{}.{:02}", cents / 100, cents % 100));
}

/// Path of a picture, as `img17/image_417.gif`.
pub fn picture(out: &mut Vec<u8>, kind: &str, number: u64) {
    write(out, format_args!("img{}/{kind}_{number}.gif", number % 100));
}

/// A month as `yyyy/mm`.
pub fn month(out: &mut Vec<u8>, year: u64, month: u64) {
    write(out, format_args!("{year}/{month:02}"));
}

/// `units` divided by ten to the power of `places`, without zeros at the end: 410 cents are 4.1, as the
/// server prints a DOUBLE. Fewer than 15 digits, so that a DOUBLE holds them.
pub fn decimal(out: &mut Vec<u8>, mut units: u64, mut places: u32) {
    while places > 0 && units.is_multiple_of(10) {
        units /= 10;
        places -= 1;
    }
    let scale = 10_u64.pow(places);
    whole(out, units / scale);
    if places > 0 {
        write(out, format_args!(".{:0places$}", units % scale, places = places as usize));
    }
}

/// A date as `YYYY-MM-DD`.
pub fn date(out: &mut Vec<u8>, date: Date) {
    write(out, format_args!("{date}"));
}

/// One of several, uniform.
pub fn choice<T: Copy>(random: &mut Random, values: &[T]) -> T {
    values[random.uniform(0, values.len() as u64 - 1) as usize]
}

/// A day of the Gregorian calendar, counted from 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub i32);

impl Date {
    /// The day with this year, month (1 to 12) and day (1 to 31). Days beyond the end of a month run on
    /// into the next. Algorithm: Howard Hinnant, "chrono-compatible low-level date algorithms",
    /// `days_from_civil`, in eras of 400 years that begin in March.
    pub const fn new(year: i32, month: u32, day: u32) -> Self {
        let year = if month <= 2 { year - 1 } else { year };
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let month_from_march = (month as i32 + 9) % 12;
        let day_of_year = (153 * month_from_march + 2) / 5 + day as i32 - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        Self(era * 146_097 + day_of_era - 719_468)
    }

    /// The day of an instant given in seconds since 1970, UTC.
    pub fn of_unix_time(seconds: u64) -> Self {
        Self(i32::try_from(seconds / 86_400).unwrap_or(i32::MAX))
    }

    fn read(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '-');
        let mut next = || parts.next()?.parse::<u16>().ok();
        let parts = (i32::from(next()?), u32::from(next()?), u32::from(next()?));
        let date = Self::new(parts.0, parts.1, parts.2);
        // A day that does not exist comes back as another one.
        (parts.0 <= 9_999 && date.parts() == parts).then_some(date)
    }

    pub fn plus(self, days: u64) -> Self {
        Self(self.0 + days as i32)
    }

    pub fn minus(self, days: u64) -> Self {
        Self(self.0 - days as i32)
    }

    /// Year, month and day (`civil_from_days` of the same source).
    pub fn parts(self) -> (i32, u32, u32) {
        let shifted = self.0 + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        (year_of_era + era * 400 + i32::from(month <= 2), month as u32, day as u32)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.parts();
        write!(formatter, "{year:04}-{month:02}-{day:02}")
    }
}

impl FromStr for Date {
    type Err = DateError;

    /// Reads a day as it is written in `2026-01-31`.
    fn from_str(text: &str) -> Result<Self, DateError> {
        Self::read(text).ok_or_else(|| DateError(text.to_owned()))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a date such as 2026-01-31")]
pub struct DateError(pub String);

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
        let text = choice(self.random, texts);
        self.text(text)
    }

    pub fn whole(&mut self, number: u64) -> &mut Self {
        self.field(|out, _| whole(out, number))
    }

    pub fn uniform(&mut self, low: u64, high: u64) -> &mut Self {
        let number = self.random.uniform(low, high);
        self.whole(number)
    }

    pub fn cents(&mut self, price: u64) -> &mut Self {
        self.field(|out, _| cents(out, price))
    }

    /// A number with so many decimals, as the server prints a DOUBLE: without zeros at the end.
    pub fn decimal(&mut self, units: u64, places: u32) -> &mut Self {
        self.field(|out, _| decimal(out, units, places))
    }

    /// A number with two decimals, uniform in `low..=high` hundredths.
    pub fn uniform_cents(&mut self, low: u64, high: u64) -> &mut Self {
        let cents = self.random.uniform(low, high);
        self.decimal(cents, 2)
    }

    pub fn date(&mut self, day: Date) -> &mut Self {
        self.field(|out, _| date(out, day))
    }

    pub fn astring(&mut self, shortest: u64, longest: u64) -> &mut Self {
        self.field(|out, random| astring(out, random, shortest, longest))
    }

    /// For a CHAR column: the server drops spaces at the end, so they are not written.
    pub fn astring_fixed(&mut self, length: u64) -> &mut Self {
        self.field(|out, random| {
            let start = out.len();
            astring(out, random, length, length);
            while out.len() > start && out.ends_with(b" ") {
                out.pop();
            }
        })
    }

    pub fn nstring(&mut self, shortest: u64, longest: u64) -> &mut Self {
        self.field(|out, random| nstring(out, random, shortest, longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::random::Seed;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_alphabet_has_79_different_symbols_and_no_digit() {
        let mut sorted = ALPHABET.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 79);
        assert!(ALPHABET.iter().all(|symbol| !symbol.is_ascii_digit() && !b"\t\n\\'".contains(symbol)));
    }

    #[test]
    fn astring_draws_lengths_and_symbols_evenly() {
        let mut random = Random::new(Seed(1));
        let mut symbols = [0_u32; 256];
        let mut lengths = [0_u32; 41];
        for _ in 0..20_000 {
            let string = text(|out| astring(out, &mut random, 15, 40));
            lengths[string.len()] += 1;
            string.bytes().for_each(|symbol| symbols[usize::from(symbol)] += 1);
        }
        // 20,000 strings over 26 lengths: 769 each, standard deviation 27; 550,000 symbols over 79: 6,962
        // each, standard deviation 83.
        assert!(lengths[15..].iter().all(|count| (620..920).contains(count)), "{lengths:?}");
        let counts = ALPHABET.map(|symbol| symbols[usize::from(symbol)]);
        assert!(counts.iter().all(|count| (6_500..7_420).contains(count)), "{counts:?}");
        assert_eq!(counts.iter().sum::<u32>(), symbols.iter().sum::<u32>());
    }

    #[test]
    fn digits_become_syllables() {
        for (number, spelled) in [
            (0, "BA"),
            (1, "OG"),
            (17, "OGUL"),
            (90, "NGBA"),
            (1_234_567_890, "OGALRIRESEATULINNGBA"),
            (u64::MAX, "OGINREREATULREREBAULRIULBANGSESEOGATOGSE"),
        ] {
            assert_eq!(text(|out| digsyl(out, number)), spelled, "{number}");
        }
    }

    #[test]
    fn decimals_are_written_as_the_server_prints_doubles() {
        for (units, places, written) in [
            (410, 2, "4.1"),
            (400, 2, "4"),
            (5, 2, "0.05"),
            (0, 2, "0"),
            (101_851_200, 6, "101.8512"),
            (1_000_001, 6, "1.000001"),
            (99_999, 2, "999.99"),
        ] {
            assert_eq!(text(|out| decimal(out, units, places)), written);
        }
    }

    #[test]
    fn known_days_have_their_numbers() {
        for (text, number) in [
            ("1970-01-01", 0),
            ("1800-01-01", -62_091),
            ("2000-02-29", 11_016),
            ("2038-01-19", 24_855),
            ("1900-03-01", -25_508),
        ] {
            assert_eq!(text.parse(), Ok(Date(number)), "{text}");
            assert_eq!(Date(number).to_string(), text);
        }
    }

    #[test]
    fn every_day_of_four_centuries_survives_the_way_there_and_back() {
        for number in -70_000..80_000 {
            let (year, month, day) = Date(number).parts();
            assert_eq!(Date::new(year, month, day), Date(number));
        }
    }

    #[test]
    fn days_that_do_not_exist_are_refused() {
        for text in ["2025-02-29", "2025-13-01", "2025-00-10", "2025-04-31", "today", "2025-1", "99999-01-01"]
        {
            assert_eq!(text.parse::<Date>(), Err(DateError(text.to_owned())), "{text}");
        }
    }
}
