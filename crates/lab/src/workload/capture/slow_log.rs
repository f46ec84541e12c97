//! Statements of a slow log, as MariaDB and MySQL write it.

use super::Group;
use crate::replay::log::{Entry, Lines, Reader, SlowLog};
use crate::workload::Value;
use crate::workload::sql::{normal, parse};
use crate::workload::user::ParameterDefinitions;
use evenkeel_core::random::{Random, Seed};
use evenkeel_os::Stop;
use std::collections::HashMap;
use std::io::{self, BufRead};

/// Longest statement that is taken.
const TEXT_MAX: usize = 64 << 10;
/// Most different statements.
const GROUPS_MAX: usize = 2_000;
/// Most texts that are kept of a statement.
const TEXTS_MAX: usize = 8;
/// Most rows of values that are kept of a text, and most bytes of them.
const ROWS_MAX: usize = 200;
const ROW_BYTES_MAX: usize = 1_024;

/// What was executed, by statement; `None` where the input has no entry of a slow log. The memory that it takes is bounded,
/// whatever the size of the log.
pub fn read_slow_log(input: &mut dyn BufRead, stop: &Stop) -> io::Result<Option<(String, Vec<Group>)>> {
    let (mut log, mut entries) = (Log::default(), SlowLog::new(TEXT_MAX));
    let mut lines = Lines::new(input, TEXT_MAX);
    while let Some(line) = lines.read()?.filter(|_| !stop.is_set()) {
        entries.line(&line, &|_| false).iter().for_each(|entry| log.take(entry));
    }
    entries.finish().iter().for_each(|entry| log.take(entry));
    Ok((!log.groups.is_empty()).then(|| log.groups()))
}

#[derive(Default)]
struct Seen {
    group: Group,
    database: String,
    texts: Vec<Text>,
}

/// A statement with lists of one length, and with the same literals where these are no parameters.
#[derive(Default)]
struct Text {
    sql: String,
    executions: u64,
    rows: Vec<Vec<Value>>,
}

struct Log {
    groups: HashMap<(String, String), Seen>,
    random: Random,
}

impl Default for Log {
    fn default() -> Self {
        let random = Random::new(Seed(1).child("slow log"));
        Self { groups: HashMap::new(), random }
    }
}

impl Log {
    fn take(&mut self, entry: &Entry) {
        if entry.text.bytes.starts_with(b"# administrator command: ") {
            return;
        }
        let text = std::str::from_utf8(&entry.text.bytes).ok().filter(|_| !entry.text.is_too_long);
        let (normal, mut problem) = match text {
            Some(text) => (normal(text), None),
            None => (normal("-"), Some("it is longer than 64 KiB, or not UTF-8".to_owned())),
        };
        let database = String::from_utf8_lossy(&entry.database).into_owned();
        let mut key = (database.clone(), normal.digest);
        if self.groups.len() >= GROUPS_MAX && !self.groups.contains_key(&key) {
            key = Default::default();
            problem = Some(format!("only {GROUPS_MAX} different statements are counted one by one"));
        }
        let seen = self.groups.entry(key).or_insert_with(|| Seen {
            group: Group { problem, ..Group::default() },
            database,
            texts: Vec::new(),
        });
        seen.group.executions += 1;
        seen.group.time_s += entry.took.unwrap_or_default().0 as f64 / 1e9;
        seen.keep(&normal.sql, normal.values, &mut self.random);
    }

    /// The busiest database, and all groups; statements of other databases are marked.
    fn groups(self) -> (String, Vec<Group>) {
        let mut times: HashMap<String, f64> = HashMap::new();
        for seen in self.groups.values().filter(|seen| !seen.database.is_empty()) {
            *times.entry(seen.database.clone()).or_default() += seen.group.time_s;
        }
        let busiest =
            times.into_iter().max_by(|one, other| one.1.total_cmp(&other.1).then(other.0.cmp(&one.0)));
        let busiest = busiest.map(|(name, _)| name).unwrap_or_default();
        let groups = self.groups.into_values().map(|seen| seen.done(&busiest)).collect();
        (busiest, groups)
    }
}

impl Seen {
    /// Each distinct row of a text has the same chance to be kept.
    fn keep(&mut self, sql: &str, row: Vec<Value>, random: &mut Random) {
        if self.texts.len() < TEXTS_MAX && self.texts.iter().all(|text| text.sql != sql) {
            self.texts.push(Text { sql: sql.to_owned(), ..Text::default() });
        }
        let Some(text) = self.texts.iter_mut().find(|text| text.sql == sql) else { return };
        text.executions += 1;
        if row.is_empty() || bytes(&row) > ROW_BYTES_MAX || text.rows.contains(&row) {
            return;
        }
        if text.rows.len() < ROWS_MAX {
            return text.rows.push(row);
        }
        let place = random.uniform(0, text.executions - 1) as usize;
        if let Some(kept) = text.rows.get_mut(place) {
            *kept = row;
        }
    }

    /// With the most frequent of its texts, of those whose values are known; of several the first.
    fn done(mut self, busiest: &str) -> Group {
        let best = self.texts.into_iter().rev().max_by_key(|text| (!text.rows.is_empty(), text.executions));
        let Text { sql, executions, rows } = best.unwrap_or_default();
        (self.group.sql, self.group.differing) = (sql, self.group.executions - executions);
        if !self.database.is_empty() && self.database != busiest {
            self.group.problem.get_or_insert(format!("it uses database {}, not {busiest}", self.database));
        }
        if rows.is_empty() && !parse(&self.group.sql).placeholders.is_empty() {
            self.group.problem.get_or_insert("its values are longer than 1 KiB".to_owned());
        }
        if !rows.is_empty() {
            self.group.parameters = ParameterDefinitions::Rows(rows);
        }
        self.group
    }
}

fn bytes(row: &[Value]) -> usize {
    row.iter().map(|value| if let Value::Text(text) = value { text.len() } else { 8 }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::capture::captured;

    const MARIADB: &str = "\
/usr/sbin/mariadbd, Version: 10.11.19-MariaDB-log (Debian 12). started with:
Tcp port: 3306  Unix socket: /run/s.sock
Time		    Id Command	Argument
# Time: 261127 15:04:43
# User@Host: root[root] @ localhost []
# Thread_id: 4  Schema: shop  QC_hit: No
# Query_time: 0.500000  Lock_time: 0.000069  Rows_sent: 1  Rows_examined: 1
# Rows_affected: 0  Bytes_sent: 324
use `shop`;
SET timestamp=1795791883;
select *
# no header
from orders where id=5 and a = ';
';
# User@Host: root[root] @ localhost []
# Thread_id: 4  Schema: shop  QC_hit: No
# Query_time: 0.500000  Lock_time: 0.000069  Rows_sent: 1  Rows_examined: 1
SET timestamp=1795791883;
select * from orders where id=7 and a = 'x';
# User@Host: root[root] @ localhost []
# Thread_id: 5  Schema: other  QC_hit: No
# Query_time: 0.100000  Lock_time: 0.000069  Rows_sent: 1  Rows_examined: 1
SET timestamp=1795791883;
select 1;
/usr/sbin/mariadbd, Version: 10.11.19-MariaDB-log (Debian 12). started with:
Tcp port: 3306  Unix socket: /run/s.sock
Time		    Id Command	Argument
";
    const MYSQL: &str = "\
# Time: 2026-11-27T15:04:43.123456Z
# User@Host: root[root] @ localhost []  Id:     8
# Query_time: 0.250000  Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 1
use shop;
SET timestamp=1795791883;
UPDATE orders SET a = 2 WHERE id = 1;
# Time: 2026-11-27T15:04:44.123456Z
# User@Host: root[root] @ localhost []  Id:     8
# Query_time: 0.750000  Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 1
SET timestamp=1795791884;
# administrator command: Quit;
";

    fn read(text: &str) -> Vec<Group> {
        read_slow_log(&mut text.as_bytes(), &Stop::default()).unwrap().unwrap().1
    }

    #[test]
    fn entries_of_either_server_are_grouped_by_what_they_ask() {
        let found = captured("shop", read(MARIADB), 10);
        let statement = &found.definition.statements[0];
        assert_eq!((found.definition.statements.len(), statement.name.as_str()), (1, "select_orders"));
        assert_eq!(
            (statement.sql.as_str(), statement.weight),
            ("select * from orders where id=? and a = ?", Some(2.0))
        );
        let row = |id, text: &str| vec![Value::Int(id), Value::Text(text.into())];
        assert_eq!(statement.parameters, ParameterDefinitions::Rows(vec![row(5, ";\n"), row(7, "x")]));
        assert_eq!(found.left_out[0].why, "it uses database other, not shop");
        assert!((found.shares[0].0.time - 100.0 / 1.1).abs() < 1e-6, "{found:?}");

        let found = read(MYSQL);
        assert_eq!((found.len(), found[0].sql.as_str()), (1, "UPDATE orders SET a = ? WHERE id = ?"));
        assert!(read_slow_log(&mut "hello\n".as_bytes(), &Stop::default()).unwrap().is_none());
    }

    #[test]
    fn of_lists_the_most_frequent_length_is_kept_and_executions_with_others_are_counted() {
        let head = "# User@Host: a[a] @ b []\n# Query_time: 1.0  Lock_time: 0\n";
        let asked = |list: &str| format!("{head}SELECT a FROM t WHERE b IN ({list});\n");
        let found = read(&["1", "2, 3", "4, 5", "6, 7, 8"].map(asked).concat());
        assert_eq!((found.len(), found[0].sql.as_str()), (1, "SELECT a FROM t WHERE b IN (?, ?)"));
        assert_eq!((found[0].executions, found[0].differing), (4, 2));
        let rows = [[2, 3], [4, 5]].map(|row| row.map(Value::Int).to_vec());
        assert_eq!(found[0].parameters, ParameterDefinitions::Rows(rows.to_vec()));
    }

    #[test]
    fn what_is_too_long_is_counted_and_not_kept() {
        let head = "# User@Host: a[a] @ b []\n# Query_time: 1.0  Lock_time: 0\n";
        let long = format!("INSERT INTO t VALUES ('{}');\n", "x".repeat(200 << 10));
        let lines = format!("SELECT a FROM t WHERE b IN (1\n{});\n", ",2\n".repeat(60 << 10));
        let found = read(&format!("{head}{long}{head}{lines}{head}SELECT a FROM t;\n"));
        let whole = found.iter().find(|group| group.problem.is_none()).unwrap();
        assert_eq!((found.len(), whole.sql.as_str(), whole.executions), (2, "SELECT a FROM t", 1));
        assert_eq!(found.iter().map(|group| group.executions).sum::<u64>(), 3);
    }
}
