//! Plans of a real server.

use crate::shop::{scale, shop};
use evenkeel_lab::explain::{Effort, PlanReport, explain};
use evenkeel_lab::workload::user::ColumnReader as _;
use evenkeel_lab::workload::{Class, Value, find};
use evenkeel_os::stop::Stop;
use evenkeel_site::server::Control;

fn plans(control: &mut Control, name: &str) -> Vec<PlanReport> {
    let explained =
        explain(control, &*find(name, scale()).unwrap(), &Effort::default(), &Stop::default()).unwrap();
    assert_eq!(explained.refused, []);
    explained.plans
}

#[test]
fn the_studys_statements_have_the_classes_that_they_stand_for() {
    let shop = shop();
    let mut control = shop.populated("classes");
    for (name, class, reason) in [
        ("tpcw.simple", Class::Simple, None),
        ("tpcw.product_detail", Class::Simple, None),
        ("tpcw.promotion", Class::Simple, None),
        ("tpcw.complex", Class::Complex, Some("filesort")),
        ("tpcw.best_sellers", Class::Complex, Some("temporary table")),
        ("tpcw.write", Class::Write, None),
        ("tpcw.item_update", Class::Write, None),
    ] {
        let reports = plans(&mut control, name);
        let [report] = &reports[..] else { panic!("{reports:?}") };
        assert_eq!(report.class, class, "{report:#?}");
        assert!(
            reason.is_none_or(|reason| report.reasons.iter().any(|found| found == reason)),
            "{report:#?}"
        );
        assert_eq!(report.reasons.is_empty(), reason.is_none(), "{report:#?}");
        assert!(!report.rows.is_empty() && report.json.starts_with('{') && !report.sample.contains(" ?"));
        assert_eq!(report.measured.is_some(), class != Class::Write, "{report:#?}");
    }
}

#[test]
fn rows_read_are_counted_exactly() {
    let shop = shop();
    let mut control = shop.empty("counted");
    control.exec("CREATE TABLE t (a INT PRIMARY KEY, b INT)").unwrap();
    control.exec("INSERT INTO t SELECT seq, seq FROM seq_1_to_500").unwrap();
    let statement = evenkeel_lab::workload::user::StatementDefinition {
        name: "scan".into(),
        sql: "SELECT SUM(b) FROM t".into(),
        ..Default::default()
    };
    let definition = evenkeel_lab::workload::user::Definition {
        name: "own".into(),
        statements: vec![statement],
        transactions: Vec::new(),
    };
    let workload = evenkeel_lab::workload::user::UserWorkload::new(&definition, &mut control).unwrap();
    let reports = explain(&mut control, &workload, &Effort::default(), &Stop::default()).unwrap().plans;
    let measured = reports[0].measured.as_ref().unwrap();
    // 500 rows and the end of the table.
    assert_eq!(measured.rows_read, 501.0, "{measured:?}");
    assert_eq!(reports[0].reasons, ["full scan of t"]);
    assert_eq!(reports[0].class, Class::Complex);
    // How many the server thinks that it will read is an estimate, which changes by itself: what counts is that it is told.
    assert_eq!(reports[0].rows[0].rows, reports[0].rows_examined.to_string());
}

#[test]
fn a_mix_names_its_heavy_hitters_and_leaves_the_database_as_it_was() {
    let shop = shop();
    let mut control = shop.populated("hitters");
    let tables = "item, orders, order_line, cc_xacts, customer, address, shopping_cart, shopping_cart_line";
    let checksum = |control: &mut Control| control.query(&format!("CHECKSUM TABLE {tables}")).unwrap();
    let before = checksum(&mut control);
    let reports = plans(&mut control, "tpcw.browsing");
    assert_eq!(checksum(&mut control), before);
    let shares: Vec<f64> = reports.iter().filter_map(|report| report.share).collect();
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9 && shares.is_sorted_by(|a, b| a >= b));
    let weight = |name: &str| reports.iter().find(|report| report.statement == name).unwrap().weight;
    // Two of nine pages have no promotion; three of ten greet customers, of whom four in five are known.
    assert!((0.6..0.85).contains(&weight("tpcw.promotion")), "{}", weight("tpcw.promotion"));
    assert!((0.15..0.32).contains(&weight("tpcw.customer_name")), "{}", weight("tpcw.customer_name"));
    // By rows, which no other load on the machine changes, as their times.
    let rows = |report: &PlanReport| {
        report.measured.as_ref().map_or(0.0, |measured| measured.rows_read * report.weight)
    };
    let mut by_rows: Vec<&PlanReport> = reports.iter().collect();
    by_rows.sort_by(|a, b| rows(b).total_cmp(&rows(a)));
    let heaviest: Vec<&str> = by_rows.iter().take(4).map(|report| report.statement.as_str()).collect();
    assert!(heaviest.contains(&"tpcw.best_sellers"), "{heaviest:?}");
}

#[test]
fn values_of_a_column_come_from_the_whole_table_whichever_index_it_has() {
    let shop = shop();
    let mut control = shop.empty("whole");
    control.exec("CREATE TABLE calls (id INT PRIMARY KEY, day INT, KEY (day))").unwrap();
    control.exec("INSERT INTO calls SELECT seq, 50000 - seq FROM seq_1_to_50000").unwrap();
    let found = control.read_column("calls", "day", Some(1_000)).unwrap();
    let numbers = found.iter().filter_map(|value| match value {
        Value::Int(number) => Some(*number),
        _ => None,
    });
    let (low, high) = numbers.fold((i64::MAX, 0), |(low, high), one| (low.min(one), high.max(one)));
    assert!(found.len() == 1_000 && low < 1_000 && high > 49_000, "{}: {low} to {high}", found.len());
}
