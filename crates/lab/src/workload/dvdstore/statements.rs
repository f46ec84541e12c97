//! The statements of an order.

use crate::data::dvdstore::LINES_MAX;
use crate::workload::Statement;

/// A statement. Those with a number have it for so many lines, from 1 to [`LINES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sql {
    Login,
    History,
    Bought,
    GoesWith,
    NameCount,
    CustomerInsert,
    BrowseCategory,
    BrowseActor,
    BrowseTitle,
    Prices,
    Begin,
    OrderInsert,
    Stock,
    StockUpdate,
    Commit,
    Rollback,
    LinesInsert(usize),
    HistoryInsert(usize),
}

/// Those without a number, each at its index.
const SINGLE: [Sql; 16] = [
    Sql::Login,
    Sql::History,
    Sql::Bought,
    Sql::GoesWith,
    Sql::NameCount,
    Sql::CustomerInsert,
    Sql::BrowseCategory,
    Sql::BrowseActor,
    Sql::BrowseTitle,
    Sql::Prices,
    Sql::Begin,
    Sql::OrderInsert,
    Sql::Stock,
    Sql::StockUpdate,
    Sql::Commit,
    Sql::Rollback,
];

const LINES: usize = LINES_MAX as usize;

const PRODUCT: &str =
    "SELECT PROD_ID, CATEGORY, TITLE, ACTOR, PRICE, SPECIAL, COMMON_PROD_ID FROM PRODUCTS WHERE";

impl Sql {
    /// Every statement, at its index.
    pub fn all() -> impl Iterator<Item = Self> {
        let lines = (1..=LINES).map(Self::LinesInsert);
        SINGLE.into_iter().chain(lines).chain((1..=LINES).map(Self::HistoryInsert))
    }

    /// Index among [`Sql::all`].
    pub fn index(self) -> usize {
        match self {
            Self::LinesInsert(lines) => SINGLE.len() + lines - 1,
            Self::HistoryInsert(lines) => SINGLE.len() + LINES + lines - 1,
            single => SINGLE.iter().position(|sql| *sql == single).unwrap_or_default(),
        }
    }

    /// Whether it is transaction control.
    pub fn is_control(self) -> bool {
        matches!(self, Self::Begin | Self::Commit | Self::Rollback)
    }

    /// The statement; without full-text indexes products are looked for by the beginning of a text.
    pub fn statement(self, fulltext: bool) -> Statement {
        let (name, tables): (String, &[&str]) = self.name();
        Statement {
            name,
            sql: self.text(fulltext),
            captures: self.captures(),
            prepared: !self.is_control(),
            tables: tables.iter().map(|&table| table.to_owned()).collect(),
            calls_stored: false,
        }
    }

    fn captures(self) -> bool {
        use Sql::*;
        matches!(self, Login | History | Bought | NameCount | Prices | Stock)
    }

    fn name(self) -> (String, &'static [&'static str]) {
        let (name, tables): (&str, &[&str]) = match self {
            Self::Begin => return ("begin".to_owned(), &[]),
            Self::Commit => return ("commit".to_owned(), &[]),
            Self::Rollback => return ("rollback".to_owned(), &[]),
            Self::LinesInsert(lines) => return (format!("dvdstore.lines_insert_{lines}"), &["ORDERLINES"]),
            Self::HistoryInsert(lines) => {
                return (format!("dvdstore.history_insert_{lines}"), &["CUST_HIST"]);
            }
            Self::Login => ("login", &["CUSTOMERS"]),
            Self::History => ("history", &["CUST_HIST"]),
            Self::Bought => ("bought", &["PRODUCTS"]),
            Self::GoesWith => ("goes_with", &["PRODUCTS"]),
            Self::NameCount => ("name_count", &["CUSTOMERS"]),
            Self::CustomerInsert => ("customer_insert", &["CUSTOMERS"]),
            Self::BrowseCategory => ("browse_category", &["PRODUCTS"]),
            Self::BrowseActor => ("browse_actor", &["PRODUCTS"]),
            Self::BrowseTitle => ("browse_title", &["PRODUCTS"]),
            Self::Prices => ("prices", &["PRODUCTS"]),
            Self::OrderInsert => ("order_insert", &["ORDERS"]),
            Self::Stock => ("stock", &["INVENTORY"]),
            Self::StockUpdate => ("stock_update", &["INVENTORY"]),
        };
        (format!("dvdstore.{name}"), tables)
    }

    fn text(self, fulltext: bool) -> String {
        let text = match self {
            Self::Login => "SELECT CUSTOMERID FROM CUSTOMERS WHERE USERNAME = ? AND PASSWORD = ?",
            Self::History => {
                "SELECT PROD_ID FROM CUST_HIST WHERE CUSTOMERID = ? ORDER BY ORDERID DESC LIMIT 10"
            }
            Self::Bought => "SELECT TITLE, ACTOR, COMMON_PROD_ID FROM PRODUCTS WHERE PROD_ID = ?",
            Self::GoesWith => "SELECT TITLE FROM PRODUCTS WHERE PROD_ID = ?",
            Self::NameCount => "SELECT COUNT(*) FROM CUSTOMERS WHERE USERNAME = ?",
            Self::CustomerInsert => return customer_insert(),
            Self::BrowseCategory => return format!("{PRODUCT} CATEGORY = ? AND SPECIAL = 1 LIMIT ?"),
            Self::BrowseActor => return browse("ACTOR", fulltext),
            Self::BrowseTitle => return browse("TITLE", fulltext),
            Self::Prices => {
                return format!(
                    "SELECT PROD_ID, PRICE FROM PRODUCTS WHERE PROD_ID IN ({})",
                    list("?", LINES)
                );
            }
            Self::Begin => "BEGIN",
            Self::Commit => "COMMIT",
            Self::Rollback => "ROLLBACK",
            Self::OrderInsert => {
                "INSERT INTO ORDERS (ORDERDATE, CUSTOMERID, NETAMOUNT, TAX, TOTALAMOUNT) \
                 VALUES (CURRENT_DATE, ?, ?, ?, ?)"
            }
            Self::Stock => "SELECT QUAN_IN_STOCK, SALES FROM INVENTORY WHERE PROD_ID = ?",
            Self::StockUpdate => {
                "UPDATE INVENTORY SET QUAN_IN_STOCK = QUAN_IN_STOCK - ?, SALES = SALES + ? \
                 WHERE PROD_ID = ? AND QUAN_IN_STOCK >= ?"
            }
            Self::LinesInsert(lines) => {
                let values = list("(?, ?, ?, ?, CURRENT_DATE)", lines);
                return format!(
                    "INSERT INTO ORDERLINES (ORDERLINEID, ORDERID, PROD_ID, QUANTITY, ORDERDATE) VALUES {values}"
                );
            }
            Self::HistoryInsert(lines) => {
                let values = list("(?, ?, ?)", lines);
                return format!("INSERT INTO CUST_HIST (CUSTOMERID, ORDERID, PROD_ID) VALUES {values}");
            }
        };
        text.to_owned()
    }
}

fn list(one: &str, count: usize) -> String {
    vec![one; count].join(", ")
}

fn customer_insert() -> String {
    let columns = "FIRSTNAME, LASTNAME, ADDRESS1, ADDRESS2, CITY, STATE, ZIP, COUNTRY, REGION, EMAIL, PHONE, \
                   CREDITCARDTYPE, CREDITCARD, CREDITCARDEXPIRATION, USERNAME, PASSWORD, AGE, INCOME, GENDER";
    format!("INSERT INTO CUSTOMERS ({columns}) VALUES ({})", list("?", columns.split(',').count()))
}

fn browse(column: &str, fulltext: bool) -> String {
    match fulltext {
        true => format!("{PRODUCT} MATCH ({column}) AGAINST (?) LIMIT ?"),
        false => format!("{PRODUCT} {column} LIKE ? LIMIT ?"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_stands_at_its_index_under_a_name_of_its_own() {
        let mut names = Vec::new();
        for (index, sql) in Sql::all().enumerate() {
            assert_eq!(sql.index(), index, "{sql:?}");
            let statement = sql.statement(true);
            assert!(!statement.sql.contains("  "), "{}", statement.sql);
            assert_eq!(statement.tables.is_empty(), sql.is_control(), "{}", statement.name);
            names.push(statement.name);
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!((names.len(), count), (34, 34));
    }
}
