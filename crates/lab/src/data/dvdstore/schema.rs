//! The schema: columns, keys and references.

use super::table::Table;
use crate::data::schema::{Column, Definition, Reference};

macro_rules! columns {
    ($($column:ident $sql_type:literal),+ $(,)?) => {
        &[$(Column { name: stringify!($column), sql_type: $sql_type }),+]
    };
}

const CUSTOMERS: Definition = Definition {
    name: "CUSTOMERS",
    columns: columns![
        CUSTOMERID "int NOT NULL AUTO_INCREMENT", FIRSTNAME "varchar(50) NOT NULL",
        LASTNAME "varchar(50) NOT NULL", ADDRESS1 "varchar(50) NOT NULL", ADDRESS2 "varchar(50)",
        CITY "varchar(50) NOT NULL", STATE "varchar(50)", ZIP "int", COUNTRY "varchar(50) NOT NULL",
        REGION "tinyint NOT NULL", EMAIL "varchar(50)", PHONE "varchar(50)",
        CREDITCARDTYPE "int NOT NULL", CREDITCARD "varchar(50) NOT NULL",
        CREDITCARDEXPIRATION "varchar(50) NOT NULL", USERNAME "varchar(50) NOT NULL",
        PASSWORD "varchar(50) NOT NULL", AGE "tinyint", INCOME "int", GENDER "varchar(1)",
    ],
    primary_key: &["CUSTOMERID"],
    order: &["CUSTOMERID"],
    indexed: &[],
    unique: &["USERNAME"],
    fulltext: &[],
    references: &[],
};

const CUST_HIST: Definition = Definition {
    name: "CUST_HIST",
    columns: columns![CUSTOMERID "int NOT NULL", ORDERID "int NOT NULL", PROD_ID "int NOT NULL"],
    primary_key: &[],
    order: &["ORDERID", "CUSTOMERID", "PROD_ID"],
    indexed: &["CUSTOMERID"],
    unique: &[],
    fulltext: &[],
    references: &[Reference {
        name: "FK_CUST_HIST_CUSTOMERID",
        column: "CUSTOMERID",
        table: "CUSTOMERS",
        key: "CUSTOMERID",
        on_delete: "CASCADE",
    }],
};

const ORDERS: Definition = Definition {
    name: "ORDERS",
    columns: columns![
        ORDERID "int NOT NULL AUTO_INCREMENT", ORDERDATE "date NOT NULL", CUSTOMERID "int",
        NETAMOUNT "decimal(12,2) NOT NULL", TAX "decimal(12,2) NOT NULL",
        TOTALAMOUNT "decimal(12,2) NOT NULL",
    ],
    primary_key: &["ORDERID"],
    order: &["ORDERID"],
    indexed: &["CUSTOMERID"],
    unique: &[],
    fulltext: &[],
    references: &[Reference {
        name: "FK_ORDERS_CUSTOMERID",
        column: "CUSTOMERID",
        table: "CUSTOMERS",
        key: "CUSTOMERID",
        on_delete: "SET NULL",
    }],
};

const ORDERLINES: Definition = Definition {
    name: "ORDERLINES",
    columns: columns![
        ORDERLINEID "smallint NOT NULL", ORDERID "int NOT NULL", PROD_ID "int NOT NULL",
        QUANTITY "smallint NOT NULL", ORDERDATE "date NOT NULL",
    ],
    primary_key: &[],
    order: &["ORDERID", "ORDERLINEID"],
    indexed: &[],
    unique: &["ORDERID", "ORDERLINEID"],
    fulltext: &[],
    references: &[Reference {
        name: "FK_ORDERLINES_ORDERID",
        column: "ORDERID",
        table: "ORDERS",
        key: "ORDERID",
        on_delete: "CASCADE",
    }],
};

const PRODUCTS: Definition = Definition {
    name: "PRODUCTS",
    columns: columns![
        PROD_ID "int NOT NULL AUTO_INCREMENT", CATEGORY "tinyint NOT NULL", TITLE "varchar(50) NOT NULL",
        ACTOR "varchar(50) NOT NULL", PRICE "decimal(12,2) NOT NULL", SPECIAL "tinyint",
        COMMON_PROD_ID "int NOT NULL",
    ],
    primary_key: &["PROD_ID"],
    order: &["PROD_ID"],
    indexed: &["CATEGORY", "SPECIAL"],
    unique: &[],
    fulltext: &["ACTOR", "TITLE"],
    references: &[],
};

const INVENTORY: Definition = Definition {
    name: "INVENTORY",
    columns: columns![PROD_ID "int NOT NULL", QUAN_IN_STOCK "int NOT NULL", SALES "int NOT NULL"],
    primary_key: &["PROD_ID"],
    order: &["PROD_ID"],
    indexed: &[],
    unique: &[],
    fulltext: &[],
    references: &[],
};

const CATEGORIES: Definition = Definition {
    name: "CATEGORIES",
    columns: columns![CATEGORY "tinyint NOT NULL", CATEGORYNAME "varchar(50) NOT NULL"],
    primary_key: &["CATEGORY"],
    order: &["CATEGORY"],
    indexed: &[],
    unique: &[],
    fulltext: &[],
    references: &[],
};

const REORDER: Definition = Definition {
    name: "REORDER",
    columns: columns![
        PROD_ID "int NOT NULL", DATE_LOW "date NOT NULL", QUAN_LOW "int NOT NULL", DATE_REORDERED "date",
        QUAN_REORDERED "int", DATE_EXPECTED "date",
    ],
    primary_key: &[],
    order: &["PROD_ID"],
    indexed: &[],
    unique: &[],
    fulltext: &[],
    references: &[],
};

impl Table {
    /// Columns, keys and references.
    pub fn definition(self) -> &'static Definition {
        match self {
            Self::Categories => &CATEGORIES,
            Self::Customers => &CUSTOMERS,
            Self::Products => &PRODUCTS,
            Self::Inventory => &INVENTORY,
            Self::Orders => &ORDERS,
            Self::OrderLines => &ORDERLINES,
            Self::CustHist => &CUST_HIST,
            Self::Reorder => &REORDER,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::schema::Indexes;

    #[test]
    fn keys_indexes_and_references_name_columns_of_their_tables() {
        for table in Table::ALL {
            let Definition { columns, primary_key, order, indexed, unique, fulltext, references, .. } =
                table.definition();
            let referring = references.iter().map(|reference| reference.column);
            let named = [primary_key, order, indexed, unique, fulltext];
            for name in named.into_iter().flat_map(|list| list.iter().copied()).chain(referring) {
                assert!(columns.iter().any(|column| column.name == name), "{table} {name}");
            }
            for reference in *references {
                let parent = Table::named(reference.table).unwrap();
                assert_eq!(parent.definition().primary_key, [reference.key], "{table}");
                assert!(parent < table, "{parent} is filled before {table}");
            }
        }
    }

    #[test]
    fn a_table_without_a_primary_key_is_made_with_its_unique_index() {
        let definition = Table::OrderLines.definition();
        let text = definition.create_table("lines", Indexes::Later);
        assert!(!text.contains("KEY") && text.ends_with("`ORDERDATE` date NOT NULL\n)"), "{text}");
        assert_eq!(
            definition.create_indexes("lines").as_deref(),
            Some("ALTER TABLE `lines` ADD UNIQUE KEY `ORDERID` (`ORDERID`,`ORDERLINEID`)")
        );
    }
}
