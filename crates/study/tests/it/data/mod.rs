//! Data sets on a real server: ways in, value rules, stamps and snapshots.

use crate::sandbox::{server, settings, spec, up};
use evenkeel_core::random::Seed;
use evenkeel_lab::data::tpcw::{self, Date, Scale};
use evenkeel_lab::data::{
    DataError, DataProgress, DataSpec, Stamp, Table, Via, check, populate, remove, tables_size, verify,
};
use evenkeel_os::Stop;
use evenkeel_site::copy::{CopyError, Snapshot};
use evenkeel_site::sandbox::Sandbox;
use evenkeel_site::server::{Control, Target};

const TODAY: Date = Date::new(2026, 1, 15);

/// About 22,000 rows.
fn tiny(via: Via) -> DataSpec {
    let set = Scale::new(1, 200).unwrap().into();
    DataSpec { set, seed: Seed(7), today: Some(TODAY), via, threads: 2 }
}

/// About two million rows: more than goes in before anybody sees the first of them, however long a thread has to
/// wait for its turn.
fn large(via: Via) -> DataSpec {
    DataSpec { set: Scale::new(100, 200).unwrap().into(), ..tiny(via) }
}

fn database(sandbox: &Sandbox, name: &str) -> Target {
    Target { database: Some(name.to_owned()), ..sandbox.target() }
}

fn fill(target: &Target, spec: &DataSpec) -> Result<Stamp, DataError> {
    populate(target, spec, &Stop::default(), &mut |_| {})
}

/// Populates and asks to stop when so many rows have gone in.
fn fill_partly(target: &Target, spec: &DataSpec, rows: u64) -> Result<Stamp, DataError> {
    let stop = Stop::default();
    populate(target, spec, &stop, &mut |progress: DataProgress| {
        if progress.rows_done >= rows {
            stop.set();
        }
    })
}

fn control(target: &Target) -> Control {
    Control::connect(target).unwrap()
}

fn value(control: &mut Control, sql: &str) -> String {
    control.query_value(sql).unwrap().unwrap_or_default()
}

fn found(target: &Target, spec: &DataSpec) -> Result<Stamp, DataError> {
    check(&mut control(target), spec)
}

#[test]
fn all_ways_in_give_the_same_rows_on_any_number_of_threads() {
    let (_home, sandbox) = server(&[]);
    let inserted = fill(&database(&sandbox, "inserted"), &tiny(Via::Insert)).unwrap();
    for (name, threads) in [("loaded_1", 1), ("loaded_4", 4)] {
        let target = database(&sandbox, name);
        let stamp = fill(&target, &DataSpec { threads, ..tiny(Via::Load) }).unwrap();
        assert_eq!(stamp.tables, inserted.tables, "{name}");
        assert_eq!(stamp.checksum(), inserted.checksum());
        assert_eq!(verify(&target, None).unwrap(), stamp);
    }
    let target = database(&sandbox, "inserted");
    assert_eq!(verify(&target, None).unwrap(), inserted);
    for via in [Via::Script, Via::Shuffled, Via::Dump] {
        assert_eq!(
            fill(&database(&sandbox, via.word()), &tiny(via)).unwrap().tables,
            inserted.tables,
            "{via}"
        );
    }
    // Another seed has other rows in every table but the fixed one and the empty ones.
    let other = fill(&database(&sandbox, "other"), &DataSpec { seed: Seed(8), ..tiny(Via::Load) }).unwrap();
    for ((table, one), (_, two)) in inserted.tables.iter().zip(&other.tables) {
        let fixed = matches!(
            table,
            Table::Tpcw(tpcw::Table::Country | tpcw::Table::ShoppingCart | tpcw::Table::ShoppingCartLine)
        );
        assert_eq!(one == two, fixed, "{table}");
    }
}

/// Tables with as many rows as they have.
const ROWS: &str = "address 5760 author 50 country 92 customer 2880 item 200 orders 2592 cc_xacts 2592 shopping_cart 0 \
    shopping_cart_line 0";

/// Queries whose answer is known or lies between two numbers, about five standard deviations wide.
const COUNTS: &[(&str, f64, f64)] = &[
    ("SELECT COUNT(*) / 2592 FROM order_line", 2.86, 3.13),
    ("SELECT COUNT(DISTINCT ol_id) FROM order_line", 5.0, 5.0),
    ("SELECT COUNT(DISTINCT addr_co_id) FROM address", 92.0, 92.0),
    ("SELECT AVG(LENGTH(addr_street1)) FROM address", 27.0, 28.0),
    ("SELECT COUNT(DISTINCT i_subject) FROM item", 23.0, 24.0),
    ("SELECT COUNT(DISTINCT i_a_id) FROM item", 50.0, 50.0),
    ("SELECT AVG(c_discount) FROM customer", 0.236, 0.264),
    ("SELECT AVG(ol_qty) FROM order_line", 145.0, 156.0),
    ("SELECT AVG(o_sub_total) FROM orders", 4_720.0, 5_290.0),
    ("SELECT COUNT(DISTINCT c_since) FROM customer", 690.0, 730.0),
    ("SELECT co_id FROM country WHERE co_name = 'United States' AND co_exchange = 1", 1.0, 1.0),
    ("SELECT c_id FROM customer WHERE c_uname = 'OGALRIRE'", 1_234.0, 1_234.0),
    (
        "SELECT COUNT(DISTINCT index_name) FROM information_schema.statistics \
      WHERE table_schema = DATABASE() AND table_name = 'item'",
        4.0,
        4.0,
    ),
    (
        "SELECT COUNT(DISTINCT table_name, index_name) FROM information_schema.statistics \
      WHERE table_schema = DATABASE() AND index_name <> 'PRIMARY'",
        13.0,
        13.0,
    ),
];

#[test]
fn rows_are_as_many_as_tpcw_wants_with_its_means_and_their_size_counts_indexes_too() {
    let (_home, sandbox) = server(&[]);
    let target = database(&sandbox, "tpcw");
    fill(&target, &tiny(Via::Load)).unwrap();
    let mut control = control(&target);
    let words: Vec<&str> = ROWS.split(' ').collect();
    for pair in words.chunks(2) {
        assert_eq!(value(&mut control, &format!("SELECT COUNT(*) FROM {}", pair[0])), pair[1], "{}", pair[0]);
    }
    for (sql, low, high) in COUNTS {
        let number: f64 = value(&mut control, sql).parse().unwrap();
        assert!((*low..=*high).contains(&number), "{sql}: {number}");
    }
    // 200 items of about 550 bytes and 50 authors of 370 in pages of 16 KiB, and four secondary indexes.
    let bytes = tables_size(&mut control, &["item", "author"], true).unwrap();
    assert!((7 * 16_384..40 * 16_384).contains(&bytes), "{bytes}");
    assert!(tables_size(&mut control, &["address"], true).unwrap() > bytes);
    let missing = tables_size(&mut control, &["item", "no_such"], true);
    assert!(matches!(&missing, Err(DataError::NoTable(table)) if table == "no_such"), "{missing:?}");
}

#[test]
fn a_set_that_was_cut_short_is_recognised_and_refused_until_it_is_removed() {
    let (_home, sandbox) = server(&[]);
    for via in [Via::Insert, Via::Load] {
        let target = database(&sandbox, via.word());
        let stopped = fill_partly(&target, &large(via), 1_500);
        assert!(matches!(stopped, Err(DataError::Stopped)), "{stopped:?}");
        assert!(matches!(found(&target, &large(via)), Err(DataError::HalfFinished { .. })));
        let refused = fill(&target, &large(via));
        assert!(matches!(refused, Err(DataError::HalfFinished { .. })), "{refused:?}");
        assert!(matches!(verify(&target, None), Err(DataError::HalfFinished { .. })));
        remove(&target, None).unwrap();
        assert!(matches!(found(&target, &tiny(via)), Err(DataError::Missing { .. })));
        fill(&target, &tiny(via)).unwrap();
        assert!(found(&target, &tiny(via)).is_ok());
    }
}

#[test]
fn other_data_are_named_and_left_alone() {
    let (_home, sandbox) = server(&[]);
    let target = database(&sandbox, "tpcw");
    for missing in [verify(&target, None).map(drop), remove(&target, None)] {
        assert!(matches!(missing, Err(DataError::Missing { .. })), "{missing:?}");
    }
    let stamp = fill(&target, &tiny(Via::Load)).unwrap();
    let wanted = DataSpec { seed: Seed(9), ..tiny(Via::Insert) };
    let refused = fill(&target, &wanted).unwrap_err();
    let text = "database tpcw holds another data set: seed 7 instead of 9, via load instead of insert";
    assert_eq!(refused.to_string(), text);
    assert!(refused.hint().is_some());
    assert_eq!(verify(&target, None).unwrap(), stamp);
    // Another day finds the set that is there.
    assert!(found(&target, &DataSpec { today: None, ..tiny(Via::Load) }).is_ok());
    // Changed rows are known by their mark, and without it by their content.
    let mut writer = control(&target);
    writer.exec("UPDATE item SET i_stock = i_stock + 1 WHERE i_id = 3").unwrap();
    assert!(matches!(verify(&target, None), Err(DataError::Content { table, .. }) if table == "item"));
    Stamp::mark_written(&mut writer).unwrap();
    assert!(matches!(found(&target, &tiny(Via::Load)), Err(DataError::Written { .. })));
    assert!(matches!(fill(&target, &tiny(Via::Load)), Err(DataError::Written { .. })));
    remove(&target, None).unwrap();
    assert_eq!(fill(&target, &tiny(Via::Dump)).unwrap().checksum(), stamp.checksum());

    let foreign = database(&sandbox, "shop");
    let anywhere = &mut control(&sandbox.target());
    anywhere.exec("CREATE DATABASE shop").unwrap();
    anywhere.exec("CREATE TABLE shop.item (i_id int PRIMARY KEY)").unwrap();
    for refused in [fill(&foreign, &tiny(Via::Load)).map(drop), remove(&foreign, None)] {
        assert!(matches!(&refused, Err(DataError::Foreign { table, .. }) if table == "item"), "{refused:?}");
    }
    assert_eq!(value(anywhere, "SELECT COUNT(*) FROM shop.item"), "0");
}

#[test]
fn two_processes_do_not_work_on_one_set() {
    let (_home, sandbox) = server(&[]);
    let target = database(&sandbox, "tpcw");
    let mut tried = false;
    let stop = Stop::default();
    let stamp = populate(&target, &tiny(Via::Load), &stop, &mut |_| {
        if !std::mem::replace(&mut tried, true) {
            let second = fill(&target, &tiny(Via::Load));
            assert!(matches!(second, Err(DataError::Busy { .. })), "{second:?}");
        }
    });
    assert!(tried && stamp.is_ok());
}

#[test]
fn a_snapshot_brings_a_server_back_to_the_rows_before_a_write_run() {
    let (home, sandbox) = server(&[]);
    let target = database(&sandbox, "tpcw");
    let stamp = fill(&target, &tiny(Via::Load)).unwrap();
    let data = sandbox.dir().join("data");
    let copy = home.path().join("copy");
    let running = Snapshot::take(&data, &copy);
    assert!(matches!(&running, Err(CopyError::ServerRunning(path)) if *path == data), "{running:?}");
    sandbox.down(&mut |_| {}).unwrap();
    let snapshot = Snapshot::take(&data, &copy).unwrap();

    let mut same = spec(home.path(), "data");
    same.settings.extend(settings(&[("local_infile", "ON")]));
    let sandbox = up(&same).unwrap();
    let target = Target { database: Some("tpcw".to_owned()), ..sandbox.target() };
    let mut writer = control(&target);
    writer.exec("DELETE FROM order_line WHERE ol_id = 1").unwrap();
    writer.exec("CREATE TABLE extra (id int PRIMARY KEY)").unwrap();
    assert!(verify(&target, None).is_err());
    drop(writer);
    sandbox.down(&mut |_| {}).unwrap();
    snapshot.restore().unwrap();

    let sandbox = up(&same).unwrap();
    let target = Target { database: Some("tpcw".to_owned()), ..sandbox.target() };
    assert_eq!(verify(&target, None).unwrap(), stamp);
    assert_eq!(value(&mut control(&target), "SHOW TABLES LIKE 'extra'"), "");
}
