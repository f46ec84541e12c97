//! Workloads against a real server, and their plans there.

use crate::shop::{scale, shop};
use evenkeel_core::random::{Random, Seed};
use evenkeel_lab::explain::{Effort, Executor, PlanReport, explain};
use evenkeel_lab::workload::tpcw::Database;
use evenkeel_lab::workload::user::{
    ColumnReader as _, Definition, Generator, ParameterDefinitions, StatementDefinition, UserWorkload,
};
use evenkeel_lab::workload::{Class, Client, Parameters, Value, Workload, catalog, find};
use evenkeel_os::Stop;
use evenkeel_site::server::Control;
use std::collections::BTreeMap;

/// Makes requests one after the other; returns how many of each kind, and of each statement how many rows
/// came back or were changed.
fn drive(
    control: &mut Control,
    workload: &dyn Workload,
    client: &mut dyn Client,
    requests: usize,
) -> (Vec<u64>, BTreeMap<String, u64>) {
    let mut random = Random::new(Seed(8));
    let executor = Executor::new(workload.statements());
    let mut kinds = vec![0; workload.kinds().len()];
    let mut rows = BTreeMap::new();
    let mut parameters = Parameters::new();
    for _ in 0..requests {
        kinds[client.begin(&mut random)] += 1;
        let mut reply = None;
        while let Some(index) = client.step(reply.as_ref(), &mut random, &mut parameters) {
            let answer = executor.execute(control, index, &parameters).unwrap();
            *rows.entry(workload.statements()[index].name.clone()).or_default() +=
                answer.row_count + answer.affected_rows;
            reply = Some(answer);
        }
        client.think(&mut random);
    }
    (kinds, rows)
}

fn count(control: &mut Control, sql: &str) -> u64 {
    control.query_value(sql).unwrap().unwrap().parse().unwrap()
}

#[test]
fn every_statement_of_the_catalog_runs_and_finds_rows() {
    let shop = shop();
    let mut control = shop.populated("catalog");
    // Made by interactions only: what they look for is not there by itself.
    let empty = "cart cart_line cart_line_update cart_line_delete cart_touch cart_clear address item_related_update login";
    for entry in catalog().into_iter().filter(|entry| entry.name.starts_with("tpcw.")) {
        let workload = find(entry.name, Database::read(scale(), &mut control).unwrap()).unwrap();
        let (_, rows) = drive(&mut control, &*workload, &mut *workload.client(0), 40);
        let found = rows.values().sum::<u64>();
        let is_empty = empty.split(' ').any(|name| entry.name == format!("tpcw.{name}"));
        assert!(found > 0 || is_empty, "{} finds nothing", entry.name);
    }
}

#[test]
fn every_interaction_of_every_mix_runs_by_walk_and_by_draw() {
    let shop = shop();
    let mut control = shop.populated("mixes");
    let mut seen = [0; 14];
    for name in ["tpcw.browsing", "tpcw.shopping", "tpcw.ordering"] {
        for closed in [false, true] {
            let database = Database::read(scale(), &mut control).unwrap();
            let workload = find(name, database).unwrap();
            let mut client = if closed { workload.closed_client(0) } else { workload.client(0) };
            let (kinds, rows) = drive(&mut control, &*workload, &mut *client, 600);
            seen.iter_mut().zip(&kinds).for_each(|(seen, kind)| *seen += kind);
            check_orders(&mut control, &rows, database.taken.order);
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
}

/// Orders have lines, a payment and a total, and their carts are empty.
fn check_orders(control: &mut Control, rows: &BTreeMap<String, u64>, taken: u64) {
    let made = rows.get("tpcw.order_insert").copied().unwrap_or(0);
    assert!(made > 0, "{rows:?}");
    assert_eq!(count(control, &format!("SELECT COUNT(*) FROM orders WHERE o_id > {taken}")), made);
    assert_eq!(count(control, &format!("SELECT COUNT(*) FROM cc_xacts WHERE cx_o_id > {taken}")), made);
    let complete = format!(
        "SELECT COUNT(DISTINCT o_id) FROM orders JOIN order_line ON ol_o_id = o_id \
         JOIN cc_xacts ON cx_o_id = o_id AND cx_xact_amt = o_total JOIN customer ON c_id = o_c_id \
         WHERE o_id > {taken} AND o_total > o_sub_total"
    );
    assert_eq!(count(control, &complete), made);
    assert!(count(control, "SELECT MIN(i_stock) FROM item") >= 1);
}

#[test]
fn an_open_write_load_really_inserts_also_in_a_second_run() {
    let shop = shop();
    let mut control = shop.populated("writes");
    let lines = count(&mut control, "SELECT COUNT(*) FROM order_line");
    for run in 1..=2 {
        let workload = find("tpcw.write", Database::read(scale(), &mut control).unwrap()).unwrap();
        for number in 0..4 {
            drive(&mut control, &*workload, &mut *workload.client(number), 250);
        }
        assert_eq!(count(&mut control, "SELECT COUNT(*) FROM order_line"), lines + run * 1_000);
    }
}

#[test]
fn searches_find_about_as_many_items_as_the_specification_means() {
    let shop = shop();
    let mut control = shop.populated("searches");
    for name in ["tpcw.search_title", "tpcw.search_author"] {
        let workload = find(name, scale()).unwrap();
        let (_, rows) = drive(&mut control, &*workload, &mut *workload.client(0), 100);
        let mean = rows[name] as f64 / 100.0;
        assert!((2.0..40.0).contains(&mean), "{name}: {mean}");
    }
}

#[test]
fn a_users_workload_reads_its_column_and_runs() {
    let shop = shop();
    let mut control = shop.empty("user");
    control.exec("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20))").unwrap();
    control.exec("INSERT INTO t VALUES (3, 'c'), (5, 'e'), (7, NULL)").unwrap();
    let statement = |name: &str, sql: &str, parameters| StatementDefinition {
        name: name.into(),
        sql: sql.into(),
        parameters,
        ..StatementDefinition::default()
    };
    let column = |column: &str| Generator::Column { table: "t".into(), column: column.into(), limit: 10 };
    let definition = Definition {
        name: "own".into(),
        statements: vec![
            statement(
                "by_a",
                "SELECT b FROM t WHERE a = ?",
                ParameterDefinitions::Positional(vec![column("a")]),
            ),
            statement("by_b", "SELECT a FROM t WHERE b = :b", {
                ParameterDefinitions::Named(BTreeMap::from([("b".into(), column("b"))]))
            }),
        ],
        transactions: Vec::new(),
    };
    let workload = UserWorkload::new(&definition, &mut control).unwrap();
    let mut parameters = Parameters::new();
    workload.sample(0, &mut Random::new(Seed(1)), &mut parameters);
    assert!(matches!(parameters[..], [Value::Int(3 | 5 | 7)]), "{parameters:?}");
    let (kinds, rows) = drive(&mut control, &workload, &mut *workload.client(0), 100);
    assert_eq!(kinds.iter().sum::<u64>(), 100);
    assert_eq!(rows.values().sum::<u64>(), 100, "every request finds its row: {rows:?}");

    let mut wrong = definition;
    wrong.statements[0].parameters = ParameterDefinitions::Positional(vec![column("zz")]);
    let error = UserWorkload::new(&wrong, &mut control).unwrap_err().to_string();
    assert!(error.contains("cannot read the values of t.zz: "), "{error}");
}

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
