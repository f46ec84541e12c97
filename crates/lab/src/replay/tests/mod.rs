//! Logs of real servers, and such as no server writes, become captures.

use super::check::check;
use super::import::{ImportError, Summary, import};
use super::log::{Skipped, Source, Times};
use super::recording::{Recording, SessionIndex};
use evenkeel_core::random::{Random, Seed};
use evenkeel_os::Stop;
use evenkeel_wire::capture::{Answer, Asked, Record};
use std::io::{Read, Write};
use std::path::Path;

const MARIADB_GENERAL: &[u8] = include_bytes!("mariadb-general.log");
const MYSQL_GENERAL: &[u8] = include_bytes!("mysql-general.log");
const MARIADB_SLOW: &[u8] = include_bytes!("mariadb-slow.log");
const MARIADB_11_SLOW: &[u8] = include_bytes!("mariadb-11-slow.log");
const MYSQL_SLOW: &[u8] = include_bytes!("mysql-slow.log");

/// A log as a recording.
struct Imported {
    summary: Summary,
    recording: Recording,
}

fn opened(capture: &[u8]) -> Recording {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(capture).unwrap();
    Recording::of(Path::new("capture"), file).unwrap()
}

fn imported(log: &[u8]) -> Imported {
    let mut capture = Vec::new();
    let summary = import(&mut &log[..], &mut capture, &Stop::default()).unwrap();
    Imported { summary, recording: opened(&capture) }
}

impl Imported {
    fn session(&self, number: u64) -> &SessionIndex {
        self.recording.sessions().iter().find(|session| session.session == number).unwrap()
    }

    /// What a session asked; what is no query with its number in front.
    fn asked(&self, session: u64) -> Vec<String> {
        let read = |place| {
            let mut buffer = Vec::new();
            let command = self.recording.read(place, &mut buffer).unwrap().command;
            let text = String::from_utf8_lossy(&command[1..]);
            if command[0] == 3 { text.into_owned() } else { format!("[{}]{text}", command[0]) }
        };
        self.session(session).commands.iter().map(read).collect()
    }

    fn answers(&self, session: u64) -> Vec<(String, Answer)> {
        let mut buffer = Vec::new();
        let mut answer = |place| self.recording.read(place, &mut buffer).unwrap().answer;
        let answers: Vec<Answer> = self.session(session).commands.iter().map(&mut answer).collect();
        self.asked(session).into_iter().zip(answers).collect()
    }

    fn skipped(&self, why: Skipped) -> u64 {
        self.summary.skipped.get(&why).map_or(0, |(count, _)| *count)
    }
}

/// Between the first two statements and the last ones, which the servers log in different ways.
const MIDDLE: [&str; 10] = [
    "SELECT * FROM missing",
    "SELECT 'a\tb', \"261130 10:00:00\t   12 Query\tx\" FROM t",
    "INSERT INTO t VALUES (2, 'it''s\n261201  0:00:00\t    99 Query\tfake\n\t\t     99 Query\tfake2\n2026-11-30T10:00:00.000000Z\t   99 Query\tfake3\nx', NULL)",
    "SET @a = 1",
    "SELECT id, name FROM t WHERE id = 1",
    "SELECT id, name FROM t WHERE id = 1",
    "SELECT DATABASE()",
    "[2]other",
    "BEGIN",
    "SELECT 1",
];

const FIRST: &str = "INSERT INTO t VALUES (1, 'a;\n# Time: 261130 10:00:00\n# User@Host: root[root] @ localhost []\n-- x\nb', x'00ff27')";

#[test]
fn general_logs_of_both_servers_have_each_statement_once_with_its_values_in_its_sessions_order() {
    for (log, session, multi) in [(MARIADB_GENERAL, 7, 9), (MYSQL_GENERAL, 13, 15)] {
        let log = imported(log);
        let asked = log.asked(session);
        assert_eq!(asked[6..8], [FIRST, "SELECT *\n  FROM t \n WHERE id = 1"]);
        assert_eq!(asked[8..18], MIDDLE);
        assert_eq!(asked.last().unwrap(), "SHOW TABLES");
        let opened = log.session(session);
        assert_eq!((opened.user.as_slice(), opened.is_late), (&b"root"[..], false));
        assert!(log.recording.sessions().iter().all(|session| session.session != 99));
        // Both forms of a text of several statements.
        let several = log.asked(multi).join(" ");
        assert!(several.contains("SELECT 1; SELECT 2; SELECT 3"), "{several}");
        assert!(log.asked(multi).last().unwrap().contains("\u{fffd}"), "binary bytes");
        assert!(log.skipped(Skipped::Prepared) > 9 && log.skipped(Skipped::Cut) == 0);
    }
    let (mariadb, mysql) = (imported(MARIADB_GENERAL), imported(MYSQL_GENERAL));
    assert_eq!((mariadb.summary.log.times, mysql.summary.log.times), (Times::Seconds, Times::Microseconds));
    // MariaDB writes the text that EXECUTE IMMEDIATE runs beside it.
    assert_eq!(mariadb.asked(8).iter().filter(|sql| sql.contains("77")).count(), 1);
    // Sessions whose Connect is not in the log.
    let late = imported(b"261201  0:14:34\t    12 Execute\tCOMMIT\n\t\t    12 Quit\t\n");
    assert!(late.session(12).is_late && late.session(12).commands[0].start == 1_796_084_074_000_000_000);
}

#[test]
fn slow_logs_of_all_servers_have_ends_rows_errors_and_databases() {
    let log = imported(MARIADB_SLOW);
    assert_eq!((log.summary.log.source, log.summary.log.times), (Source::SlowLog, Times::Seconds));
    let asked = log.asked(7);
    assert!(asked.iter().any(|sql| sql == FIRST) && asked.iter().any(|sql| sql == MIDDLE[2]), "{asked:?}");
    let other = asked.iter().position(|sql| sql == "[2]other").unwrap();
    assert_eq!(asked[other..other + 5], ["[2]other", "BEGIN", "SELECT 1", "COMMIT", "SELECT SLEEP(1.5)"]);
    assert_eq!(log.asked(8).iter().filter(|sql| sql.contains("77")).count(), 1);
    let sleep = &log.session(7).commands[other + 4];
    assert_eq!(sleep.time().unwrap().0, 1_500_166_000);
    // Statements of one second follow each other within it.
    let places = &log.session(7).commands;
    assert!(
        places
            .windows(2)
            .all(|two| two[0].start <= two[1].start && two[0].end() <= two[1].end().or(Some(u64::MAX)))
    );

    let log = imported(MYSQL_SLOW);
    assert_eq!(log.summary.log.times, Times::Microseconds);
    assert_eq!(log.asked(13), [FIRST, MIDDLE[2]]);
    let answers = log.answers(14);
    let of = |text: &str| answers.iter().find(|(sql, _)| sql.starts_with(text)).unwrap().1;
    assert_eq!((of("CALL q(3)").rows, of("SET @a").error), (Some(2), None));
    assert_eq!(
        log.summary.skipped[&Skipped::Prepared].0,
        3,
        "PREPARE, EXECUTE of what is missing, DROP PREPARE"
    );
    let call = log.asked(14).iter().position(|sql| sql == "CALL q(3)").unwrap();
    let place = &log.session(14).commands[call];
    assert_eq!(
        (place.start % 1_000_000_000, place.end().unwrap() % 1_000_000_000),
        (146_095_000, 146_481_000)
    );

    let log = imported(MARIADB_11_SLOW);
    assert_eq!(log.asked(9)[1..4], ["[2]shop", "SELECT 1", "SELECT 2"]);
}

#[test]
fn percona_servers_say_what_failed() {
    let log = b"# Time: 2026-11-30T10:00:00.500000Z\n# User@Host: app[app] @ web1 [10.0.0.7]  Id:    42\n\
        # Schema: shop  Last_errno: 1062  Killed: 0\n\
        # Query_time: 0.250000  Lock_time: 0.000010  Rows_sent: 0  Rows_examined: 0  Rows_affected: 3  Rows_read: 0\n\
        # Bytes_sent: 11\nSET timestamp=1796032800;\nINSERT INTO t VALUES (1);\n\
        # User@Host: app[app] @ web1 [10.0.0.7]  Id:    42\n# Stored routine: shop.p\n# Query_time: 0.1  Lock_time: 0\nSELECT 1;\n";
    let log = imported(log);
    assert_eq!(log.skipped(Skipped::Inner), 1);
    let (user, database) = (&log.session(42).user, &log.session(42).database);
    assert_eq!((user.as_slice(), database.as_slice()), (&b"app"[..], &b"shop"[..]));
    let answer = Answer { rows: Some(0), affected: Some(3), error: Some(1062), ..Answer::default() };
    assert_eq!(log.answers(42), [("INSERT INTO t VALUES (1)".to_owned(), answer)]);
    assert_eq!(log.session(42).commands[0].start, 1_796_032_800_250_000_000);
}

#[test]
fn sql_has_times_and_sessions_where_lines_say_so() {
    let log = imported(
        b"-- 2026-11-30 10:00:00\nSELECT 1;\n# 2026-11-30T10:00:01.5 session=7\n\n-- a comment\nSELECT 'a;\n-- 2026-11-30 10:00:09\nb';\n\
          DELIMITER //\nCREATE PROCEDURE p() BEGIN\nSELECT 1;\nEND//\nDELIMITER ;\nSELECT 2;\nSELECT 'cut",
    );
    assert_eq!(log.asked(1), ["SELECT 1"]);
    assert_eq!(log.asked(7), ["SELECT 'a;\n-- 2026-11-30 10:00:09\nb'", "SELECT 2"]);
    assert_eq!(log.session(7).commands[0].start, 1_796_032_801_500_000_000);
    assert_eq!(log.summary.skipped, [(Skipped::Cut, (1, 15)), (Skipped::NotRepeatable, (1, 9))].into());

    let plain = imported(b"SELECT 1;\nUPDATE t SET a = 1;\n");
    assert_eq!(plain.asked(1), ["SELECT 1", "UPDATE t SET a = 1"]);
    let found = check(&plain.recording, Some(&plain.summary), &Stop::default()).unwrap();
    assert_eq!((found.from_unix_s, found.sent_by_default, found.sessions), (None, 1, 1));
}

#[test]
fn what_a_log_lacks_is_counted_with_its_first_line_and_the_rest_goes_on() {
    let log = imported(
        b"a line of something else\n261201  0:00:01\t     4 Connect\tapp@web1 on shop using TCP/IP\n\t\t     4 Query\tSELECT 1\n\
          30.11.2026 10:00\t     4 Query\tSELECT 2\n\t\t     4 Query\tSELECT 'no end\n\t\t     4 Query\tSELECT 3\n\
          \t\t     5 Connect\tapp@web1 on  using TCP/IP\n\t\t     5 Connect\tAccess denied for user 'app'@'web1'\n\
          \t\t     4 Change user\troot@localhost on shop\n\t\t     4 Ping\t\n\t\t     4 Query\tSELECT 'cut",
    );
    assert_eq!(log.asked(4), ["SELECT 1", "SELECT 2", "SELECT 3"]);
    assert_eq!(log.session(4).database, b"shop");
    assert_eq!(log.recording.sessions().len(), 1, "a login that failed is no session");
    let expected = [
        (Skipped::Cut, (3, 1)),
        (Skipped::NotRepeatable, (1, 9)),
        (Skipped::NoStatement, (1, 10)),
        (Skipped::Undated, (1, 4)),
    ];
    assert_eq!(log.summary.skipped, expected.into());

    let head =
        "# Time: 2026-11-30T10:00:00.5Z\n# User@Host: a[a] @ b []  Id: 1\n# Query_time: 0.1  Lock_time: 0\n";
    let log = imported(format!("{head}SELECT 'no end;\n{head}SELECT 1;\n{head}SELECT 2").as_bytes());
    assert_eq!(log.asked(1), ["SELECT 1"]);
    assert_eq!(log.summary.skipped, [(Skipped::Cut, (2, 1))].into());
}

#[test]
fn commands_of_one_second_are_spread_over_it_in_the_order_of_the_log() {
    let log = imported(
        b"261201  0:00:01\t     4 Query\tSELECT 1\n\t\t     5 Query\tSELECT 2\n\t\t     4 Query\tSELECT 3\n\
          \t\t     5 Query\tSELECT 4\n261201  0:00:02\t     4 Query\tSELECT 5\n",
    );
    let starts = |session| {
        let places = log.session(session).commands.iter();
        places.map(|place| place.start / 1_000_000 - 1_796_083_200_000).collect::<Vec<_>>()
    };
    assert_eq!((starts(4), starts(5)), (vec![1_000, 1_500, 2_000], vec![1_250, 1_750]));
}

#[test]
fn commands_have_a_place_in_the_order_of_starts_and_in_that_of_ends() {
    let mut capture = b"EVKCAP1\n{\"source\":\"guard\"}\n".to_vec();
    let text = [&[3][..], &[b'x'; 2_000]].concat();
    for (session, start, end) in [(1, 10, Some(50)), (2, 20, Some(30)), (2, 30, None), (1, 51, Some(60))] {
        let asked = Asked { session, start, end, command: &text, answer: Answer::default() };
        Record::Asked(asked).write(&mut capture);
    }
    let whole = capture.len();
    Record::Closed { session: 1, at: 70 }.write(&mut capture);
    let recording = opened(&capture);
    let [one, two] = recording.sessions() else { panic!("two sessions") };
    let numbers = |session: &SessionIndex| {
        let of = |place| (recording.ended_before(place), session.commands[0].rank());
        session.commands.iter().map(|place| (place.number, place.rank(), of(place).0)).collect::<Vec<_>>()
    };
    // The third began in the moment in which the second ended, and waits for nobody.
    assert_eq!(numbers(one), [(0, Some(1), 0), (3, Some(2), 2)]);
    assert_eq!(numbers(two), [(1, Some(0), 0), (2, None, 0)]);
    assert_eq!((one.is_late, recording.commands()), (true, 4));
    let mut buffer = Vec::new();
    assert_eq!(recording.read(&one.commands[1], &mut buffer).unwrap().command, text);

    // A writer that died, and a record that was damaged.
    capture.truncate(whole - 1);
    capture[60] ^= 1;
    let recording = opened(&capture);
    assert_eq!((recording.commands(), recording.damaged, recording.cut), (2, 1, 1));
}

#[test]
fn what_comes_before_the_first_date_of_a_rotated_log_is_as_old_as_that() {
    let log = imported(b"\t\t    19 Query\tSELECT 1\n261201  0:00:01\t    19 Query\tSELECT 2\n");
    let starts: Vec<u64> = log.session(19).commands.iter().map(|place| place.start).collect();
    assert_eq!(starts, [1_796_083_201_000_000_000, 1_796_083_201_500_000_000]);
}

#[test]
fn in_whole_seconds_only_what_ended_before_the_second_of_another_has_an_order() {
    let entry = |second: u32, session: u32, took: &str| {
        format!(
            "# Time: 261201  0:00:{second:02}\n# User@Host: a[a] @ b []\n# Thread_id: {session}  Schema: s  QC_hit: No\n\
             # Query_time: {took}  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\nSET timestamp={};\nUPDATE t SET a = 1;\n",
            1_796_083_200 + second
        )
    };
    let log = [entry(1, 7, "0.6"), entry(1, 8, "0.1"), entry(2, 8, "0.1"), entry(3, 9, "0.1")].concat();
    let log = imported(log.as_bytes());
    let before = |session| {
        let places = log.session(session).commands.iter();
        places.map(|place| log.recording.ended_before(place)).collect::<Vec<u32>>()
    };
    // What was asked in second 1 may have ended in second 2.
    assert_eq!((before(7), before(8), before(9)), (vec![0], vec![0, 0], vec![2]));
}

/// Writes only count.
struct Counted(usize);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn any_bytes_are_refused_or_read_and_never_a_panic() {
    let logs = [MARIADB_GENERAL, MYSQL_GENERAL, MARIADB_SLOW, MARIADB_11_SLOW, MYSQL_SLOW];
    let mut random = Random::new(Seed(7));
    let mut below = |bound: usize| random.uniform(0, bound as u64 - 1) as usize;
    for round in 0..2_000 {
        let log = logs[round % logs.len()];
        let mut bytes = log[below(log.len())..].to_vec();
        bytes.truncate(below(4_000) + 1);
        for _ in 0..below(12) {
            let (at, other) = (below(bytes.len()), logs[below(logs.len())]);
            match below(4) {
                0 => bytes[at] = below(256) as u8,
                1 => bytes.truncate(at + 1),
                2 => drop(bytes.splice(at..at, b"'\"\n;\t#\\\0/*"[below(9)..].to_vec())),
                _ => drop(bytes.splice(at..at, other[below(other.len())..].iter().take(80).copied())),
            }
        }
        let mut capture = Vec::new();
        match import(&mut bytes.as_slice(), &mut capture, &Stop::default()) {
            Ok(summary) => {
                let recording = opened(&capture);
                assert_eq!(recording.commands() as u64, summary.commands);
                assert_eq!((recording.damaged, recording.cut), (0, 0));
                check(&recording, Some(&summary), &Stop::default()).unwrap();
                // What an import takes of a log is never much more than the log.
                assert!(capture.len() < 200 + 40 * bytes.len(), "{} from {}", capture.len(), bytes.len());
            }
            Err(error) => assert!(matches!(error, ImportError::NoLog | ImportError::Compressed), "{error}"),
        }
    }
}

#[test]
fn a_statement_above_64_mb_is_left_out_and_takes_no_more_memory_than_that() {
    let head: &[u8] = b"261201  0:00:01\t     4 Connect\tapp@web1 on shop using TCP/IP\n\t\t     4 Query\tINSERT INTO t VALUES ('";
    let tail: &[u8] = b"')\n\t\t     4 Query\tSELECT 1\n";
    let long = std::io::BufReader::new(std::io::repeat(b'x').take(70 << 20));
    let mut input = head.chain(long).chain(tail);
    let mut out = Counted(0);
    let summary = import(&mut input, &mut out, &Stop::default()).unwrap();
    assert_eq!((summary.commands, summary.skipped[&Skipped::TooLong]), (1, (1, 2)));
    assert!(out.0 < 1_000);
}
