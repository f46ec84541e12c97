//! The rows of each table.

use super::values::Row;
use super::{COUNTRIES, Date, Scale, Table, values};
use evenkeel_core::random::{Random, Seed};

#[derive(Clone, Copy, Debug)]
pub struct Generator {
    scale: Scale,
    today: Date,
    seed: Seed,
}

impl Generator {
    /// The data set of this size, seed and date. `today` is the day on which the population is said to
    /// happen: customers and orders lie before it, credit cards expire after it.
    pub fn new(scale: Scale, seed: Seed, today: Date) -> Self {
        Self { scale, today, seed: seed.child("tpcw") }
    }

    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Appends a row to `out`, fields between tabs, no line end: row `number` (from 1), or line `line` (from 1) of
    /// order `number`. Shopping carts have no rows and get nothing.
    pub fn write(&self, table: Table, number: u64, line: u64, out: &mut Vec<u8>) {
        let own = if line == 0 { number } else { number * (LINES_MAX + 1) + line };
        let mut random = self.random(table, own);
        let mut row = Row::new(out, &mut random);
        match table {
            Table::Address => self.address(number, &mut row),
            Table::Author => self.author(number, &mut row),
            Table::Country => country(number, &mut row),
            Table::Customer => self.customer(number, &mut row),
            Table::Item => self.item(number, &mut row),
            Table::Orders => self.order(number, &mut row),
            Table::CcXacts => self.cc_xact(number, &mut row),
            Table::OrderLine => self.order_line(number, line, &mut row),
            Table::ShoppingCart | Table::ShoppingCartLine => return,
        }
        row.end();
    }

    fn random(&self, table: Table, number: u64) -> Random {
        Random::new(self.seed.child(table.name()).numbered(number))
    }
}

/// A day of the years `first..=last`, uniform.
fn day_in(random: &mut Random, first: i32, last: i32) -> Date {
    let start = Date::new(first, 1, 1);
    start.plus(random.uniform(0, (Date::new(last, 12, 31).0 - start.0).unsigned_abs().into()))
}

pub const LINES_MAX: u64 = 5;

pub const SHIP_TYPES: [&str; 6] = ["AIR", "UPS", "FEDEX", "SHIP", "COURIER", "MAIL"];
const STATUSES: [&str; 4] = ["PROCESSING", "SHIPPED", "PENDING", "DENIED"];
pub const CARD_TYPES: [&str; 5] = ["VISA", "MASTERCARD", "DISCOVER", "AMEX", "DINERS"];

/// Sales tax, 8.25 %, in hundredths of a percent.
const TAX: u64 = 825;
/// Shipping: a base and the same again for each line, in cents.
const SHIPPING_BASE_CENTS: u64 = 300;
const SHIPPING_LINE_CENTS: u64 = 100;
/// Millionths of a dollar in a cent: tax on cents has six decimals.
const MICROS_PER_CENT: u64 = 10_000;

/// What an order shares with its lines and its payment; drawn first from the order's randomness.
struct OrderFacts {
    lines: u64,
    ordered: Date,
    shipped: Date,
    sub_total_cents: u64,
}

impl OrderFacts {
    fn draw(random: &mut Random, today: Date) -> Self {
        let lines = random.uniform(1, LINES_MAX);
        let ordered = today.minus(random.uniform(1, 60));
        let shipped = ordered.plus(random.uniform(0, 7));
        Self { lines, ordered, shipped, sub_total_cents: random.uniform(1_000, 999_999) }
    }

    /// 8.25 % of the sub-total, in millionths.
    fn tax_micros(&self) -> u64 {
        self.sub_total_cents * TAX
    }

    /// Sub-total, tax and shipping, in millionths.
    fn total_micros(&self) -> u64 {
        let shipping = SHIPPING_BASE_CENTS + SHIPPING_LINE_CENTS * self.lines;
        (self.sub_total_cents + shipping) * MICROS_PER_CENT + self.tax_micros()
    }
}

impl Generator {
    /// Lines of an order, 1 to [`LINES_MAX`].
    pub fn lines(&self, order: u64) -> u64 {
        self.random(Table::Orders, order).uniform(1, LINES_MAX)
    }

    fn order(&self, number: u64, row: &mut Row<'_>) {
        let facts = OrderFacts::draw(row.random, self.today);
        row.whole(number)
            .uniform(1, self.scale.customers())
            .date(facts.ordered)
            .decimal(facts.sub_total_cents, 2)
            .decimal(facts.tax_micros(), 6)
            .decimal(facts.total_micros(), 6)
            .choice(&SHIP_TYPES)
            .date(facts.shipped)
            .uniform(1, self.scale.addresses())
            .uniform(1, self.scale.addresses())
            .choice(&STATUSES);
    }

    fn order_line(&self, order: u64, line: u64, row: &mut Row<'_>) {
        row.whole(line)
            .whole(order)
            .uniform(1, self.scale.items())
            .uniform(1, 300)
            .uniform_cents(0, 30)
            .astring(20, 100);
    }

    fn cc_xact(&self, order: u64, row: &mut Row<'_>) {
        let facts = OrderFacts::draw(&mut self.random(Table::Orders, order), self.today);
        let expires = self.today.plus(row.random.uniform(10, 730));
        row.whole(order)
            .choice(&CARD_TYPES)
            .nstring(16, 16)
            .astring(14, 30)
            .date(expires)
            .astring_fixed(15)
            .decimal(facts.total_micros(), 6)
            .date(facts.shipped)
            .uniform(1, COUNTRIES);
    }
}

#[rustfmt::skip]
pub const SUBJECTS: [&str; 24] = [
    "ARTS", "BIOGRAPHIES", "BUSINESS", "CHILDREN", "COMPUTERS", "COOKING", "HEALTH", "HISTORY", "HOME",
    "HUMOR", "LITERATURE", "MYSTERY", "NON-FICTION", "PARENTING", "POLITICS", "REFERENCE", "RELIGION",
    "ROMANCE", "SELF-HELP", "SCIENCE-NATURE", "SCIENCE-FICTION", "SPORTS", "YOUTH", "TRAVEL",
];

const BACKINGS: [&str; 5] = ["HARDBACK", "PAPERBACK", "USED", "AUDIO", "LIMITED-EDITION"];

impl Generator {
    fn item(&self, number: u64, row: &mut Row<'_>) {
        let published = day_in(row.random, 1930, 2000);
        let available = published.plus(row.random.uniform(1, 30));
        let list_price_cents = row.random.uniform(100, 99_999);
        let discount_percent = row.random.uniform(0, 50);
        let authors = self.scale.authors();
        // Every author wrote at least one item.
        let author = if number <= authors { number } else { row.random.uniform(1, authors) };
        let related = related(row.random, self.scale.items());
        row.whole(number).astring(14, 60).whole(author).date(published).astring(14, 60).choice(&SUBJECTS);
        row.astring(100, 500);
        for item in related {
            row.whole(item);
        }
        row.field(|out, _| values::picture(out, "thumb", number))
            .field(|out, _| values::picture(out, "image", number))
            .decimal(list_price_cents, 2)
            .decimal(list_price_cents * (100 - discount_percent), 4)
            .date(available)
            .uniform(10, 30)
            .astring_fixed(13)
            .uniform(20, 9_999)
            .choice(&BACKINGS)
            .field(dimensions);
    }
}

/// Five different items.
fn related(random: &mut Random, items: u64) -> [u64; 5] {
    let mut related = [0; 5];
    for index in 0..related.len() {
        related[index] = loop {
            let item = random.uniform(1, items);
            if !related[..index].contains(&item) {
                break item;
            }
        };
    }
    related
}

/// Three lengths of 0.01 to 99.99, joined by `x`.
fn dimensions(out: &mut Vec<u8>, random: &mut Random) {
    for side in 0..3 {
        if side > 0 {
            out.push(b'x');
        }
        values::decimal(out, random.uniform(1, 9_999), 2);
    }
}

impl Generator {
    fn address(&self, number: u64, row: &mut Row<'_>) {
        row.whole(number)
            .astring(15, 40)
            .astring(15, 40)
            .astring(4, 30)
            .astring(2, 20)
            .astring(5, 10)
            .uniform(1, COUNTRIES);
    }

    fn author(&self, number: u64, row: &mut Row<'_>) {
        row.whole(number).astring(3, 20).astring(1, 20).astring(1, 20);
        let born = day_in(row.random, 1800, 1990);
        row.date(born).astring(125, 500);
    }

    /// `c_login` is noon of the data set's day, UTC, and the session expires two hours later.
    fn customer(&self, number: u64, row: &mut Row<'_>) {
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

/// Name, units of the currency for one US dollar, currency. The United States come first at a rate of 1,
/// the others by name. The rates are round figures, made for joins and not for money.
#[rustfmt::skip]
const LIST: [(&str, &str, &str); COUNTRIES as usize] = [
    ("United States", "1", "Dollars"), ("Algeria", "66.574", "Dinars"), ("Argentina", "0.998", "Pesos"),
    ("Armenia", "540.92", "Dram"), ("Australia", "1.54124", "Dollars"), ("Austria", "13.0949", "Schillings"),
    ("Azerbaijan", "3977", "Manat"), ("Bahamas", "1", "Dollars"), ("Bahrain", "0.3757", "Dinars"),
    ("Bangladesh", "48.65", "Taka"), ("Barbados", "2", "Dollars"), ("Belarus", "248000", "Rubles"),
    ("Belgium", "38.3892", "Francs"), ("Bermuda", "1", "Dollars"), ("Bolivia", "5.74", "Boliviano"),
    ("Botswana", "4.7304", "Pula"), ("Brazil", "1.71", "Real"), ("Bulgaria", "1846", "Lev"),
    ("Canada", "1.49", "Dollars"), ("Cayman Islands", "0.8282", "Dollars"), ("Chad", "627.18", "Francs"),
    ("Chile", "494.2", "Pesos"), ("China", "8.278", "Yuan Renminbi"), ("Christmas Island", "1.5391", "Dollars"),
    ("Colombia", "1677", "Pesos"), ("Croatia", "7.3044", "Kuna"), ("Cuba", "23", "Pesos"),
    ("Cyprus", "0.543", "Pounds"), ("Czech Republic", "36.0127", "Koruna"), ("Denmark", "7.0707", "Kroner"),
    ("Dominican Republic", "15.8", "Pesos"), ("Eastern Caribbean", "2.7", "Dollars"),
    ("Ecuador", "9600", "Sucre"), ("Egypt", "3.33", "Pounds"), ("El Salvador", "8.771", "Colon"),
    ("Estonia", "14.9119", "Kroon"), ("Ethiopia", "7.7", "Birr"), ("Falkland Islands", "0.6255", "Pounds"),
    ("Faroe Islands", "7.124", "Kroner"), ("Fiji", "1.9724", "Dollars"), ("Finland", "5.65822", "Markka"),
    ("France", "6.2427", "Francs"), ("Gabon", "627.9", "Francs"), ("Germany", "1.8612", "Deutsche Mark"),
    ("Gibraltar", "0.6255", "Pounds"), ("Greece", "309.214", "Drachmas"), ("Guam", "1", "Dollars"),
    ("Hong Kong", "7.7636", "Dollars"), ("Hungary", "237.23", "Forint"), ("Iceland", "74.147", "Krona"),
    ("India", "42.75", "Rupees"), ("Indonesia", "8100", "Rupiah"), ("Iran", "3000", "Rial"),
    ("Iraq", "0.3083", "Dinar"), ("Ireland", "0.7495", "Punt"), ("Israel", "4.12", "Shekels"),
    ("Italy", "1842.6", "Lira"), ("Jamaica", "37.4", "Dollars"), ("Japan", "123.907", "Yen"),
    ("Jordan", "0.7088", "Dinar"), ("Kazakhstan", "150.1", "Tenge"), ("Kuwait", "0.3064", "Dinar"),
    ("Lebanon", "1502", "Pounds"), ("Luxembourg", "38.3892", "Francs"), ("Malaysia", "3.8", "Ringgit"),
    ("Mauritius", "25.245", "Rupees"), ("Mexico", "9.6287", "Pesos"), ("Netherlands", "2.0971", "Guilders"),
    ("New Zealand", "1.8773", "Dollars"), ("Norway", "7.62", "Kroner"), ("Pakistan", "51.9", "Rupees"),
    ("Philippines", "37.85", "Pesos"), ("Poland", "3.9392", "Zloty"), ("Portugal", "190.788", "Escudo"),
    ("Romania", "15160", "Leu"), ("Russia", "24.43", "Rubles"), ("Saudi Arabia", "3.7501", "Riyal"),
    ("Singapore", "1.726", "Dollars"), ("Slovakia", "43.14", "Koruna"), ("South Africa", "6.1519", "Rand"),
    ("South Korea", "1185.2", "Won"), ("Spain", "158.34", "Pesetas"), ("Sudan", "2528", "Dinar"),
    ("Sweden", "8.203", "Krona"), ("Switzerland", "1.5204", "Francs"), ("Taiwan", "32.2855", "Dollars"),
    ("Thailand", "37.17", "Baht"), ("Trinidad and Tobago", "6.2928", "Dollars"), ("Turkey", "415400", "Lira"),
    ("United Kingdom", "0.6255", "Pounds"), ("Venezuela", "598", "Bolivar"), ("Zambia", "2387", "Kwacha"),
];

fn country(number: u64, row: &mut Row<'_>) {
    // The generator is asked for 1 to COUNTRIES; any other number takes the nearest country.
    let (name, rate, currency) = LIST[number.clamp(1, COUNTRIES) as usize - 1];
    row.whole(number).text(name).text(rate).text(currency);
}
