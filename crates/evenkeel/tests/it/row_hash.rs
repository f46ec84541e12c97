//! One number for the rows of a result, by real servers: the same from each of them, in text and in binary.

use crate::left_out::left_out;
use crate::servers::root;
use evenkeel_lab::replay::RowHash;
use evenkeel_os::Stop;
use evenkeel_site::sandbox::{Sandbox, SandboxSpec};
use evenkeel_site::server::Control;
use evenkeel_wire::Row;

const TABLE: &str = "CREATE TABLE test.every (id INT(5) UNSIGNED ZEROFILL PRIMARY KEY, big BIGINT UNSIGNED, small TINYINT, \
                     price DECIMAL(20,4), one FLOAT, two DOUBLE, day DATE, at DATETIME(3), stamp TIMESTAMP NULL, span TIME(6), \
                     born YEAR, flags BIT(12), word VARCHAR(20) CHARACTER SET utf8mb4, raw VARBINARY(9), kind ENUM('a','b'), \
                     size SET('x','y'), doc JSON, note TEXT)";
const ROWS: &str = "INSERT INTO test.every VALUES (7, 18446744073709551615, -5, 12.5, 0.1, 0.1, '2026-02-03', \
                    '2026-02-03 04:05:06.700', '2026-02-03 04:05:06', '-26:03:04.000120', 2026, b'101', 'é', x'00ff', 'b', 'x,y', \
                    '{\"a\": 1}', ''), (8, 0, 0, -0.0001, 3.4e38, 1.7e208, '1000-01-01', '1000-01-01', NULL, '00:00:00', 1901, \
                    b'0', '', '', 'a', '', '[]', NULL), (9, 1, 127, 123456789.1234, 16777217, 123456789.123456789, NULL, NULL, \
                    NULL, '838:59:59', 0, NULL, NULL, NULL, NULL, NULL, NULL, 'n')";
/// What is asked of the table, one at a time.
const COLUMNS: &str = "*;id;big;small;price;one;two;day;at;stamp;span;born;flags;word;raw;kind;size;note;COUNT(*);AVG(big);\
                       SUM(price);AVG(two) * 3;SUM(one);MAX(at);MIN(span);id / 3;born + 0;CONCAT(two);NULL";

/// Of the answers to all questions, in text and in binary.
fn hashes(program: Option<&str>) -> Vec<(&'static str, [u64; 2])> {
    let home = tempfile::tempdir().expect("a temporary directory");
    let program = program.map(|program| root().join(program));
    let spec = SandboxSpec { server_binary: program, ..SandboxSpec::new(home.path(), "rows") };
    let sandbox = Sandbox::up(&spec, &Stop::default(), &mut |_| {}).expect("a server");
    let mut control = Control::connect(&sandbox.target()).expect("a session");
    for sql in ["SET sql_mode = '', time_zone = '+00:00'", "CREATE DATABASE IF NOT EXISTS test", TABLE, ROWS]
    {
        control.exec(sql).expect(sql);
    }
    let mut of = |column: &'static str| {
        let sql = format!("SELECT {column} FROM test.every GROUP BY id");
        let (mut text, mut binary) = (RowHash::new(), RowHash::new());
        control.run(&sql, Some(&mut |row: &Row<'_>| text.row(row))).expect(&sql);
        control.execute(&sql, &[], Some(&mut |row: &Row<'_>| binary.row(row))).expect(&sql);
        (column, [text.finish(), binary.finish()])
    };
    COLUMNS.split(';').map(&mut of).collect()
}

#[test]
fn the_same_rows_have_one_number_on_each_server_in_text_and_in_binary() {
    let own = hashes(None);
    let differ: Vec<_> = own.iter().filter(|(_, [text, binary])| text != binary || *text == 0).collect();
    assert!(differ.is_empty(), "text and binary: {differ:?}");
    for program in ["mariadb-11.8/usr/sbin/mariadbd", "mysql-9.7/usr/sbin/mysqld"] {
        if !root().join(program).exists() {
            left_out(format!("{program} is missing: make servers"));
            continue;
        }
        let differ: Vec<_> =
            hashes(Some(program)).into_iter().zip(&own).filter(|(one, other)| one != *other).collect();
        assert!(differ.is_empty(), "{program}: {differ:?}");
    }
}
