//! What each interaction asks, in turn, and what it makes of the answers.
//!
//! Several writes that belong together stand between BEGIN and COMMIT; a lone statement commits itself.

use super::matrix::Interaction;
use super::session::{Act, Line, Session};
use super::statements::Sql;
use crate::data::tpcw::values::choice;
use crate::workload::{Reply, Value};
use evenkeel_core::random::Random;

/// Share of orders that go to an address of their own.
const OTHER_SHIP_ADDRESS: f64 = 0.05;
/// Stock below which an item is ordered again, and how many then come.
const STOCK_LOW: i64 = 10;
const STOCK_REFILL: i64 = 21;

impl Session {
    /// Plans the statements of an interaction. `before` is the interaction that led here: from an item into
    /// the cart adds the item, from the cart into the cart changes quantities.
    pub fn plan(&mut self, interaction: Interaction, before: Option<Interaction>, random: &mut Random) {
        self.forget_acts();
        self.choose_item(interaction, random);
        match interaction {
            Interaction::Home => {
                self.then(self.customer.map(|_| Sql::CustomerName));
                self.then([Sql::Promotion]);
            }
            Interaction::NewProducts => self.then([Sql::Promotion, Sql::NewProducts]),
            Interaction::BestSellers => self.then([Sql::Promotion, Sql::BestSellers]),
            Interaction::ProductDetail | Interaction::AdminRequest => self.then([Sql::ProductDetail]),
            Interaction::SearchRequest => self.then([Sql::Promotion]),
            Interaction::SearchResults => {
                let by = choice(random, &[Sql::SearchSubject, Sql::SearchTitle, Sql::SearchAuthor]);
                self.then([Sql::Promotion, by]);
            }
            Interaction::ShoppingCart => self.plan_cart(before, random),
            Interaction::CustomerRegistration => self.then(self.customer.map(|_| Sql::CustomerUname)),
            Interaction::BuyRequest => self.plan_buy_request(random),
            Interaction::BuyConfirm => self.plan_buy_confirm(random),
            Interaction::OrderInquiry => {}
            Interaction::OrderDisplay => {
                self.known_customer(random);
                self.then([Sql::CustomerPassword, Sql::LatestOrder]);
            }
            Interaction::AdminConfirm => self.then([
                Sql::ProductDetail,
                Sql::Begin,
                Sql::ItemUpdate,
                Sql::CoOrdered,
                Sql::ItemRelatedUpdate,
                Sql::Commit,
            ]),
        }
    }

    /// An item page shows an item of the page before, and keeps that page for the way back; every other page
    /// has items of its own.
    fn choose_item(&mut self, interaction: Interaction, random: &mut Random) {
        match interaction {
            Interaction::ProductDetail if self.page.is_empty() => self.item = self.store.item(random),
            Interaction::ProductDetail => self.item = choice(random, &self.page),
            Interaction::AdminRequest | Interaction::AdminConfirm => {}
            _ => self.page.clear(),
        }
    }

    fn plan_cart(&mut self, before: Option<Interaction>, random: &mut Random) {
        self.then([Sql::Begin]);
        self.plan_own_cart();
        match before {
            Some(Interaction::ProductDetail) => {
                let item = self.item;
                self.then([Act { item, ..Sql::CartLine.into() }]);
            }
            Some(Interaction::ShoppingCart) => self.plan_quantities(random),
            _ => {}
        }
        self.then([Sql::CartSize, Sql::CartTouch, Sql::Cart, Sql::Commit, Sql::Promotion]);
    }

    /// A cart, where there is none yet.
    fn plan_own_cart(&mut self) {
        if self.cart.is_none() {
            self.cart = Some(self.store.ids.cart.next());
            self.then([Sql::CartInsert]);
        }
    }

    /// A lone line gets 1 to 10; of several lines some get 0 to 8, and 0 takes the line out.
    fn plan_quantities(&mut self, random: &mut Random) {
        let lone = self.lines.len() == 1;
        for index in 0..self.lines.len() {
            if !lone && random.chance(0.5) {
                continue;
            }
            let quantity = if lone { random.uniform(1, 10) } else { random.uniform(0, 8) };
            let sql = if quantity == 0 { Sql::CartLineDelete } else { Sql::CartLineUpdate };
            self.then([Act { sql, item: self.lines[index].item, quantity }]);
        }
    }

    /// A known customer logs in; anybody else registers, with an address that is looked for first.
    fn plan_buy_request(&mut self, random: &mut Random) {
        if self.customer.is_some() {
            self.then([Sql::Customer, Sql::Login, Sql::Cart]);
            return;
        }
        self.customer = Some(self.store.ids.customer.next());
        self.type_address(random);
        self.then([Sql::Begin, Sql::Country, Sql::Address, Sql::CustomerInsert, Sql::Commit, Sql::Cart]);
    }

    fn plan_buy_confirm(&mut self, random: &mut Random) {
        self.known_customer(random);
        self.order = self.store.ids.order.next();
        self.order_lines = 0;
        self.then([Sql::Begin, Sql::CustomerDiscount, Sql::Cart, Sql::CustomerAddress]);
        if random.chance(OTHER_SHIP_ADDRESS) {
            self.type_address(random);
            self.then([Sql::Country, Sql::Address]);
        }
        self.then([Sql::OrderInsert, Sql::CreditCardInsert, Sql::CartClear, Sql::Commit]);
    }

    /// What an arrival that comes out of nowhere needs before `plan`ned statements make sense: a cart with
    /// lines, before buying. Goes before everything planned.
    pub fn prepare(&mut self, interaction: Interaction) {
        if matches!(interaction, Interaction::BuyRequest | Interaction::BuyConfirm) {
            self.cart = Some(self.store.ids.cart.next());
            self.at_once(Sql::CartFill);
            self.at_once(Sql::CartInsert);
        }
    }

    /// Takes in the answer to the statement asked last; it may call for further statements at once.
    pub fn learn(&mut self, reply: &Reply) {
        let Some(act) = self.asked else { return };
        match act.sql {
            Sql::Promotion | Sql::NewProducts | Sql::BestSellers => self.page.extend(ids(reply)),
            Sql::CartLine => self.learn_cart_line(act.item, reply),
            Sql::CartSize if reply.first_id(0) == Some(0) => self.at_once(Sql::RelatedItem),
            Sql::RelatedItem => {
                let item = reply.first_id(0).unwrap_or(self.item);
                self.at_once(Act { item, ..Sql::CartLine.into() });
            }
            Sql::Cart => self.learn_cart(reply),
            Sql::Country => self.address.country = reply.first_id(0).unwrap_or(1),
            Sql::Address => self.learn_address(reply),
            Sql::CustomerDiscount => self.discount = reply.first(0).and_then(Value::as_double).unwrap_or(0.0),
            Sql::CustomerAddress => {
                self.bill_address = reply.first_id(0).unwrap_or(1);
                self.ship_address = self.bill_address;
            }
            Sql::OrderInsert => self.plan_order_lines(),
            Sql::ItemStock => self.learn_stock(act, reply),
            Sql::LatestOrder => self.learn_order(reply),
            Sql::CoOrdered => self.learn_co_ordered(reply),
            Sql::CartClear => self.lines.clear(),
            _ => {}
        }
    }

    /// One more of an item that is in the cart, or the item's first.
    fn learn_cart_line(&mut self, item: u64, reply: &Reply) {
        self.at_once(match reply.first_id(0) {
            Some(quantity) => Act { sql: Sql::CartLineUpdate, item, quantity: quantity + 1 },
            None => Act { sql: Sql::CartLineInsert, item, quantity: 1 },
        });
    }

    fn learn_cart(&mut self, reply: &Reply) {
        self.lines.clear();
        self.lines.extend(reply.rows.iter().filter_map(|row| {
            let item = row.first()?.as_id()?;
            Some(Line { item, quantity: row.get(1)?.as_id()?, cost: row.get(2)?.as_double()? })
        }));
        // Orders change the stock of their items in this order, so that two never wait for each other.
        self.lines.sort_unstable_by_key(|line| line.item);
    }

    /// The address that is there already, or a new one. It is the customer's own at registration, and where
    /// the order goes afterwards.
    fn learn_address(&mut self, reply: &Reply) {
        self.ship_address = reply.first_id(0).unwrap_or_else(|| {
            self.at_once(Sql::AddressInsert);
            self.store.ids.address.next()
        });
    }

    fn plan_order_lines(&mut self) {
        for index in (0..self.lines.len()).rev() {
            let Line { item, quantity, .. } = self.lines[index];
            self.at_once(Act { sql: Sql::ItemStock, item, quantity });
            self.at_once(Act { sql: Sql::OrderLineInsert, item, quantity });
        }
    }

    /// Takes what is ordered out of the stock, and fills it up where it runs low.
    fn learn_stock(&mut self, act: Act, reply: &Reply) {
        let stock = reply.first(0).and_then(Value::as_int).unwrap_or(0);
        let left = stock.saturating_sub(i64::try_from(act.quantity).unwrap_or(i64::MAX));
        let stock = if left < STOCK_LOW { left.saturating_add(STOCK_REFILL) } else { left };
        let quantity = u64::try_from(stock).unwrap_or(0);
        self.at_once(Act { sql: Sql::ItemStockUpdate, item: act.item, quantity });
    }

    /// A customer without orders sees none.
    fn learn_order(&mut self, reply: &Reply) {
        if let Some(order) = reply.first_id(0) {
            self.order = order;
            self.at_once(Sql::OrderLines);
            self.at_once(Sql::OrderDisplay);
        }
    }

    /// The items ordered together with this one; where they are fewer than five, the items after it.
    fn learn_co_ordered(&mut self, reply: &Reply) {
        let items = self.store.scale.items();
        let next = (1..).map(|offset| (self.item - 1 + offset) % items + 1);
        for (slot, item) in self.related.iter_mut().zip(ids(reply).chain(next)) {
            *slot = item;
        }
    }
}

/// First column of all rows.
fn ids(reply: &Reply) -> impl Iterator<Item = u64> {
    reply.rows.iter().filter_map(|row| row.first()?.as_id())
}
