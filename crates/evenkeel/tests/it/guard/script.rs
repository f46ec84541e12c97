//! Everything that a client may say, in one session.

use super::client::{Client, packets};
use evenkeel_wire::relay::{CommandKind, Reply};

/// Says it all; after each command nothing may be left of its reply.
pub fn run(client: &mut Client, mariadb: bool) {
    simple(client);
    text(client);
    files(client);
    prepared(client);
    if mariadb {
        bulk(client);
        progress(client);
    }
    pipelined(client);
    users(client);
}

fn ends(client: &mut Client, what: &str, replies: &[Reply], expected: &str) {
    let found: Vec<String> = replies.iter().map(short).collect();
    assert_eq!(found.join(" "), expected, "{what}: {replies:?}");
    client.expect_nothing_left(what);
}

/// `ok`, `ok+` where more follows, `3` rows, an error's code.
fn short(reply: &Reply) -> String {
    match reply {
        Reply::Result { rows: 0, more, .. } => if *more { "ok+" } else { "ok" }.to_owned(),
        Reply::Result { rows, more, .. } => format!("{rows}{}", if *more { "+" } else { "" }),
        Reply::Error { code } => format!("e{code}"),
        Reply::Prepared { .. } => "prepared".to_owned(),
        Reply::Text => "text".to_owned(),
        Reply::FileRequest => "file?".to_owned(),
        Reply::LoginRequest => "who?".to_owned(),
        Reply::StreamBegins => "stream".to_owned(),
        Reply::Farewell { code } => format!("bye{code}"),
    }
}

fn simple(client: &mut Client) {
    for (what, payload, expected) in [
        ("ping", &b"\x0e"[..], "ok"),
        ("database", b"\x02shop", "ok"),
        ("no database", b"\x02nowhere", "e1049"),
        ("fields", b"\x04item\0%", "ok"),
        ("fields of nothing", b"\x04nothing\0%", "e1146"),
        ("statistics", b"\x09", "text"),
        ("one statement only", b"\x1b\x01\0", "ok"),
        ("several statements", b"\x1b\0\0", "ok"),
        ("kill nobody", b"\x0c\xff\xff\xff\x0f", "e1094"),
        ("refresh", b"\x07\x10", "ok"),
        ("debug", b"\x0d", "ok"),
        ("unknown", b"\x1d", "e1047"),
        ("nothing at all", b"", "e1047"),
        ("reset", b"\x1f", "ok"),
    ] {
        let replies = client.command(payload);
        ends(client, what, &replies, expected);
    }
    let sessions = client.command(b"\x0a");
    assert!(matches!(sessions[..], [Reply::Result { rows: 1.., .. }]), "{sessions:?}");
}

fn text(client: &mut Client) {
    for (sql, expected) in [
        ("DO 1", "ok"),
        ("SELECT 1", "1"),
        ("SELECT NULL, '', REPEAT('x', 300), 1.5, JSON_OBJECT('a', 1)", "1"),
        ("SELECT NULL UNION ALL SELECT NULL", "2"),
        ("SELECT * FROM item WHERE id < 0", "ok"),
        ("SELECT * FROM item", "100"),
        ("SELECT REPEAT('y', 3000) FROM seq_1_to_3", "3"),
        (
            "SELECT 1; DO 1; SELECT 3 UNION SELECT 4; UPDATE item SET stock = stock + 1 WHERE id < 5",
            "1+ ok+ 2+ ok",
        ),
        ("SELECT 1; SELECT nothing FROM nowhere; SELECT 3", "1+ e1146"),
        ("SELEC", "e1064"),
        ("", "e1065"),
        ("CALL report(4, @total)", "3+ 1+ ok"),
        ("CALL report(4, @total); SELECT @total", "3+ 1+ ok+ 1"),
        ("BEGIN", "ok"),
        ("INSERT INTO item (name, note, stock) VALUES ('a', '{}', 1), ('b', '{}', 2)", "ok"),
        ("SELECT id FROM item WHERE name IN ('a', 'b') FOR UPDATE", "2"),
        ("COMMIT AND CHAIN", "ok"),
        ("ROLLBACK", "ok"),
        ("SET SESSION session_track_system_variables = '*', session_track_schema = 1", "ok"),
        (
            "SET SESSION session_track_state_change = 1, session_track_transaction_info = 'CHARACTERISTICS'",
            "ok",
        ),
        ("SET autocommit = 0, sql_mode = ''", "ok"),
        ("USE mysql; USE shop; SELECT 1", "ok+ ok+ 1"),
        ("INSERT INTO item (name) VALUES (NULL) RETURNING id, name", "1"),
        ("SET autocommit = 1", "ok"),
        ("SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 30001, MESSAGE_TEXT = 'mine'", "e30001"),
        ("KILL QUERY CONNECTION_ID()", "e1317"),
        ("SELECT SLEEP(0.01)", "1"),
        // By its key: how many rows a server expects without one is an estimate, which changes by itself.
        ("EXPLAIN SELECT * FROM item WHERE id = 1", "1"),
        ("SHOW WARNINGS", "ok"),
        ("XA START 'x'; XA END 'x'; XA PREPARE 'x'; XA ROLLBACK 'x'", "ok+ ok+ ok+ ok"),
        (
            "LOCK TABLES item WRITE; UNLOCK TABLES; DO GET_LOCK('a', 0); DO RELEASE_LOCK('a')",
            "ok+ ok+ ok+ ok",
        ),
    ] {
        let replies = client.query(sql);
        ends(client, sql, &replies, expected);
    }
    let flags: Vec<u16> = ["BEGIN", "SELECT 1", "COMMIT"]
        .map(|sql| match client.query(sql)[..] {
            [Reply::Result { status, .. }] => status & 1,
            ref other => panic!("{other:?}"),
        })
        .to_vec();
    assert_eq!(flags, [1, 1, 0], "the transaction flag");
}

fn files(client: &mut Client) {
    let load = "LOAD DATA LOCAL INFILE 'x' INTO TABLE item FIELDS TERMINATED BY ',' (name, stock)";
    let cases: [(&str, &[&[u8]], &str); 3] = [
        ("a file", &[b"a,1\nb,2\n", b"c,3\n", b""], "ok"),
        ("no file", &[b""], "ok"),
        ("rows that do not fit", &[b"a,b,c,d\n", b""], "ok"),
    ];
    for (what, pieces, expected) in cases {
        let replies = client.query(load);
        assert_eq!(replies.iter().map(short).collect::<Vec<_>>(), ["file?"], "{what}");
        let replies = client.answer(pieces);
        ends(client, what, &replies, expected);
    }
    let replies = client.query(&format!("SELECT 1; {load}; SELECT 2"));
    assert_eq!(replies.iter().map(short).collect::<Vec<_>>(), ["1+", "file?"]);
}

fn statement(client: &mut Client, command: u8, rest: &[u8]) -> Vec<Reply> {
    let number = client.statement.to_le_bytes();
    client.command(&[&[command][..], &number, rest].concat())
}

fn prepared(client: &mut Client) {
    // Behind the file that the last part left unanswered.
    let replies = client.answer(&[b"d,4\n", b""]);
    ends(client, "a file between statements", &replies, "ok+ 1");
    for (sql, expected) in [
        ("DO 1", "prepared"),
        ("INSERT INTO item (name) VALUES (?)", "prepared"),
        ("SELECT id, name, stock FROM item WHERE id BETWEEN ? AND ?", "prepared"),
        ("SELECT 1, 2", "prepared"),
        ("SELECT nothing", "e1054"),
    ] {
        let replies = client.command(&[b"\x16", sql.as_bytes()].concat());
        ends(client, sql, &replies, expected);
    }
    client.command(b"\x16SELECT id, name, note, stock, NULL FROM item WHERE id BETWEEN ? AND ?");
    // No NULLs, types follow: two of LONGLONG.
    let values =
        |from: u64, to: u64| [&b"\0\x01\x08\0\x08\0"[..], &from.to_le_bytes(), &to.to_le_bytes()].concat();
    let execute = |flags: u8, from, to| [&[flags, 1, 0, 0, 0][..], &values(from, to)].concat();
    for (what, flags, from, to, expected) in [
        ("rows", 0, 1, 7, "7"),
        ("rows again", 0, 1, 9, "9"),
        ("no rows", 0, 5, 4, "ok"),
        ("a cursor", 1, 1, 20, "ok"),
    ] {
        let replies = statement(client, 0x17, &execute(flags, from, to));
        ends(client, what, &replies, expected);
    }
    for expected in ["8", "8", "4", "e1421"] {
        let replies = statement(client, 0x1c, &8_u32.to_le_bytes());
        ends(client, "fetch", &replies, expected);
    }
    for (what, command, expected) in [("reset", 0x1a, "ok"), ("fetch without a cursor", 0x1c, "e1421")] {
        let replies = statement(client, command, if command == 0x1c { &[8, 0, 0, 0] } else { &[] });
        ends(client, what, &replies, expected);
    }
    long_data(client);
    let replies = client.command(b"\x16CALL report(?, @total)");
    ends(client, "prepare a call", &replies, "prepared");
    let replies = statement(client, 0x17, b"\0\x01\0\0\0\0\x01\x08\0\x04\0\0\0\0\0\0\0");
    ends(client, "call", &replies, "3+ 1+ ok");
    assert_eq!(statement(client, 0x19, b""), []);
    let replies = statement(client, 0x17, b"\0\x01\0\0\0\0\x01\x08\0\x04\0\0\0\0\0\0\0");
    ends(client, "a statement that was closed", &replies, "e1243");
}

fn long_data(client: &mut Client) {
    client.command(b"\x16INSERT INTO item (name, stock) VALUES (?, ?)");
    for piece in [&b"\0\0some "[..], b"\0\0long data"] {
        assert_eq!(statement(client, 0x18, piece), []);
    }
    let replies = statement(client, 0x17, b"\0\x01\0\0\0\0\x01\xfc\0\x08\0\x04\0\0\0\0\0\0\0");
    ends(client, "an insert with long data", &replies, "ok");
}

fn bulk(client: &mut Client) {
    client.command(b"\x16INSERT INTO item (name, stock) VALUES (?, ?)");
    let row = |name: &str, stock: u64| {
        [&[0, name.len() as u8][..], name.as_bytes(), &[0], &stock.to_le_bytes()].concat()
    };
    // The types of the parameters follow.
    let rows = [&b"\x80\0\xfd\0\x08\0"[..], &row("bulk", 1), &row("of", 2), &row("rows", 3)].concat();
    let replies = statement(client, 0xfa, &rows);
    ends(client, "bulk", &replies, "ok");
    // The number of the statement prepared last, sent ahead of the answer to its preparation.
    let prepare = packets(0, b"\x16SELECT 5, 6");
    client.send(&[prepare, packets(0, b"\x17\xff\xff\xff\xff\0\x01\0\0\0")].concat());
    let replies = client.replies();
    ends(client, "prepare and execute at once", &replies, "prepared 1");
    let replies = statement(client, 0x17, b"\0\x01\0\0\0");
    ends(client, "definitions that are known", &replies, "1");
}

/// Progress comes after a second at the earliest, in the middle of a long change.
fn progress(client: &mut Client) {
    client.query("SET progress_report_time = 1");
    let replies = client.query("CREATE TABLE big (a BIGINT PRIMARY KEY, b CHAR(200)) ENGINE = Aria SELECT seq AS a, 'x' AS b FROM seq_1_to_600000");
    ends(client, "a large table", &replies, "ok");
    let before = client.record.len();
    let replies = client.query("ALTER TABLE big ADD COLUMN c INT, ALGORITHM = COPY");
    let reports = client.record[before..].windows(3).filter(|bytes| *bytes == [0xff, 0xff, 0xff]).count();
    assert!(reports > 0, "no progress was reported");
    ends(client, "a long change", &replies, "ok");
    client.query("DROP TABLE big");
}

fn pipelined(client: &mut Client) {
    let commands: [&[u8]; 5] =
        [b"\x03SELECT 1; SELECT 2", b"\x03SELEC", b"\x16SELECT ?", b"\x09", b"\x03DO 5"];
    let bytes: Vec<u8> = commands.iter().flat_map(|payload| packets(0, payload)).collect();
    assert_eq!(client.send(&bytes).len(), 5);
    let replies = client.replies();
    ends(client, "commands ahead of replies", &replies, "1+ 1 e1064 prepared text ok");
}

/// No proof, database, collation, and a plugin; whether it is the account's own or not, the server may ask.
fn users(client: &mut Client) {
    for plugin in ["client_ed25519", "mysql_native_password"] {
        let mut replies = client.command(format!("\x11app\0\0shop\0\x2d\0{plugin}\0").as_bytes());
        if replies == [Reply::LoginRequest] {
            replies = client.answer(&[b""]);
        }
        ends(client, "another user", &replies, "ok");
    }
    let kinds = client.send(&packets(0, b"\x01"));
    assert_eq!(kinds, [CommandKind::Quit]);
    assert!(client.is_ended());
}
