//! Tables of a layout, and tables that are there already.

use super::*;
use crate::layout;

fn of(text: &str) -> crate::layout::LayoutFile {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.toml");
    std::fs::write(&path, text).unwrap();
    layout::read(&path).unwrap()
}

const CALLS: &str = "charset = 'latin1'\nkey = ['seq']\n[[field]]\nname = 'seq'\nwidth = 10\ntype = 'integer'\n\
    [[field]]\nname = 'who`s'\nwidth = 15\n[[field]]\nname = 'at'\nwidth = 14\ntype = 'time'\n\
    [[field]]\nname = 'day'\nwidth = 8\ntype = 'time'\nblank = 'refuse'\n[[field]]\nname = 'amount'\nwidth = 5\ntype = 'decimal'\n\
    [[field]]\nname = 'rest'\nwidth = 3\nskip = true\n[[field]]\nname = 'cause'\nwidth = 3\ntype = 'integer'\nblank = 'empty'\n";

fn calls(engine: Engine) -> Table {
    let index = vec![vec!["at".to_owned(), "day".to_owned()]];
    Table::of(&of(CALLS).layout, 0, "calls", engine, &index).unwrap()
}

#[test]
fn each_field_that_is_kept_has_a_column_that_holds_all_that_can_stand_in_it() {
    assert_eq!(
        calls(Engine::InnoDb).create_sql(),
        "CREATE TABLE `calls` (\n  `seq` BIGINT NOT NULL,\n  \
         `who``s` VARCHAR(15) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL,\n  `at` DATETIME NULL,\n  `day` DATE NOT NULL,\n  \
         `amount` DECIMAL(9,4) NULL,\n  `cause` VARCHAR(3) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL,\n  \
         PRIMARY KEY (`seq`),\n  INDEX (`at`, `day`)\n) ENGINE=InnoDB DEFAULT CHARACTER SET latin1 COLLATE latin1_bin"
    );
}

#[test]
fn indexes_that_come_after_are_those_that_were_left_out() {
    let innodb = calls(Engine::InnoDb);
    assert!(innodb.create_bare_sql().contains("PRIMARY KEY") && !innodb.create_bare_sql().contains("INDEX"));
    assert_eq!(innodb.add_indexes_sql().unwrap(), "ALTER TABLE `calls` ADD INDEX (`at`, `day`)");
    let aria = calls(Engine::Aria);
    assert!(!aria.create_bare_sql().contains("KEY") && aria.create_bare_sql().contains("TRANSACTIONAL=0"));
    assert_eq!(
        aria.add_indexes_sql().unwrap(),
        "ALTER TABLE `calls` ADD PRIMARY KEY (`seq`), ADD INDEX (`at`, `day`)"
    );
}

#[test]
fn a_key_that_may_be_null_is_an_index_and_an_index_over_nothing_is_refused() {
    let layout = of(&CALLS.replace("key = ['seq']", "key = ['at']")).layout;
    let nullable =
        of(&CALLS.replacen("'time'\n", "'time'\nblank = 'null'\n", 1).replace("['seq']", "['at']")).layout;
    assert_eq!(Table::of(&layout, 0, "t", Engine::InnoDb, &[]).unwrap().primary, ["at"]);
    let table = Table::of(&nullable, 0, "t", Engine::InnoDb, &[]).unwrap();
    assert_eq!((table.primary.len(), &table.indexes[0][0]), (0, &"at".to_owned()));
    let wrong = Table::of(&layout, 0, "t", Engine::InnoDb, &[vec!["nobody".to_owned()]]);
    assert!(wrong.unwrap_err().what.contains("an index names `nobody`"));
    let blank = Table::of(&layout, 0, "t ", Engine::InnoDb, &[]);
    assert!(blank.unwrap_err().what.contains("is no name of a table"));
}

fn column(name: &str, data_type: &str, characters: Option<u64>, digits: Option<(u64, u64)>) -> FoundColumn {
    FoundColumn {
        name: name.to_owned(),
        data_type: data_type.to_owned(),
        full_type: data_type.to_uppercase(),
        characters,
        digits,
        charset: characters.map(|_| "latin1".to_owned()),
        null: true,
        fills_itself: true,
    }
}

fn found() -> Found {
    let columns = vec![
        column("SEQ", "bigint", None, Some((19, 0))),
        column("who`s", "varchar", Some(15), None),
        column("at", "datetime", None, None),
        column("day", "date", None, None),
        column("amount", "decimal", None, Some((6, 2))),
        column("cause", "char", Some(3), None),
        column("stored", "timestamp", None, None),
    ];
    Found { name: "calls".to_owned(), kind: "BASE TABLE".to_owned(), engine: "MyISAM".to_owned(), columns }
}

#[test]
fn a_table_that_is_there_is_taken_unless_something_does_not_fit_which_is_named() {
    let table = calls(Engine::InnoDb);
    assert_eq!(found().check(&table), Ok(Engine::MyIsam));
    let problem = |change: &dyn Fn(&mut Found)| {
        let mut found = found();
        change(&mut found);
        found.check(&table).unwrap_err().to_string()
    };
    let narrow = problem(&|found| found.columns[1].characters = Some(14));
    assert_eq!(narrow, "field who`s has 15 bytes, and column calls.who`s is VARCHAR: it is too narrow");
    assert!(problem(&|found| found.columns[0].data_type = "int".to_owned()).contains("too large"));
    assert!(problem(&|found| found.columns[2].data_type = "date".to_owned()).contains("time of the day"));
    assert!(problem(&|found| found.columns[2].null = false).contains("NULL"));
    assert!(problem(&|found| found.columns[4].digits = Some((3, 1))).contains("too large"));
    assert!(problem(&|found| found.columns[1].charset = Some("ascii".to_owned())).contains("latin1"));
    assert!(problem(&|found| found.columns[6].fills_itself = false).contains("no default"));
    assert!(problem(&|found| drop(found.columns.remove(3))).contains("no column `day`"));
    assert!(problem(&|found| found.kind = "VIEW".to_owned()).contains("VIEW"));
    assert!(problem(&|found| found.engine = "MEMORY".to_owned()).contains("MEMORY"));
}

#[test]
fn values_stand_in_digits_that_every_mode_of_the_server_reads_alike() {
    assert_eq!((literal(b"a'\\"), literal(b"")), ("0x61275c".to_owned(), "''".to_owned()));
    assert!(
        calls(Engine::Aria)
            .load_sql()
            .contains("CHARACTER SET latin1 FIELDS TERMINATED BY 0x3b ESCAPED BY 0x5c")
    );
}
