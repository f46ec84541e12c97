//! The writes of TPC-W, written from its rules, and transaction control.

use super::sql::{Row, Sql};

/// The writes of the mixes, in the order of [`Sql`].
pub static ROWS: [Row; 16] = [
    Row {
        sql: Sql::CartInsert,
        name: "tpcw.cart_insert",
        help: "a new empty cart",
        text: "INSERT INTO shopping_cart (sc_id, sc_time) VALUES (?, NOW())",
        captures: false,
        tables: &["shopping_cart"],
    },
    Row {
        sql: Sql::CartFill,
        name: "tpcw.cart_fill",
        help: "three lines at once into a cart (only where an open arrival needs a full cart)",
        text: "INSERT IGNORE INTO shopping_cart_line (scl_sc_id, scl_i_id, scl_qty) VALUES (?, ?, ?), \
               (?, ?, ?), (?, ?, ?)",
        captures: false,
        tables: &["shopping_cart_line"],
    },
    Row {
        sql: Sql::CartLineInsert,
        name: "tpcw.cart_line_insert",
        help: "a line into a cart (alone: of a cart without lines)",
        text: "INSERT INTO shopping_cart_line (scl_sc_id, scl_i_id, scl_qty) VALUES (?, ?, ?)",
        captures: false,
        tables: &["shopping_cart_line"],
    },
    Row {
        sql: Sql::CartLineUpdate,
        name: "tpcw.cart_line_update",
        help: "another quantity for a line of a cart",
        text: "UPDATE shopping_cart_line SET scl_qty = ? WHERE scl_sc_id = ? AND scl_i_id = ?",
        captures: false,
        tables: &["shopping_cart_line"],
    },
    Row {
        sql: Sql::CartLineDelete,
        name: "tpcw.cart_line_delete",
        help: "a line out of a cart",
        text: "DELETE FROM shopping_cart_line WHERE scl_sc_id = ? AND scl_i_id = ?",
        captures: false,
        tables: &["shopping_cart_line"],
    },
    Row {
        sql: Sql::CartTouch,
        name: "tpcw.cart_touch",
        help: "a cart's time of last use",
        text: "UPDATE shopping_cart SET sc_time = NOW() WHERE sc_id = ?",
        captures: false,
        tables: &["shopping_cart"],
    },
    Row {
        sql: Sql::Login,
        name: "tpcw.login",
        help: "a customer's login and its end in two hours",
        text: "UPDATE customer SET c_login = NOW(), c_expiration = NOW() + INTERVAL 2 HOUR WHERE c_id \
               = ?",
        captures: false,
        tables: &["customer"],
    },
    Row {
        sql: Sql::AddressInsert,
        name: "tpcw.address_insert",
        help: "a new address",
        text: "INSERT INTO address (addr_id, addr_street1, addr_street2, addr_city, addr_state, \
               addr_zip, addr_co_id) VALUES (?, ?, ?, ?, ?, ?, ?)",
        captures: false,
        tables: &["address"],
    },
    Row {
        sql: Sql::CustomerInsert,
        name: "tpcw.customer_insert",
        help: "a new customer",
        text: "INSERT INTO customer (c_id, c_uname, c_passwd, c_fname, c_lname, c_addr_id, c_phone, \
               c_email, c_since, c_last_login, c_login, c_expiration, c_discount, c_balance, \
               c_ytd_pmt, c_birthdate, c_data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, CURRENT_DATE, \
               CURRENT_DATE, NOW(), NOW() + INTERVAL 2 HOUR, ?, 0, 0, CURRENT_DATE - INTERVAL ? DAY, \
               ?)",
        captures: false,
        tables: &["customer"],
    },
    Row {
        sql: Sql::OrderInsert,
        name: "tpcw.order_insert",
        help: "a new order",
        text: "INSERT INTO orders (o_id, o_c_id, o_date, o_sub_total, o_tax, o_total, o_ship_type, \
               o_ship_date, o_bill_addr_id, o_ship_addr_id, o_status) VALUES (?, ?, CURRENT_DATE, ?, \
               ?, ?, ?, CURRENT_DATE + INTERVAL ? DAY, ?, ?, 'PENDING')",
        captures: false,
        tables: &["orders"],
    },
    Row {
        sql: Sql::OrderLineInsert,
        name: "tpcw.order_line_insert",
        help: "a new line of an order",
        text: "INSERT INTO order_line (ol_id, ol_o_id, ol_i_id, ol_qty, ol_discount, ol_comments) \
               VALUES (?, ?, ?, ?, ?, ?)",
        captures: false,
        tables: &["order_line"],
    },
    Row {
        sql: Sql::ItemStockUpdate,
        name: "tpcw.item_stock_update",
        help: "another stock for an item",
        text: "UPDATE item SET i_stock = ? WHERE i_id = ?",
        captures: false,
        tables: &["item"],
    },
    Row {
        sql: Sql::CreditCardInsert,
        name: "tpcw.credit_card_insert",
        help: "the payment of an order, with the country of its address",
        text: "INSERT INTO cc_xacts (cx_o_id, cx_type, cx_num, cx_name, cx_expire, cx_auth_id, \
               cx_xact_amt, cx_xact_date, cx_co_id) VALUES (?, ?, ?, ?, CURRENT_DATE + INTERVAL ? \
               DAY, ?, ?, CURRENT_DATE, (SELECT co_id FROM address JOIN country ON co_id = addr_co_id \
               WHERE addr_id = ?))",
        captures: false,
        tables: &["cc_xacts", "address", "country"],
    },
    Row {
        sql: Sql::CartClear,
        name: "tpcw.cart_clear",
        help: "all lines out of a cart",
        text: "DELETE FROM shopping_cart_line WHERE scl_sc_id = ?",
        captures: false,
        tables: &["shopping_cart_line"],
    },
    Row {
        sql: Sql::ItemUpdate,
        name: "tpcw.item_update",
        help: "another price and other pictures for an item, published today",
        text: "UPDATE item SET i_cost = ?, i_image = ?, i_thumbnail = ?, i_pub_date = CURRENT_DATE \
               WHERE i_id = ?",
        captures: false,
        tables: &["item"],
    },
    Row {
        sql: Sql::ItemRelatedUpdate,
        name: "tpcw.item_related_update",
        help: "other related items for an item",
        text: "UPDATE item SET i_related1 = ?, i_related2 = ?, i_related3 = ?, i_related4 = ?, \
               i_related5 = ? WHERE i_id = ?",
        captures: false,
        tables: &["item"],
    },
];

/// Start and end of a transaction, sent as text.
pub static CONTROL: [Row; 2] = [
    Row {
        sql: Sql::Begin,
        name: "begin",
        help: "start of a transaction",
        text: "BEGIN",
        captures: false,
        tables: &[],
    },
    Row {
        sql: Sql::Commit,
        name: "commit",
        help: "end of a transaction",
        text: "COMMIT",
        captures: false,
        tables: &[],
    },
];

/// The study's write; the mixes insert lines of orders of their own.
pub static ALONE: [Row; 1] = [Row {
    sql: Sql::Write,
    name: "tpcw.write",
    help: "the study's write: INSERT IGNORE of one new order_line row",
    text: "INSERT IGNORE INTO order_line (ol_id, ol_o_id, ol_i_id, ol_qty, ol_discount, \
               ol_comments) VALUES (?, ?, ?, ?, ?, ?)",
    captures: false,
    tables: &["order_line"],
}];
