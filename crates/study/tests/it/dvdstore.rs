//! DVD Store on real servers: its data, its orders, and what they leave.

use crate::load::{Script, plan};
use crate::sandbox::server;
use crate::shop::shop;
use evenkeel_core::Nanos;
use evenkeel_core::random::{Random, Seed};
use evenkeel_lab::data::dvdstore::Size;
use evenkeel_lab::data::tpcw::Date;
use evenkeel_lab::data::{DataError, DataSpec, Stamp, Via, check, populate, remove, verify};
use evenkeel_lab::explain::Executor;
use evenkeel_lab::load::{ArrivalPlan, LoadPlan, LoadProgress, LoadResult, Protocol, run};
use evenkeel_lab::workload::{Parameters, Workload, find};
use evenkeel_os::Stop;
use evenkeel_site::sandbox::Sandbox;
use evenkeel_site::server::{Control, Target};
use evenkeel_study::profile::orders_per_minute;
use std::sync::Arc;

/// 2,000 customers, 1,200 orders, 3,200 products.
fn size() -> Size {
    Size::new(1).unwrap()
}

fn tiny(via: Via) -> DataSpec {
    DataSpec { set: size().into(), seed: Seed(3), today: Some(Date::new(2026, 1, 15)), via, threads: 2 }
}

fn fill(target: &Target, via: Via) -> Stamp {
    populate(target, &tiny(via), &Stop::default(), &mut |_| {}).unwrap()
}

fn store(sandbox: &Sandbox) -> Control {
    let target = Target { database: Some("store".to_owned()), ..sandbox.target() };
    fill(&target, Via::Load);
    Control::connect(&target).unwrap()
}

fn number(control: &mut Control, sql: &str) -> i64 {
    let text = control.query_value(sql).unwrap().unwrap();
    text.parse().unwrap_or_else(|_| panic!("{sql}: {text}"))
}

fn workload() -> Arc<dyn Workload> {
    find("dvdstore", size()).unwrap()
}

/// The load that `change` makes of eight closed clients for two seconds.
fn load(
    control: &mut Control,
    stop: &Stop,
    change: impl FnOnce(&mut LoadPlan),
    progress: &mut dyn FnMut(LoadProgress),
) -> LoadResult {
    let clients = ArrivalPlan::Closed { clients: 8, think: Some(Nanos::ZERO) };
    let mut plan = LoadPlan {
        workload: workload(),
        warm_up: Nanos::ZERO,
        measure: Nanos::from_secs(2),
        ..plan(control.target().clone(), Script::new(&[]), clients)
    };
    change(&mut plan);
    run(&plan, stop, progress).unwrap()
}

const REFERENCES: &str = "SELECT COUNT(*) FROM information_schema.referential_constraints \
                          WHERE constraint_schema = DATABASE()";

#[test]
fn every_way_in_gives_the_same_store_with_its_keys() {
    let shop = shop();
    let (mut inserted, mut loaded) = (shop.empty("ds_inserted"), shop.empty("ds_loaded"));
    let by_insert = fill(inserted.target(), Via::Insert);
    let by_load = fill(loaded.target(), Via::Load);
    assert_eq!(by_insert.tables, by_load.tables);
    assert_eq!(verify(loaded.target(), None).unwrap(), by_load);
    assert_eq!(check(&mut loaded, &tiny(Via::Load)).unwrap(), by_load);
    for control in [&mut inserted, &mut loaded] {
        assert_eq!(number(control, REFERENCES), 3);
        let indexes = "SELECT COUNT(DISTINCT table_name, index_name) FROM information_schema.statistics \
                       WHERE table_schema = DATABASE() AND table_name <> 'evenkeel_stamp' AND index_name <> 'PRIMARY'";
        // Two unique, two for references, two plain and two full-text ones of products.
        assert_eq!(number(control, indexes), 8);
    }
    remove(loaded.target(), None).unwrap();
    assert_eq!(
        number(&mut loaded, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"),
        0
    );
    let larger = DataSpec { set: Size::SMALL.into(), ..tiny(Via::Insert) };
    let refused = populate(inserted.target(), &larger, &Stop::default(), &mut |_| {});
    let Err(DataError::Differs { differences, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(differences, ["megabytes 1 instead of 10", "products 3200 instead of 10000"]);
}

/// Units in stock, units sold, units in lines of orders, and orders.
fn books(control: &mut Control) -> [i64; 4] {
    [
        "SELECT SUM(QUAN_IN_STOCK) FROM INVENTORY",
        "SELECT SUM(SALES) FROM INVENTORY",
        "SELECT SUM(QUANTITY) FROM ORDERLINES",
        "SELECT COUNT(*) FROM ORDERS",
    ]
    .map(|sql| number(control, sql))
}

/// Each query counts orders of the run that are not as they should be.
const BROKEN_ORDERS: &[&str] = &[
    "ORDERS O WHERE NOT EXISTS (SELECT 1 FROM ORDERLINES L WHERE L.ORDERID = O.ORDERID)",
    "ORDERS WHERE TOTALAMOUNT <> NETAMOUNT + TAX OR ABS(TAX - NETAMOUNT * 0.0825) > 0.0051",
    "ORDERS O WHERE ORDERID > 1200 AND NETAMOUNT <> (SELECT SUM(L.QUANTITY * P.PRICE) FROM ORDERLINES L \
     JOIN PRODUCTS P ON P.PROD_ID = L.PROD_ID WHERE L.ORDERID = O.ORDERID)",
    "ORDERS O WHERE (SELECT COUNT(*) FROM CUST_HIST H WHERE H.ORDERID = O.ORDERID AND H.CUSTOMERID = O.CUSTOMERID) \
     <> (SELECT COUNT(*) FROM ORDERLINES L WHERE L.ORDERID = O.ORDERID)",
    "INVENTORY WHERE QUAN_IN_STOCK < 0",
];

fn completed(load: &LoadResult, step: &str) -> u64 {
    load.steps.iter().find(|result| result.name == step).unwrap().completed
}

#[test]
fn closed_and_open_orders_leave_books_that_agree() {
    let shop = shop();
    let mut control = shop.empty("ds_books");
    fill(control.target(), Via::Load);
    let closed = ArrivalPlan::Closed { clients: 8, think: Some(Nanos::from_millis(5)) };
    for (arrivals, protocol) in [(closed, Protocol::Prepared), (ArrivalPlan::Poisson(40.0), Protocol::Text)] {
        let before = books(&mut control);
        let plan = |plan: &mut LoadPlan| (plan.arrivals, plan.protocol) = (arrivals.clone(), protocol);
        let load = load(&mut control, &Stop::default(), plan, &mut |_| {});
        let after = books(&mut control);
        let counts = &load.counts;
        // At least one of each closed client.
        assert!(
            counts.completed >= 8 && counts.completed == counts.arrivals,
            "{counts:?} {:?}",
            load.error_texts
        );
        let units = after[2] - before[2];
        assert_eq!((before[0] - after[0], after[1] - before[1]), (units, units), "{before:?} {after:?}");
        // All that was ordered and not rolled back is there: nothing else writes, and there is no warm-up.
        assert_eq!((after[3] - before[3]) as u64, counts.completed - load.rolled_back);
        for rule in BROKEN_ORDERS {
            assert_eq!(number(&mut control, &format!("SELECT COUNT(*) FROM {rule}")), 0, "{rule}");
        }
        let entered = completed(&load, "login") + completed(&load, "newcustomer");
        assert_eq!((entered, completed(&load, "purchase")), (counts.completed, counts.completed));
        assert!(completed(&load, "browse") >= counts.completed);
        let rate = orders_per_minute(&load).unwrap();
        assert!(rate.lowest <= rate.mean && rate.mean <= rate.highest, "{rate:?}");
    }
    let new = number(&mut control, "SELECT COUNT(*) FROM CUSTOMERS WHERE USERNAME LIKE 'newuser%'");
    assert_eq!(new, number(&mut control, "SELECT COUNT(*) - 2000 FROM CUSTOMERS"));
    assert!(new > 0);
}

#[test]
fn orders_out_of_stock_are_rolled_back_and_no_failures() {
    let shop = shop();
    let mut control = shop.empty("ds_empty");
    fill(control.target(), Via::Load);
    control.exec("UPDATE INVENTORY SET QUAN_IN_STOCK = 0").unwrap();
    let before = books(&mut control);
    let load = load(&mut control, &Stop::default(), |_| {}, &mut |_| {});
    assert!(load.counts.completed > 0 && load.counts.failed.is_empty(), "{:?}", load.counts);
    assert_eq!(
        (load.rolled_back, completed(&load, "purchase")),
        (load.counts.completed, load.counts.completed)
    );
    assert_eq!(books(&mut control), before);
    assert_eq!(number(&mut control, "SELECT COUNT(*) FROM CUST_HIST H WHERE H.ORDERID > 1200"), 0);
}

/// Rows that each way to browse finds in so many orders.
fn found(control: &mut Control, name: &str, tries: usize) -> u64 {
    let workload = workload();
    let statements = workload.statements();
    let index = statements.iter().position(|statement| statement.name == name).unwrap();
    let executor = Executor::new(statements);
    let (mut random, mut parameters) = (Random::new(Seed(4)), Parameters::new());
    (0..tries)
        .map(|_| {
            assert!(workload.sample(index, &mut random, &mut parameters));
            executor.execute(control, index, &parameters).unwrap().row_count
        })
        .sum()
}

#[test]
fn products_are_found_in_full_text() {
    for engine in ["InnoDB", "MyISAM"] {
        let (_home, sandbox) = server(&[("default_storage_engine", engine)]);
        let mut control = store(&sandbox);
        let there = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() \
                     AND table_name = 'PRODUCTS' AND engine = @@default_storage_engine";
        assert_eq!(number(&mut control, there), 1, "{engine}");
        for name in ["dvdstore.browse_actor", "dvdstore.browse_title"] {
            // A title is always there; an actor of 3,200 has 8 of 40,000 names, but each half many more.
            let rows = found(&mut control, name, 50);
            assert!(rows >= 50, "{engine} {name}: {rows}");
        }
    }
}

#[test]
fn a_purchase_that_waits_too_long_for_a_lock_is_tried_again() {
    let (_home, sandbox) = server(&[("innodb_lock_wait_timeout", "1")]);
    let mut control = store(&sandbox);
    let rollbacks = |control: &mut Control| {
        let sql = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Com_rollback'";
        number(control, sql)
    };
    let before = rollbacks(&mut control);
    let mut holder = Some(Control::connect(control.target()).unwrap());
    let locked = holder.as_mut().unwrap();
    locked.exec("BEGIN").unwrap();
    locked.query("SELECT COUNT(*) FROM INVENTORY FOR UPDATE").unwrap();
    let mut watcher = Control::connect(control.target()).unwrap();
    let stop = Stop::default();
    let plan = |plan: &mut LoadPlan| {
        plan.arrivals = ArrivalPlan::Closed { clients: 1, think: Some(Nanos::ZERO) };
        plan.measure = Nanos::from_secs(60);
    };
    let load = load(&mut control, &stop, plan, &mut |progress| {
        if rollbacks(&mut watcher) > before {
            holder = None;
        }
        if progress.completed > 0 {
            stop.set();
        }
    });
    assert!(load.tried_again > 0 && load.counts.failed.is_empty(), "{} {:?}", load.tried_again, load.counts);
    assert!(load.counts.completed > 0 && load.rolled_back < load.counts.completed);
    let books = "SELECT COUNT(*) FROM ORDERS O WHERE NOT EXISTS \
                 (SELECT 1 FROM ORDERLINES L WHERE L.ORDERID = O.ORDERID)";
    assert_eq!(number(&mut control, books), 0);
}
