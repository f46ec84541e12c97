//! The statements of an order.

use crate::data::dvdstore::LINES_MAX;
use crate::workload::Statement;
use crate::workload::sql::parse;

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

    /// The statement under its name.
    pub fn statement(self) -> Statement {
        use Sql::*;
        let sql = self.text();
        Statement {
            name: self.name(),
            tables: parse(&sql).tables,
            sql,
            captures: matches!(self, Login | History | Bought | NameCount | Prices | Stock),
            prepared: !self.is_control(),
            calls_stored: false,
        }
    }

    fn name(self) -> String {
        let name = match self {
            Self::LinesInsert(lines) => return format!("dvdstore.lines_insert_{lines}"),
            Self::HistoryInsert(lines) => return format!("dvdstore.history_insert_{lines}"),
            Self::Begin => "begin",
            Self::Commit => "commit",
            Self::Rollback => "rollback",
            Self::Login => "dvdstore.login",
            Self::History => "dvdstore.history",
            Self::Bought => "dvdstore.bought",
            Self::GoesWith => "dvdstore.goes_with",
            Self::NameCount => "dvdstore.name_count",
            Self::CustomerInsert => "dvdstore.customer_insert",
            Self::BrowseCategory => "dvdstore.browse_category",
            Self::BrowseActor => "dvdstore.browse_actor",
            Self::BrowseTitle => "dvdstore.browse_title",
            Self::Prices => "dvdstore.prices",
            Self::OrderInsert => "dvdstore.order_insert",
            Self::Stock => "dvdstore.stock",
            Self::StockUpdate => "dvdstore.stock_update",
        };
        name.to_owned()
    }

    fn text(self) -> String {
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
            Self::BrowseActor => return browse("ACTOR"),
            Self::BrowseTitle => return browse("TITLE"),
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

fn browse(column: &str) -> String {
    format!("{PRODUCT} MATCH ({column}) AGAINST (?) LIMIT ?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_stands_at_its_index_under_a_name_of_its_own() {
        let mut names = Vec::new();
        for (index, sql) in Sql::all().enumerate() {
            assert_eq!(sql.index(), index, "{sql:?}");
            let statement = sql.statement();
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
