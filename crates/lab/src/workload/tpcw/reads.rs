//! The reads of TPC-W, written from its rules.

use super::sql::{Row, Sql};

/// The reads of the mixes, in the order of [`Sql`].
pub static ROWS: [Row; 24] = [
    Row {
        sql: Sql::CustomerName,
        name: "tpcw.customer_name",
        help: "first and last name of a customer, by key",
        text: "SELECT c_fname, c_lname FROM customer WHERE c_id = ?",
        captures: false,
        tables: &["customer"],
    },
    Row {
        sql: Sql::Promotion,
        name: "tpcw.promotion",
        help: "the five items related to an item",
        text: "SELECT related.i_id, related.i_thumbnail FROM item AS shown JOIN item AS related ON \
               related.i_id = shown.i_related1 OR related.i_id = shown.i_related2 OR related.i_id = \
               shown.i_related3 OR related.i_id = shown.i_related4 OR related.i_id = shown.i_related5 \
               WHERE shown.i_id = ?",
        captures: true,
        tables: &["item"],
    },
    Row {
        sql: Sql::NewProducts,
        name: "tpcw.new_products",
        help: "the 50 newest items of a subject (the statement of tpcw.complex)",
        text: "SELECT i_id, i_title, a_fname, a_lname FROM item JOIN author ON a_id = i_a_id WHERE \
               i_subject = ? ORDER BY i_pub_date DESC, i_title LIMIT 50",
        captures: true,
        tables: &["item", "author"],
    },
    Row {
        sql: Sql::BestSellers,
        name: "tpcw.best_sellers",
        help: "the 50 items of a subject most sold in the latest 3,333 orders",
        text: "SELECT i_id, i_title, a_fname, a_lname FROM order_line JOIN item ON i_id = ol_i_id \
               JOIN author ON a_id = i_a_id WHERE ol_o_id > (SELECT MAX(o_id) - 3333 FROM orders) AND \
               i_subject = ? GROUP BY i_id, i_title, a_fname, a_lname ORDER BY SUM(ol_qty) DESC LIMIT \
               50",
        captures: true,
        tables: &["order_line", "item", "author", "orders"],
    },
    Row {
        sql: Sql::ProductDetail,
        name: "tpcw.product_detail",
        help: "an item with its author, by key",
        text: "SELECT item.*, author.* FROM item JOIN author ON a_id = i_a_id WHERE i_id = ?",
        captures: false,
        tables: &["item", "author"],
    },
    Row {
        sql: Sql::SearchSubject,
        name: "tpcw.search_subject",
        help: "the first 50 items of a subject by title",
        text: "SELECT item.*, author.* FROM item JOIN author ON a_id = i_a_id WHERE i_subject = ? \
               ORDER BY i_title LIMIT 50",
        captures: false,
        tables: &["item", "author"],
    },
    Row {
        sql: Sql::SearchTitle,
        name: "tpcw.search_title",
        help: "the first 50 items whose title begins with a text, by title",
        text: "SELECT item.*, author.* FROM item JOIN author ON a_id = i_a_id WHERE i_title LIKE ? \
               ORDER BY i_title LIMIT 50",
        captures: false,
        tables: &["item", "author"],
    },
    Row {
        sql: Sql::SearchAuthor,
        name: "tpcw.search_author",
        help: "the first 50 items by authors whose last name begins with a text, by title",
        text: "SELECT item.*, author.* FROM author JOIN item ON i_a_id = a_id WHERE a_lname LIKE ? \
               ORDER BY i_title LIMIT 50",
        captures: false,
        tables: &["author", "item"],
    },
    Row {
        sql: Sql::CartLine,
        name: "tpcw.cart_line",
        help: "how many of an item are in a cart",
        text: "SELECT scl_qty FROM shopping_cart_line WHERE scl_sc_id = ? AND scl_i_id = ?",
        captures: true,
        tables: &["shopping_cart_line"],
    },
    Row {
        sql: Sql::CartSize,
        name: "tpcw.cart_size",
        help: "how many lines a cart has",
        text: "SELECT COUNT(*) FROM shopping_cart_line WHERE scl_sc_id = ?",
        captures: true,
        tables: &["shopping_cart_line"],
    },
    Row {
        sql: Sql::RelatedItem,
        name: "tpcw.related_item",
        help: "the first item related to an item",
        text: "SELECT i_related1 FROM item WHERE i_id = ?",
        captures: true,
        tables: &["item"],
    },
    Row {
        sql: Sql::Cart,
        name: "tpcw.cart",
        help: "the lines of a cart with their items",
        text: "SELECT scl_i_id, scl_qty, i_cost, i_srp, i_title, i_backing FROM shopping_cart_line \
               JOIN item ON i_id = scl_i_id WHERE scl_sc_id = ?",
        captures: true,
        tables: &["shopping_cart_line", "item"],
    },
    Row {
        sql: Sql::CustomerUname,
        name: "tpcw.customer_uname",
        help: "user name of a customer, by key",
        text: "SELECT c_uname FROM customer WHERE c_id = ?",
        captures: false,
        tables: &["customer"],
    },
    Row {
        sql: Sql::Customer,
        name: "tpcw.customer",
        help: "a customer with address and country, by user name (the statement of tpcw.simple)",
        text: "SELECT customer.*, address.*, country.* FROM customer JOIN address ON addr_id = \
               c_addr_id JOIN country ON co_id = addr_co_id WHERE c_uname = ?",
        captures: false,
        tables: &["customer", "address", "country"],
    },
    Row {
        sql: Sql::Country,
        name: "tpcw.country",
        help: "a country, by name",
        text: "SELECT co_id FROM country WHERE co_name = ?",
        captures: true,
        tables: &["country"],
    },
    Row {
        sql: Sql::Address,
        name: "tpcw.address",
        help: "an address that is the same in all six columns",
        text: "SELECT addr_id FROM address WHERE addr_street1 = ? AND addr_street2 = ? AND addr_city \
               = ? AND addr_state = ? AND addr_zip = ? AND addr_co_id = ?",
        captures: true,
        tables: &["address"],
    },
    Row {
        sql: Sql::CustomerDiscount,
        name: "tpcw.customer_discount",
        help: "discount of a customer, by key",
        text: "SELECT c_discount FROM customer WHERE c_id = ?",
        captures: true,
        tables: &["customer"],
    },
    Row {
        sql: Sql::CustomerAddress,
        name: "tpcw.customer_address",
        help: "address of a customer, by key",
        text: "SELECT c_addr_id FROM customer WHERE c_id = ?",
        captures: true,
        tables: &["customer"],
    },
    Row {
        sql: Sql::ItemStock,
        name: "tpcw.item_stock",
        help: "stock of an item, by key",
        text: "SELECT i_stock FROM item WHERE i_id = ?",
        captures: true,
        tables: &["item"],
    },
    Row {
        sql: Sql::CustomerPassword,
        name: "tpcw.customer_password",
        help: "password of a customer, by user name",
        text: "SELECT c_passwd FROM customer WHERE c_uname = ?",
        captures: false,
        tables: &["customer"],
    },
    Row {
        sql: Sql::LatestOrder,
        name: "tpcw.latest_order",
        help: "the latest order of a customer, by user name",
        text: "SELECT o_id FROM customer JOIN orders ON o_c_id = c_id WHERE c_uname = ? ORDER BY \
               o_date DESC, o_id DESC LIMIT 1",
        captures: true,
        tables: &["customer", "orders"],
    },
    Row {
        sql: Sql::OrderDisplay,
        name: "tpcw.order_display",
        help: "an order with customer, card, both addresses and countries",
        text: "SELECT orders.*, customer.*, cx_type, cx_auth_id, bill.addr_street1 AS bill_street1, \
               bill.addr_street2 AS bill_street2, bill.addr_state AS bill_state, bill.addr_zip AS \
               bill_zip, bill_country.co_name AS bill_co_name, ship.addr_street1 AS ship_street1, \
               ship.addr_street2 AS ship_street2, ship.addr_state AS ship_state, ship.addr_zip AS \
               ship_zip, ship_country.co_name AS ship_co_name FROM orders JOIN customer ON c_id = \
               o_c_id JOIN cc_xacts ON cx_o_id = o_id JOIN address AS bill ON bill.addr_id = \
               o_bill_addr_id JOIN country AS bill_country ON bill_country.co_id = bill.addr_co_id \
               JOIN address AS ship ON ship.addr_id = o_ship_addr_id JOIN country AS ship_country ON \
               ship_country.co_id = ship.addr_co_id WHERE o_id = ?",
        captures: false,
        tables: &["orders", "customer", "cc_xacts", "address", "country"],
    },
    Row {
        sql: Sql::OrderLines,
        name: "tpcw.order_lines",
        help: "the lines of an order with their items",
        text: "SELECT order_line.*, item.* FROM order_line JOIN item ON i_id = ol_i_id WHERE ol_o_id \
               = ?",
        captures: false,
        tables: &["order_line", "item"],
    },
    Row {
        sql: Sql::CoOrdered,
        name: "tpcw.co_ordered",
        help: "the five items most ordered by customers who recently ordered an item",
        text: "SELECT ol_i_id FROM orders JOIN order_line ON ol_o_id = o_id WHERE o_id > (SELECT \
               MAX(o_id) - 10000 FROM orders) AND ol_i_id <> ? AND o_c_id IN (SELECT same.o_c_id FROM \
               orders AS same JOIN order_line AS line ON line.ol_o_id = same.o_id WHERE same.o_id > \
               (SELECT MAX(o_id) - 10000 FROM orders) AND line.ol_i_id = ?) GROUP BY ol_i_id ORDER BY \
               SUM(ol_qty) DESC LIMIT 5",
        captures: true,
        tables: &["orders", "order_line"],
    },
];

/// Ids as published clients make them; no mix asks for them.
pub static ALONE: [Row; 4] = [
    Row {
        sql: Sql::CartCount,
        name: "tpcw.cart_count",
        help: "number of carts (how published clients made an id; no mix uses it)",
        text: "SELECT COUNT(*) FROM shopping_cart",
        captures: false,
        tables: &["shopping_cart"],
    },
    Row {
        sql: Sql::CustomerMax,
        name: "tpcw.customer_max",
        help: "highest customer (how published clients made an id; no mix uses it)",
        text: "SELECT MAX(c_id) FROM customer",
        captures: false,
        tables: &["customer"],
    },
    Row {
        sql: Sql::AddressMax,
        name: "tpcw.address_max",
        help: "highest address (how published clients made an id; no mix uses it)",
        text: "SELECT MAX(addr_id) FROM address",
        captures: false,
        tables: &["address"],
    },
    Row {
        sql: Sql::OrderCount,
        name: "tpcw.order_count",
        help: "number of orders (how published clients made an id; no mix uses it)",
        text: "SELECT COUNT(o_id) FROM orders",
        captures: false,
        tables: &["orders"],
    },
];
