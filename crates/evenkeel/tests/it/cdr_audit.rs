//! Files held against tables, as a user does it: what is planted is found by its offset, and nothing is invented.

use crate::cdr_scene::Scene;
use crate::cli::{refused, text, words};
use crate::sandbox::done;
use evenkeel_core::random::{Random, Seed};
use evenkeel_haul::table::Engine;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

fn places(found: &Value) -> BTreeSet<(String, u64)> {
    let findings = found["findings"].as_array().expect("findings").iter();
    let place = |finding: &Value| {
        let kind = finding["kind"].as_str().expect("a kind").to_owned();
        (kind, finding["offset"].as_u64().unwrap_or(u64::MAX))
    };
    findings.map(place).collect()
}

/// Offsets of the records that were made lines, by their numbers.
fn offsets(calls: &Path, csv: &Path) -> BTreeMap<u64, u64> {
    let rejects = fs::read_to_string(csv.join("calls.rejects")).expect("rejects");
    let rejected: BTreeSet<u64> = rejects
        .lines()
        .map(|line| line.split('\t').nth(1).expect("an offset").parse().expect("a number"))
        .collect();
    let (bytes, mut offset, mut all) = (fs::read(calls).expect("records"), 0, BTreeMap::new());
    for record in bytes.split_inclusive(|byte| *byte == b'\n') {
        if !rejected.contains(&offset) {
            let seq = String::from_utf8_lossy(&record[2..12]).trim().parse().expect("a number");
            assert_eq!(all.insert(seq, offset), None);
        }
        offset += record.len() as u64;
    }
    all
}

fn draw(random: &mut Random, from: &mut Vec<u64>, count: usize) -> Vec<u64> {
    let places = |length: usize, random: &mut Random| random.uniform(0, length as u64 - 1) as usize;
    (0..count).map(|_| from.swap_remove(places(from.len(), random))).collect()
}

fn list(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

#[test]
fn a_hundred_losses_doubles_and_alterations_are_all_found_by_their_offsets_and_nothing_else() {
    let mut scene = Scene::of_calls();
    let calls = scene.generate("calls", &["--records", "20000", "--dirt", "all"]);
    let csv = scene.convert(&[&calls], &[]);
    scene.create("calls");
    // Doubles need a table that takes them.
    scene.exec(
        "ALTER TABLE calls DROP PRIMARY KEY, ADD COLUMN loaded TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP",
    );
    scene.load("calls", &csv.join("calls.csv"));
    let words = ["--table", "calls", "--rejects", csv.to_str().expect("UTF-8")];
    scene.clean(&[&calls], &words);

    let offsets = offsets(&calls, &csv);
    let (mut random, mut seqs) = (Random::new(Seed(7)), offsets.keys().copied().collect::<Vec<_>>());
    let mut expected = BTreeSet::new();
    let mut expect = |kind: &str, seqs: &[u64]| {
        expected.extend(seqs.iter().map(|seq| (kind.to_owned(), offsets[seq])));
    };
    let lost = draw(&mut random, &mut seqs, 34);
    scene.exec(&format!("DELETE FROM calls WHERE seq IN ({})", list(&lost)));
    expect("lost", &lost);
    let doubled = draw(&mut random, &mut seqs, 33);
    scene.exec(&format!("INSERT INTO calls SELECT * FROM calls WHERE seq IN ({})", list(&doubled)));
    expect("doubled", &doubled);
    for change in [
        "amount = amount + 0.01",
        "cause = cause + 1",
        "called = CONCAT(called, ' ')",
        "cell = LOWER(cell)",
        "start = start + INTERVAL 1 SECOND",
        "answer = COALESCE(answer + INTERVAL 1 SECOND, start)",
        "trunk_in = ''",
    ] {
        let altered = draw(&mut random, &mut seqs, if change == "trunk_in = ''" { 3 } else { 5 });
        scene.exec(&format!("UPDATE calls SET {change} WHERE seq IN ({})", list(&altered)));
        expect("altered", &altered);
    }
    assert_eq!(expected.len(), 100);

    let found = scene.found(&[&calls], &words);
    assert_eq!(places(&found), expected);
    assert_eq!(found["findings"].as_array().expect("findings").len(), 100);
    assert_eq!(found["found"], serde_json::json!({ "lost": 34, "doubled": 33, "altered": 33 }));
    let lower = found["findings"].as_array().expect("findings").iter().find_map(|finding| {
        let changed = &finding["changed"][0];
        (changed["field"] == "cell").then(|| (changed["file"].clone(), changed["table"].clone()))
    });
    let (file, table) = lower.expect("a cell that was altered");
    assert_eq!(file.as_str().expect("a text").to_lowercase(), table.as_str().expect("a text"));

    let told = scene.audit(&[&calls], &words);
    let (said, _) = text(&told);
    assert_eq!(said.lines().filter(|line| line.starts_with("lost ")).count(), 34, "{said}");
    assert!(said.contains("34 lost, 33 doubled, 33 altered; of "), "{said}");
}

#[test]
fn in_ten_clean_loads_of_dirt_nothing_is_found() {
    let mut scene = Scene::of_calls();
    for seed in 1..=10_u64 {
        let (seed_word, records) = (seed.to_string(), "3000");
        let words = ["--records", records, "--dirt", "all", "--seed", &seed_word, "--overwrite"];
        let calls = scene.generate("calls", &words);
        let keeps = seed % 4 == 3;
        let duplicates = if keeps { "keep" } else { "refuse" };
        let csv = scene.convert(&[&calls], &["--duplicates", duplicates]);
        scene.exec("DROP TABLE IF EXISTS calls, calls_late");
        let mut table = scene.table("calls");
        if keeps {
            table.primary.clear();
        }
        if seed % 5 == 4 {
            table.engine = Engine::MyIsam;
        }
        scene.exec(&table.create_sql());
        scene.load("calls", &csv.join("calls.csv"));
        // Late records are in a table of their own.
        scene.exec("CREATE TABLE calls_late LIKE calls");
        scene.exec("INSERT INTO calls_late SELECT * FROM calls WHERE start < '2026-08-01'");
        scene.exec("DELETE FROM calls WHERE start < '2026-08-01'");
        if seed % 3 == 2 {
            scene.exec("ALTER TABLE calls MODIFY calling CHAR(20) CHARACTER SET utf8mb4, MODIFY cause INT(6) ZEROFILL, MODIFY amount DECIMAL(20,5)");
            scene.exec("ALTER TABLE calls_late MODIFY calling CHAR(20) CHARACTER SET latin1, MODIFY start DATETIME(3)");
        }
        let packed = match seed % 2 {
            0 => calls.clone(),
            _ => {
                assert!(Command::new("gzip").arg("-kf").arg(&calls).status().expect("gzip runs").success());
                calls.with_extension("gz")
            }
        };
        let rejects = csv.to_str().expect("UTF-8");
        let words = ["--table", "calls*", "--duplicates", duplicates, "--rejects", rejects];
        let text = scene.clean(&[&packed], &words);
        let is_frozen = text.contains("as of ");
        assert_eq!(is_frozen, seed % 5 != 4, "{text}");
        fs::remove_dir_all(&csv).expect("a folder");
    }
}

#[test]
fn rejects_that_are_missing_there_twice_stored_or_of_no_record_are_found() {
    let mut scene = Scene::of_calls();
    let calls = scene.generate("calls", &["--records", "5000", "--dirt", "all"]);
    let csv = scene.convert(&[&calls], &[]);
    scene.create("calls");
    scene.load("calls", &csv.join("calls.csv"));
    let path = csv.join("calls.rejects");
    let lines: Vec<String> = fs::read_to_string(&path).expect("rejects").lines().map(str::to_owned).collect();
    let offset = |line: &str| line.split('\t').nth(1).expect("an offset").parse::<u64>().expect("a number");
    // A record whose cell has a byte of no letter has a key, by which its row is found.
    let unfit = lines.iter().find(|line| line.contains("cell: ")).expect("a reject");
    let seq: u64 = unfit.split('\t').nth(3).expect("a record")[2..12].trim().parse().expect("a number");
    scene.exec("CREATE TABLE one AS SELECT * FROM calls LIMIT 1");
    scene.exec(&format!("UPDATE one SET seq = {seq}"));
    scene.exec("INSERT INTO calls SELECT * FROM one");
    let spared: Vec<&String> = lines.iter().filter(|line| *line != unfit).collect();
    let mut text: String = spared[1..].iter().map(|line| format!("{line}\n")).collect();
    text.push_str(&format!("{unfit}\n{}\n", spared[1]));
    text.push_str("calls\t7\tshort\tnobody\nwhat is this\n");
    fs::write(&path, &text).expect("written");
    let found = scene.found(&[&calls], &["--table", "calls", "--rejects", csv.to_str().expect("UTF-8")]);
    let expected: BTreeSet<(String, u64)> = [
        ("stored-reject", offset(unfit)),
        ("missing-reject", offset(spared[0])),
        ("rejected-twice", offset(spared[1])),
        ("unknown-reject", 7),
        ("garbled-reject", (text.len() - "what is this\n".len()) as u64),
    ]
    .map(|(kind, offset)| (kind.to_owned(), offset))
    .into();
    assert_eq!(places(&found), expected, "{found}");
    // One file for all is read by the names in it.
    let one = scene.found(&[&calls], &["--table", "calls", "--rejects", path.to_str().expect("UTF-8")]);
    assert_eq!(places(&one), expected);
}

const ODD: &str = "delimiter = ';'\ncharset = 'latin1'\nkey = ['id']\n[[field]]\nname = 'id'\nwidth = 4\ntype = 'integer'\n\
    [[field]]\nname = 'word'\nwidth = 8\ntrim = 'right'\n[[field]]\nname = 'raw'\nwidth = 6\n[[field]]\nname = 'price'\nwidth = 8\ntype = 'decimal'\n\
    [[field]]\nname = 'ratio'\nwidth = 10\ntype = 'decimal'\n[[field]]\nname = 'single'\nwidth = 10\ntype = 'decimal'\n[[field]]\nname = 'day'\nwidth = 8\ntype = 'time'\n\
    [[field]]\nname = 'at'\nwidth = 14\ntype = 'time'\n[[field]]\nname = 'small'\nwidth = 6\ntype = 'integer'\n";

fn odd(id: u32, values: [&[u8]; 8]) -> Vec<u8> {
    let mut record = format!("{id:04}").into_bytes();
    for (value, width) in values.iter().zip([8, 6, 8, 10, 10, 8, 14, 6]) {
        record.extend_from_slice(value);
        record.resize(record.len() + width - value.len(), b' ');
    }
    record.push(b'\n');
    record
}

#[test]
fn what_a_server_returns_in_another_form_is_the_same_and_what_it_has_rounded_is_altered() {
    let mut scene = Scene::up(ODD);
    scene.exec("SET SESSION sql_mode = ''");
    scene.exec(
        "CREATE TABLE odd (small SMALLINT(5) ZEROFILL, id INT PRIMARY KEY, word CHAR(8) CHARACTER SET utf8mb4, raw VARBINARY(6), \
         price DECIMAL(9,3), ratio DOUBLE, single FLOAT, day DATE, `at` DATETIME(2), more INT DEFAULT 7)",
    );
    let records = [
        odd(
            1,
            [b"caf\xe9 \x80", b"a;\\b", b"1.5", b"0.1", b"1234567", b"20260801", b"20260801235959", b"+007"],
        ),
        odd(2, [b" lead", b"\xff\xfe", b"-0.00", b".50", b"0.1", b"20240229", b"", b"-0"]),
        odd(3, [b"\\N", b"\\", b"", b"1e", b"", b"", b"", b""]),
        odd(4, [b"", b"", b"00012.50", b"-12.250", b"-.25", b"20260101", b"10000101000000", b"65535"]),
        odd(5, [b"x", b"x", b"1.23456", b"1", b"1.23456789", b"20260101", b"20260101000000", b"99999"]),
        odd(6, [b"x", b"x", b"9999999", b"1", b"16777217", b"20260101", b"20260101000000", b"-1"]),
    ];
    let file = scene.home().join("odd");
    fs::write(&file, records.concat()).expect("records");
    let csv = scene.convert(&[&file], &[]);
    scene.load("odd", &csv.join("odd.csv"));
    let words = ["--table", "odd", "--rejects", csv.to_str().expect("UTF-8")];
    let found = scene.found(&[&file], &words);
    let all = found["findings"].as_array().expect("findings").iter().map(|finding| {
        let fields = finding["changed"].as_array().expect("fields").iter();
        let fields: Vec<&str> = fields.filter_map(|changed| changed["field"].as_str()).collect();
        (finding["key"].as_str().expect("a key"), fields)
    });
    let fields = || vec!["price", "single", "small"];
    assert_eq!(all.collect::<Vec<_>>(), [("id=0005", fields()), ("id=0006", fields())], "{found}");
    // Without a key a row is known by all that it says.
    let keyless = ODD.replace("key = ['id']\n", "");
    fs::write(&scene.layout, keyless).expect("a layout");
    let found = scene.found(&[&file], &words);
    assert_eq!(found["found"], serde_json::json!({ "lost": 2, "foreign": 2 }), "{found}");
    scene.exec("INSERT INTO odd SELECT small, id + 10, word, raw, price, ratio, single, day, `at`, more FROM odd WHERE id = 1");
    scene.exec("ALTER TABLE odd DROP PRIMARY KEY");
    scene.exec("UPDATE odd SET id = 1 WHERE id = 11");
    let found = scene.found(&[&file], &words);
    assert_eq!(found["found"], serde_json::json!({ "lost": 2, "doubled": 1, "foreign": 2 }), "{found}");
}

#[test]
fn a_table_that_is_empty_has_lost_all_and_one_that_cannot_be_held_against_a_file_is_refused() {
    let mut scene = Scene::of_calls();
    let calls = scene.generate("calls", &["--records", "30000"]);
    scene.create("calls");
    let found = scene.found(&[&calls], &["--table", "calls"]);
    assert_eq!(
        (&found["found"]["lost"], found["findings"].as_array().map(Vec::len)),
        (&30_000.into(), Some(30_000))
    );
    let (said, _) = text(&scene.audit(&[&calls], &["--table", "calls"]));
    assert!(said.contains(":19800 ") && !said.contains(":20000 "), "the first ones of the file: {said}");
    assert!(said.contains("and more: --json"), "{said}");

    let (path, layout) = (calls.display().to_string(), scene.layout.display().to_string());
    let home = scene.home().to_owned();
    let told = |words: &[&str]| {
        let head = ["cdr", "audit", "sandbox:a/calls", &path, "--layout", &layout];
        let text = refused(&home, &[&head[..], words].concat());
        assert!(text.contains("hint:"), "{text}");
        text
    };
    assert!(told(&["--table", "nothing_*"]).contains("no table nothing_*"));
    scene.exec("CREATE TABLE other (seq INT)");
    assert!(told(&["--table", "other"]).contains("no column `rectype`"));
    scene.exec("CREATE TABLE calls2 LIKE calls");
    scene.exec("ALTER TABLE calls2 MODIFY cell INT");
    assert!(told(&["--table", "calls*"]).contains("column cell is varchar"));
}

const NAMES: &str = "key = ['seq']\n[[field]]\nname = 'seq'\nwidth = 4\ntype = 'integer'\n[[field]]\nname = 'name'\nwidth = 4\n";
/// A record of before with its key elsewhere in the field, and one with the same bytes; they stand at 27 and 18.
const MOVED: &[u8] = b"   7ada \n   8bob \n   7ada \n7   ada \n";

#[test]
fn a_key_that_stands_elsewhere_in_its_field_is_the_same_key_to_convert_load_and_audit() {
    let mut scene = Scene::up(NAMES);
    let names = scene.home().join("names");
    fs::write(&names, MOVED).expect("records");
    let csv = scene.convert(&[&names], &[]);
    assert_eq!(fs::read_to_string(csv.join("names.csv")).expect("lines"), "7;ada\n8;bob\n");
    scene.create("converted");
    scene.load("converted", &csv.join("names.csv"));
    let text = scene.clean(&[&names], &["--table", "converted", "--rejects", csv.to_str().expect("UTF-8")]);
    assert!(text.contains('4'), "{text}");
    let bad = scene.home().join("bad");
    let (path, layout, rejects) = (names.display(), scene.layout.display(), bad.display());
    let line =
        format!("cdr load sandbox:a/calls {path} --layout {layout} --table loaded --rejects {rejects}");
    // Ends with an audit of its own.
    done(scene.home(), &words(&line));
    let refused = fs::read_to_string(&bad).expect("rejects");
    assert!(refused.contains("\t18\tduplicate of ") && refused.contains("\t27\tsame key, other bytes than "));
    scene.clean(&[&names], &["--table", "loaded", "--rejects", bad.to_str().expect("UTF-8")]);
}

#[test]
fn a_record_whose_first_is_in_order_is_still_one_that_came_twice() {
    // The key is not stored, so that a row is known by all that it says, and both records are looked at in different places.
    let mut scene = Scene::up(&NAMES.replacen("width = 4", "width = 4\nskip = true", 1));
    let names = scene.home().join("names");
    fs::write(&names, "   7ada \n   8bob \n   7eve \n").expect("records");
    let csv = scene.convert(&[&names], &[]);
    scene.exec("CREATE TABLE names (name VARCHAR(4))");
    assert_eq!(scene.exec("INSERT INTO names VALUES ('ada'), ('bob')"), 2);
    let words = ["--table", "names", "--rejects", csv.to_str().expect("UTF-8")];
    scene.clean(&[&names], &words);
    fs::write(csv.join("names.rejects"), "").expect("rejects");
    let found = places(&scene.found(&[&names], &words));
    assert_eq!(found, [("missing-reject".to_owned(), 18)].into());
}
