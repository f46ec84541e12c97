//! The statements of TPC-W, written from its rules.

use crate::workload::Statement;
use crate::workload::sql::parse;

#[derive(Debug)]
pub struct Row {
    pub sql: Sql,
    pub name: &'static str,
    /// Whether an interaction needs the answer.
    captures: bool,
    pub text: &'static str,
}

impl Row {
    /// The statement under its own name.
    pub fn statement(&self) -> Statement {
        Statement {
            name: self.name.to_owned(),
            sql: self.text.to_owned(),
            captures: self.captures,
            prepared: !self.is_control(),
            tables: parse(self.text).tables,
            calls_stored: false,
        }
    }

    /// Whether it is transaction control, which touches no table and goes as text.
    pub fn is_control(&self) -> bool {
        matches!(self.sql, Sql::Begin | Sql::Commit)
    }
}

/// The statements of the mixes, at the index of their [`Sql`].
pub fn mix_rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter().take(Sql::Commit as usize + 1)
}

pub fn row(sql: Sql) -> &'static Row {
    &ROWS[sql as usize]
}

macro_rules! statements {
    ($($sql:ident $name:literal $captures:literal $text:literal,)+) => {
        /// A statement, also the index of its row.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Sql {
            $($sql),+
        }

        /// Every statement, at the index of its [`Sql`]; the last one, the study's write, is in no mix.
        pub static ROWS: &[Row] =
            &[$(Row { sql: Sql::$sql, name: $name, captures: $captures, text: $text }),+];
    };
}

statements! {
    CustomerName "tpcw.customer_name" false "SELECT c_fname, c_lname FROM customer WHERE c_id = ?",
    Promotion "tpcw.promotion" true
        "SELECT related.i_id, related.i_thumbnail FROM item AS shown JOIN item AS related ON related.i_id = \
         shown.i_related1 OR related.i_id = shown.i_related2 OR related.i_id = shown.i_related3 OR \
         related.i_id = shown.i_related4 OR related.i_id = shown.i_related5 WHERE shown.i_id = ?",
    NewProducts "tpcw.new_products" true
        "SELECT i_id, i_title, a_fname, a_lname FROM item JOIN author ON a_id = i_a_id WHERE i_subject = ? \
         ORDER BY i_pub_date DESC, i_title LIMIT 50",
    BestSellers "tpcw.best_sellers" true
        "SELECT i_id, i_title, a_fname, a_lname FROM order_line JOIN item ON i_id = ol_i_id JOIN author ON \
         a_id = i_a_id WHERE ol_o_id > (SELECT MAX(o_id) - 3333 FROM orders) AND i_subject = ? GROUP BY \
         i_id, i_title, a_fname, a_lname ORDER BY SUM(ol_qty) DESC LIMIT 50",
    ProductDetail "tpcw.product_detail" false
        "SELECT item.*, author.* FROM item JOIN author ON a_id = i_a_id WHERE i_id = ?",
    SearchSubject "tpcw.search_subject" false
        "SELECT item.*, author.* FROM item JOIN author ON a_id = i_a_id WHERE i_subject = ? ORDER BY \
         i_title LIMIT 50",
    SearchTitle "tpcw.search_title" false
        "SELECT item.*, author.* FROM item JOIN author ON a_id = i_a_id WHERE i_title LIKE ? ORDER BY \
         i_title LIMIT 50",
    SearchAuthor "tpcw.search_author" false
        "SELECT item.*, author.* FROM author JOIN item ON i_a_id = a_id WHERE a_lname LIKE ? ORDER BY \
         i_title LIMIT 50",
    CartLine "tpcw.cart_line" true
        "SELECT scl_qty FROM shopping_cart_line WHERE scl_sc_id = ? AND scl_i_id = ?",
    CartSize "tpcw.cart_size" true "SELECT COUNT(*) FROM shopping_cart_line WHERE scl_sc_id = ?",
    RelatedItem "tpcw.related_item" true "SELECT i_related1 FROM item WHERE i_id = ?",
    Cart "tpcw.cart" true
        "SELECT scl_i_id, scl_qty, i_cost, i_srp, i_title, i_backing FROM shopping_cart_line JOIN item ON \
         i_id = scl_i_id WHERE scl_sc_id = ?",
    CustomerUname "tpcw.customer_uname" false "SELECT c_uname FROM customer WHERE c_id = ?",
    Customer "tpcw.customer" false
        "SELECT customer.*, address.*, country.* FROM customer JOIN address ON addr_id = c_addr_id JOIN \
         country ON co_id = addr_co_id WHERE c_uname = ?",
    Country "tpcw.country" true "SELECT co_id FROM country WHERE co_name = ?",
    Address "tpcw.address" true
        "SELECT addr_id FROM address WHERE addr_street1 = ? AND addr_street2 = ? AND addr_city = ? AND \
         addr_state = ? AND addr_zip = ? AND addr_co_id = ?",
    CustomerDiscount "tpcw.customer_discount" true "SELECT c_discount FROM customer WHERE c_id = ?",
    CustomerAddress "tpcw.customer_address" true "SELECT c_addr_id FROM customer WHERE c_id = ?",
    ItemStock "tpcw.item_stock" true "SELECT i_stock FROM item WHERE i_id = ?",
    CustomerPassword "tpcw.customer_password" false "SELECT c_passwd FROM customer WHERE c_uname = ?",
    LatestOrder "tpcw.latest_order" true
        "SELECT o_id FROM customer JOIN orders ON o_c_id = c_id WHERE c_uname = ? ORDER BY o_date DESC, \
         o_id DESC LIMIT 1",
    OrderDisplay "tpcw.order_display" false
        "SELECT orders.*, customer.*, cx_type, cx_auth_id, bill.addr_street1 AS bill_street1, \
         bill.addr_street2 AS bill_street2, bill.addr_state AS bill_state, bill.addr_zip AS bill_zip, \
         bill_country.co_name AS bill_co_name, ship.addr_street1 AS ship_street1, ship.addr_street2 AS \
         ship_street2, ship.addr_state AS ship_state, ship.addr_zip AS ship_zip, ship_country.co_name AS \
         ship_co_name FROM orders JOIN customer ON c_id = o_c_id JOIN cc_xacts ON cx_o_id = o_id JOIN \
         address AS bill ON bill.addr_id = o_bill_addr_id JOIN country AS bill_country ON \
         bill_country.co_id = bill.addr_co_id JOIN address AS ship ON ship.addr_id = o_ship_addr_id JOIN \
         country AS ship_country ON ship_country.co_id = ship.addr_co_id WHERE o_id = ?",
    OrderLines "tpcw.order_lines" false
        "SELECT order_line.*, item.* FROM order_line JOIN item ON i_id = ol_i_id WHERE ol_o_id = ?",
    CoOrdered "tpcw.co_ordered" true
        "SELECT ol_i_id FROM orders JOIN order_line ON ol_o_id = o_id WHERE o_id > (SELECT MAX(o_id) - \
         10000 FROM orders) AND ol_i_id <> ? AND o_c_id IN (SELECT same.o_c_id FROM orders AS same JOIN \
         order_line AS line ON line.ol_o_id = same.o_id WHERE same.o_id > (SELECT MAX(o_id) - 10000 FROM \
         orders) AND line.ol_i_id = ?) GROUP BY ol_i_id ORDER BY SUM(ol_qty) DESC LIMIT 5",
    CartInsert "tpcw.cart_insert" false "INSERT INTO shopping_cart (sc_id, sc_time) VALUES (?, NOW())",
    CartFill "tpcw.cart_fill" false
        "INSERT IGNORE INTO shopping_cart_line (scl_sc_id, scl_i_id, scl_qty) VALUES (?, ?, ?), (?, ?, ?), \
         (?, ?, ?)",
    CartLineInsert "tpcw.cart_line_insert" false
        "INSERT INTO shopping_cart_line (scl_sc_id, scl_i_id, scl_qty) VALUES (?, ?, ?)",
    CartLineUpdate "tpcw.cart_line_update" false
        "UPDATE shopping_cart_line SET scl_qty = ? WHERE scl_sc_id = ? AND scl_i_id = ?",
    CartLineDelete "tpcw.cart_line_delete" false
        "DELETE FROM shopping_cart_line WHERE scl_sc_id = ? AND scl_i_id = ?",
    CartTouch "tpcw.cart_touch" false "UPDATE shopping_cart SET sc_time = NOW() WHERE sc_id = ?",
    Login "tpcw.login" false
        "UPDATE customer SET c_login = NOW(), c_expiration = NOW() + INTERVAL 2 HOUR WHERE c_id = ?",
    AddressInsert "tpcw.address_insert" false
        "INSERT INTO address (addr_id, addr_street1, addr_street2, addr_city, addr_state, addr_zip, \
         addr_co_id) VALUES (?, ?, ?, ?, ?, ?, ?)",
    CustomerInsert "tpcw.customer_insert" false
        "INSERT INTO customer (c_id, c_uname, c_passwd, c_fname, c_lname, c_addr_id, c_phone, c_email, \
         c_since, c_last_login, c_login, c_expiration, c_discount, c_balance, c_ytd_pmt, c_birthdate, \
         c_data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, CURRENT_DATE, CURRENT_DATE, NOW(), NOW() + INTERVAL 2 \
         HOUR, ?, 0, 0, CURRENT_DATE - INTERVAL ? DAY, ?)",
    OrderInsert "tpcw.order_insert" false
        "INSERT INTO orders (o_id, o_c_id, o_date, o_sub_total, o_tax, o_total, o_ship_type, o_ship_date, \
         o_bill_addr_id, o_ship_addr_id, o_status) VALUES (?, ?, CURRENT_DATE, ?, ?, ?, ?, CURRENT_DATE + \
         INTERVAL ? DAY, ?, ?, 'PENDING')",
    OrderLineInsert "tpcw.order_line_insert" false
        "INSERT INTO order_line (ol_id, ol_o_id, ol_i_id, ol_qty, ol_discount, ol_comments) VALUES (?, ?, \
         ?, ?, ?, ?)",
    ItemStockUpdate "tpcw.item_stock_update" false "UPDATE item SET i_stock = ? WHERE i_id = ?",
    CreditCardInsert "tpcw.credit_card_insert" false
        "INSERT INTO cc_xacts (cx_o_id, cx_type, cx_num, cx_name, cx_expire, cx_auth_id, cx_xact_amt, \
         cx_xact_date, cx_co_id) VALUES (?, ?, ?, ?, CURRENT_DATE + INTERVAL ? DAY, ?, ?, CURRENT_DATE, \
         (SELECT co_id FROM address JOIN country ON co_id = addr_co_id WHERE addr_id = ?))",
    CartClear "tpcw.cart_clear" false "DELETE FROM shopping_cart_line WHERE scl_sc_id = ?",
    ItemUpdate "tpcw.item_update" false
        "UPDATE item SET i_cost = ?, i_image = ?, i_thumbnail = ?, i_pub_date = CURRENT_DATE WHERE i_id = ?",
    ItemRelatedUpdate "tpcw.item_related_update" false
        "UPDATE item SET i_related1 = ?, i_related2 = ?, i_related3 = ?, i_related4 = ?, i_related5 = ? \
         WHERE i_id = ?",
    Begin "begin" false "BEGIN",
    Commit "commit" false "COMMIT",
    Write "tpcw.write" false
        "INSERT IGNORE INTO order_line (ol_id, ol_o_id, ol_i_id, ol_qty, ol_discount, ol_comments) VALUES \
         (?, ?, ?, ?, ?, ?)",
}
