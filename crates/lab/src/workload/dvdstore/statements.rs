//! The statements of an order.

use crate::data::dvdstore::LINES_MAX;
use crate::workload::Statement;
use crate::workload::sql::parse;

const LINES: usize = LINES_MAX as usize;

const PRODUCT: &str =
    "SELECT PROD_ID, CATEGORY, TITLE, ACTOR, PRICE, SPECIAL, COMMON_PROD_ID FROM PRODUCTS WHERE";

macro_rules! statements {
    ($($sql:ident $name:literal $captures:literal $text:expr,)+) => {
        /// A statement. Those with a number have it for so many lines, from 1 to [`LINES_MAX`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Sql {
            $($sql,)+
            LinesInsert(usize),
            HistoryInsert(usize),
        }

        /// Those without a number, each at its index.
        const SINGLE: &[Sql] = &[$(Sql::$sql),+];

        impl Sql {
            /// Name, whether the customer needs the answer, and text.
            fn parts(self) -> (String, bool, String) {
                match self {
                    $(Self::$sql => ($name.to_owned(), $captures, $text.to_owned()),)+
                    Self::LinesInsert(lines) => lines_insert(lines),
                    Self::HistoryInsert(lines) => history_insert(lines),
                }
            }
        }
    };
}

statements! {
    Login "dvdstore.login" true "SELECT CUSTOMERID FROM CUSTOMERS WHERE USERNAME = ? AND PASSWORD = ?",
    History "dvdstore.history" true
        "SELECT PROD_ID FROM CUST_HIST WHERE CUSTOMERID = ? ORDER BY ORDERID DESC LIMIT 10",
    Bought "dvdstore.bought" true "SELECT TITLE, ACTOR, COMMON_PROD_ID FROM PRODUCTS WHERE PROD_ID = ?",
    GoesWith "dvdstore.goes_with" false "SELECT TITLE FROM PRODUCTS WHERE PROD_ID = ?",
    NameCount "dvdstore.name_count" true "SELECT COUNT(*) FROM CUSTOMERS WHERE USERNAME = ?",
    CustomerInsert "dvdstore.customer_insert" false customer_insert(),
    BrowseCategory "dvdstore.browse_category" false format!("{PRODUCT} CATEGORY = ? AND SPECIAL = 1 LIMIT ?"),
    BrowseActor "dvdstore.browse_actor" false format!("{PRODUCT} MATCH (ACTOR) AGAINST (?) LIMIT ?"),
    BrowseTitle "dvdstore.browse_title" false format!("{PRODUCT} MATCH (TITLE) AGAINST (?) LIMIT ?"),
    Prices "dvdstore.prices" true
        format!("SELECT PROD_ID, PRICE FROM PRODUCTS WHERE PROD_ID IN ({})", list("?", LINES)),
    Begin "begin" false "BEGIN",
    OrderInsert "dvdstore.order_insert" false
        "INSERT INTO ORDERS (ORDERDATE, CUSTOMERID, NETAMOUNT, TAX, TOTALAMOUNT) \
         VALUES (CURRENT_DATE, ?, ?, ?, ?)",
    Stock "dvdstore.stock" true "SELECT QUAN_IN_STOCK, SALES FROM INVENTORY WHERE PROD_ID = ?",
    StockUpdate "dvdstore.stock_update" false
        "UPDATE INVENTORY SET QUAN_IN_STOCK = QUAN_IN_STOCK - ?, SALES = SALES + ? \
         WHERE PROD_ID = ? AND QUAN_IN_STOCK >= ?",
    Commit "commit" false "COMMIT",
    Rollback "rollback" false "ROLLBACK",
}

impl Sql {
    /// Every statement, at its index.
    pub fn all() -> impl Iterator<Item = Self> {
        let lines = (1..=LINES).map(Self::LinesInsert);
        SINGLE.iter().copied().chain(lines).chain((1..=LINES).map(Self::HistoryInsert))
    }

    /// Index among [`Sql::all`].
    pub fn index(self) -> usize {
        match self {
            Self::LinesInsert(lines) => SINGLE.len() + lines - 1,
            Self::HistoryInsert(lines) => SINGLE.len() + LINES + lines - 1,
            single => SINGLE.iter().position(|sql| *sql == single).unwrap_or_default(),
        }
    }

    pub fn is_control(self) -> bool {
        matches!(self, Self::Begin | Self::Commit | Self::Rollback)
    }

    pub fn statement(self) -> Statement {
        let (name, captures, sql) = self.parts();
        let (tables, prepared) = (parse(&sql).tables, !self.is_control());
        Statement { name, sql, captures, prepared, tables, calls_stored: false }
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

fn lines_insert(lines: usize) -> (String, bool, String) {
    let values = list("(?, ?, ?, ?, CURRENT_DATE)", lines);
    let columns = "ORDERLINEID, ORDERID, PROD_ID, QUANTITY, ORDERDATE";
    let sql = format!("INSERT INTO ORDERLINES ({columns}) VALUES {values}");
    (format!("dvdstore.lines_insert_{lines}"), false, sql)
}

fn history_insert(lines: usize) -> (String, bool, String) {
    let values = list("(?, ?, ?)", lines);
    let sql = format!("INSERT INTO CUST_HIST (CUSTOMERID, ORDERID, PROD_ID) VALUES {values}");
    (format!("dvdstore.history_insert_{lines}"), false, sql)
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
