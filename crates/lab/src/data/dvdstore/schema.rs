//! The schema: columns, keys and references.

use crate::data::schema::{Reference, tables};

tables! {
    /// A table; parents stand before what refers to them.
    Table
    Categories = "CATEGORIES", primary_key: ["CATEGORY"]; {
        CATEGORY "tinyint NOT NULL", CATEGORYNAME "varchar(50) NOT NULL"
    }
    /// Customers, with their addresses and cards.
    Customers = "CUSTOMERS", primary_key: ["CUSTOMERID"], unique: ["USERNAME"]; {
        CUSTOMERID "int NOT NULL AUTO_INCREMENT", FIRSTNAME "varchar(50) NOT NULL",
        LASTNAME "varchar(50) NOT NULL", ADDRESS1 "varchar(50) NOT NULL", ADDRESS2 "varchar(50)",
        CITY "varchar(50) NOT NULL", STATE "varchar(50)", ZIP "int", COUNTRY "varchar(50) NOT NULL",
        REGION "tinyint NOT NULL", EMAIL "varchar(50)", PHONE "varchar(50)",
        CREDITCARDTYPE "int NOT NULL", CREDITCARD "varchar(50) NOT NULL",
        CREDITCARDEXPIRATION "varchar(50) NOT NULL", USERNAME "varchar(50) NOT NULL",
        PASSWORD "varchar(50) NOT NULL", AGE "tinyint", INCOME "int", GENDER "varchar(1)"
    }
    Products = "PRODUCTS", primary_key: ["PROD_ID"], indexed: ["CATEGORY", "SPECIAL"],
        fulltext: ["ACTOR", "TITLE"]; {
        PROD_ID "int NOT NULL AUTO_INCREMENT", CATEGORY "tinyint NOT NULL",
        TITLE "varchar(50) NOT NULL", ACTOR "varchar(50) NOT NULL", PRICE "decimal(12,2) NOT NULL",
        SPECIAL "tinyint", COMMON_PROD_ID "int NOT NULL"
    }
    /// Stock and sales of each product.
    Inventory = "INVENTORY", primary_key: ["PROD_ID"]; {
        PROD_ID "int NOT NULL", QUAN_IN_STOCK "int NOT NULL", SALES "int NOT NULL"
    }
    Orders = "ORDERS", primary_key: ["ORDERID"], indexed: ["CUSTOMERID"],
        references: [Reference { column: "CUSTOMERID", table: "CUSTOMERS", on_delete: "SET NULL" }]; {
        ORDERID "int NOT NULL AUTO_INCREMENT", ORDERDATE "date NOT NULL", CUSTOMERID "int",
        NETAMOUNT "decimal(12,2) NOT NULL", TAX "decimal(12,2) NOT NULL",
        TOTALAMOUNT "decimal(12,2) NOT NULL"
    }
    /// Lines of orders, one to nine each.
    OrderLines = "ORDERLINES", unique: ["ORDERID", "ORDERLINEID"],
        references: [Reference { column: "ORDERID", table: "ORDERS", on_delete: "CASCADE" }]; {
        ORDERLINEID "smallint NOT NULL", ORDERID "int NOT NULL", PROD_ID "int NOT NULL",
        QUANTITY "smallint NOT NULL", ORDERDATE "date NOT NULL"
    }
    /// What each customer has bought: one row for each line.
    CustHist = "CUST_HIST", indexed: ["CUSTOMERID"],
        references: [Reference { column: "CUSTOMERID", table: "CUSTOMERS", on_delete: "CASCADE" }]; {
        CUSTOMERID "int NOT NULL", ORDERID "int NOT NULL", PROD_ID "int NOT NULL"
    }
    /// Products to order again, empty at the start.
    Reorder = "REORDER"; {
        PROD_ID "int NOT NULL", DATE_LOW "date NOT NULL", QUAN_LOW "int NOT NULL",
        DATE_REORDERED "date", QUAN_REORDERED "int", DATE_EXPECTED "date"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::schema::{Definition, Indexes};

    #[test]
    fn keys_indexes_and_references_name_columns_of_their_tables() {
        for table in Table::ALL {
            let Definition { columns, primary_key, indexed, unique, fulltext, references, .. } =
                table.definition();
            let referring = references.iter().map(|reference| reference.column);
            let named = [primary_key, indexed, unique, fulltext];
            for name in named.into_iter().flat_map(|list| list.iter().copied()).chain(referring) {
                assert!(columns.iter().any(|column| column.name == name), "{table:?} {name}");
            }
            for reference in *references {
                let parent = Table::ALL.into_iter().find(|table| table.name() == reference.table).unwrap();
                assert_eq!(parent.definition().primary_key, [reference.column], "{table:?}");
                assert!(parent < table, "{parent:?} is filled before {table:?}");
            }
        }
    }

    #[test]
    fn a_table_without_a_primary_key_is_made_with_its_unique_index() {
        let definition = Table::OrderLines.definition();
        let text = definition.create_table(Indexes::Later);
        assert!(!text.contains("KEY") && text.ends_with("`ORDERDATE` date NOT NULL\n)"), "{text}");
        assert_eq!(
            definition.create_indexes().as_deref(),
            Some("ALTER TABLE `ORDERLINES` ADD UNIQUE KEY `ORDERID` (`ORDERID`,`ORDERLINEID`)")
        );
    }
}
