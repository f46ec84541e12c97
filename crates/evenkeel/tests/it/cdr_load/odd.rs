//! Files that were made without a look at the parser: each is right, or refused in words that say what it is.

use crate::cli::asked;
use std::fs;

const LAYOUT: &str = "charset = 'utf8'\nkey = ['id']\n[delimited]\nby = ','\nheader = true\n[[field]]\nname = 'id'\ntype = 'integer'\n\
    [[field]]\nname = 'at'\ntype = 'time'\ntime = 'iso'\n[[field]]\nname = 'who'\nwidth = 20\n[[field]]\nname = 'price'\ntype = 'decimal'\n";
const HEAD: &str = "id,at,who,price\n";
const CALL: &str = "1,2026-08-01T10:00:00Z,bob,1.50\n";
const ROW: &str = "1;20260801100000;bob;1.50\n";

/// A file behind the header and a good record, a change to the layout, and what is said or stored of it beside that record.
const ROWS: &[(&str, (&str, &str), &str)] = &[
    ("2,2026-08-01T10:00:00Z,\"amy,1\n3,2026-08-01T10:00:00Z,eve,1\n", ("", ""), "3;20260801100000;eve;1\n"),
    (
        "2,2026-08-01T10:00:00Z,\"amy,1\n3,2026-08-01T10:00:00Z,\"e,e\",1\n",
        ("", ""),
        "3;20260801100000;e,e;1\n",
    ),
    ("2,2026-08-01T10:00:00Z,\"bo\"b,1\n", ("", ""), "1  a quote that does not end"),
    ("2,2026-08-01T10:00:00Z,bo\"b,1\n", ("", ""), "2;20260801100000;bo\"b;1\n"),
    ("2,2026-08-01T10:00:00Z,\"a \"\"b\"\"\nc\",1\r\n", ("", ""), "2;20260801100000;a \"b\"\\nc;1\n"),
    (
        "2,2026-08-01T10:00:00Z,a\\\nb,1\n",
        ("by = ','", "by = ','\nescape = '\\'"),
        "2;20260801100000;a\\nb;1\n",
    ),
    ("id,at,who,price\n", ("", ""), "1  id: not an integer"),
    ("\n\n \n\n", ("", ""), "2 records: 1 line, 1 reject"),
    ("\n\n\n", ("", ""), "1 record: 1 line, 0 rejects"),
    ("2,2026-08-01T10:00:00Z,b\n", ("", ""), "1  too short: 3 of 4 fields"),
    ("2,2026-08-01T10:00:00Z,b,1,\n", ("", ""), "1  too long: 5 of 4 fields"),
    (",,,\n", ("", ""), "1  id: blank, and a value is required"),
    ("2,2026-08-01T10:00:00Z,b\0b,1\n", ("", ""), "1  who: a NUL byte"),
    ("2,2026-08-01T10:00:00Z,\\N,1\n", ("", ""), "2;20260801100000;\\\\N;1\n"),
    ("2,2026-08-01T10:00:00Z,b,\\N\n", ("", ""), "1  price: not a decimal number"),
    ("2,2026-08-01T10:00:00Z,b,1e5\n", ("", ""), "1  price: not a decimal number"),
    ("2,2026-08-01T10:00:00Z,b,\"1,234.50\"\n", ("", ""), "1  price: not a decimal number"),
    ("2,2026-08-01T10:00:00Z,b,+1\n", ("", ""), "2;20260801100000;b;+1\n"),
    ("2,2024-02-29T10:00:00Z,b,1\n", ("", ""), "2;20240229100000;b;1\n"),
    ("2,2026-02-29T10:00:00Z,b,1\n", ("", ""), "1  at: not a time"),
    ("2,2026-08-01T24:00:00Z,b,1\n", ("", ""), "1  at: not a time"),
    ("2,0000-01-01T00:00:00Z,b,1\n", ("", ""), "1  at: not a time"),
    ("2,2026-08-01T10:00:00+0530,b,1\n", ("", ""), "2;20260801043000;b;1\n"),
    ("2,2026-08-01T10:00:00Z,b,1", ("", ""), "2;20260801100000;b;1\n"),
    ("2,-1,b,1\n", ("iso", "epoch"), "2  at: not a time"),
    ("2,1785578400.75,b,1\n", ("iso", "epoch"), "2;20260801100000;b;1\n"),
    ("2,2026-08-01T10:00:00Z,\u{1f600},1\n", ("", ""), "2;20260801100000;\u{1f600};1\n"),
    ("2,2026-08-01T10:00:00Z,\u{fc},1\n", ("utf8", "ascii"), "1  who: bytes outside the character set"),
];

/// Whole files with what is said of them.
fn whole() -> Vec<(Vec<u8>, (&'static str, &'static str), &'static str)> {
    let good = format!("{HEAD}{CALL}");
    let fixed = ("header = true", "header = 'id,at,who,price'");
    let text = |text: String| text.into_bytes();
    vec![
        (Vec::new(), ("", ""), "0 records"),
        (text(HEAD.trim_end().to_owned()), ("", ""), "0 records"),
        (text(format!("\u{feff}{good}")), fixed, "1 record: 1 line"),
        (text(format!("\u{feff}\u{feff}{good}")), fixed, "its header is not that of the layout"),
        (text(CALL.to_owned()), fixed, "its header is not that of the layout: 1,2026"),
        (text(good.replace("id,at", "at,id")), fixed, "its header is not that of the layout: at,id,who"),
        (text(format!("sep=,\n{good}")), fixed, "its header is not that of the layout: sep=,"),
        (text(good.replace(',', ";")), ("by = ','", "by = ';'"), "1 record: 1 line"),
        (text(good.replace(',', "\t")), ("by = ','", "by = \"\\t\""), "1 record: 1 line"),
        (text("<html>404</html>\n".to_owned()), ("", ""), "and it has only one field"),
        (text(good.replace('\n', "\r")), ("", ""), "its lines end with CR alone"),
        (
            good.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            ("", ""),
            "it is UTF-16 without a byte order mark",
        ),
        (text(format!("PK\u{3}\u{4}{good}")), ("", ""), "it is a zip archive: unzip -p"),
        (text(format!("BZh9{good}")), ("", ""), "it is packed by bzip2"),
        ([b"\xfd7zXZ\0", good.as_bytes()].concat(), ("", ""), "it is packed by xz"),
        (b"\x1f\x8b\x08\0\0\0\0\0\0\x03KL".to_vec(), ("", ""), "cannot read"),
        (
            [good.as_bytes(), b"2,2026-08-01T10:00:00Z,b\xff,1\n"].concat(),
            ("", ""),
            "1  who: bytes outside the character set",
        ),
        (
            text(format!("{good}2,2026-08-01T10:00:00Z,{},1\n", "x".repeat(1 << 20))),
            ("", ""),
            "1  who: more than 20 bytes",
        ),
        (
            text(format!("{good}2,2026-08-01T10:00:00Z,b,1{}\n", ",".repeat(9_996))),
            ("", ""),
            "too long: 10000 of 4 fields",
        ),
    ]
}

#[test]
fn every_odd_file_is_right_or_refused_in_words() {
    let home = tempfile::tempdir().expect("a folder");
    let rows = ROWS
        .iter()
        .map(|(lines, change, expected)| (format!("{HEAD}{CALL}{lines}").into_bytes(), *change, *expected));
    for (number, (bytes, (from, to), expected)) in whole().into_iter().chain(rows).enumerate() {
        let path = |name: &str| home.path().join(format!("{number}{name}")).display().to_string();
        let layout = if from.is_empty() { LAYOUT.to_owned() } else { LAYOUT.replacen(from, to, 1) };
        fs::write(path(".csv"), &bytes).expect("a file");
        fs::write(path(".toml"), layout).expect("a layout");
        let words = ["cdr", "convert", &path(".csv"), "--layout", &path(".toml"), "--into", &path("")];
        let (code, told) = asked(home.path(), &words);
        let lines = fs::read_to_string(path(&format!("/{number}.csv.csv"))).unwrap_or_default();
        let is_right = told.contains(expected) || lines.replacen(ROW, "", 1) == expected;
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
        assert!(is_right, "{shown}\nexpected: {expected}\n{code:?}: {told}\n{lines}");
        assert!(code == Some(0) || (code == Some(2) && !lines.contains(ROW)), "{shown}: {told}");
    }
}

#[test]
fn a_quote_too_many_takes_no_other_record_with_it() {
    let home = tempfile::tempdir().expect("a folder");
    let path = |name: &str| home.path().join(name).display().to_string();
    let call = |n: u32| format!("{n},2026-08-01T10:00:00Z,{}bob,1.50\n", if n == 20_000 { "\"" } else { "" });
    fs::write(path("calls.csv"), (1..=200_000).map(call).fold(HEAD.to_owned(), |all, call| all + &call))
        .expect("a file");
    fs::write(path("calls.toml"), LAYOUT).expect("a layout");
    let words =
        ["cdr", "convert", &path("calls.csv"), "--layout", &path("calls.toml"), "--into", &path("out")];
    let (_, told) = asked(home.path(), &words);
    assert!(told.contains("200,000 records: 199,999 lines, 1 reject"), "{told}");
}
