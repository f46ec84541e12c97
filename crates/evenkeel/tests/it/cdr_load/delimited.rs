//! Files whose fields have delimiters, as telephone systems write them.

use super::Server;
use crate::cli::{kill, refused};
use crate::sandbox::done;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

fn example(name: &str) -> String {
    format!("{}/../../examples/cdr/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

/// Calls as Asterisk writes them: some with delimiters, quotes and line ends within a value, some never answered.
fn asterisk(numbers: std::ops::Range<u32>) -> String {
    let call = |number: u32| {
        let clid = format!("\"\"Ada; Byron, {number}\"\" <{number}>");
        let answer = if number.is_multiple_of(3) { String::new() } else { "2026-11-30 10:00:05".to_owned() };
        let note = if number.is_multiple_of(5) { "two\nlines \\ and a tab\t" } else { "" };
        format!(
            "\"\",\"{number}\",\"0049{number}\",\"internal\",\"{clid}\",\"SIP/1\",\"SIP/2\",\"Dial\",\"SIP/2,30\",\"2026-11-30 10:00:00\",\
             \"{answer}\",\"2026-11-30 10:01:00\",60,55,\"ANSWERED\",\"DOCUMENTATION\",\"1790000000.{number}\",\"{note}\"\n"
        )
    };
    numbers.map(call).collect()
}

fn load<'a>(path: &'a str, layout: &'a str, rejects: &'a str) -> [&'a str; 10] {
    ["cdr", "load", "sandbox:a/cdr", path, "--layout", layout, "--table", "calls", "--rejects", rejects]
}

#[test]
fn records_of_asterisk_are_stored_each_once_through_a_kill_and_packed_or_not() {
    let server = Server::up(&[]);
    let rejects = server.path("calls.rejects");
    let (path, layout) = (server.path("Master.csv"), example("asterisk"));
    fs::write(&path, asterisk(0..60_000)).expect("a file");
    let words = [&load(&path, &layout, &rejects)[..], &["--transaction", "1M"]].concat();
    let child = crate::cli::piped(server.home(), &words);
    server.wait_for_parts(2);
    kill(child);
    let told = done(server.home(), &words);
    assert!(
        told.contains("60000 records = 60000 stored + 0 rejected: each once") || told.contains("each once"),
        "{told}"
    );
    assert_eq!(server.count("calls"), 60_000);
    let row = "SELECT CONCAT_WS('|', clid, HEX(userfield), answer IS NULL) FROM calls WHERE uniqueid = '1790000000.15'";
    assert_eq!(
        server.value(row),
        "\"Ada; Byron, 15\" <15>|74776F0A6C696E6573205C20616E642061207461620A|1"
            .replace("7461620A", "74616209")
    );
    // The same records under another name, packed.
    let packed = server.path("again.csv.gz");
    let gzip =
        Command::new("gzip").arg("-c").arg(&path).stdout(fs::File::create(&packed).expect("a file")).status();
    assert!(gzip.expect("gzip").success());
    let told = done(server.home(), &load(&packed, &layout, &rejects));
    assert!(told.starts_with("already loaded: 60,000 records, 60,000 rows"), "{told}");
    assert_eq!(server.count("calls"), 60_000);
}

#[test]
fn a_file_that_goes_on_under_another_name_brings_what_is_new() {
    let server = Server::up(&[]);
    let rejects = server.path("calls.rejects");
    let (half, whole, layout) = (server.path("half.csv"), server.path("whole.csv"), example("asterisk"));
    fs::write(&half, asterisk(0..100)).expect("a file");
    fs::write(&whole, asterisk(0..250)).expect("a file");
    for (path, rows) in [(&half, 100), (&whole, 250)] {
        done(server.home(), &load(path, &layout, &rejects));
        assert_eq!(server.count("calls"), rows);
    }
}

#[test]
fn seconds_since_1970_become_the_clock_of_a_zone_also_in_the_hour_that_autumn_doubles() {
    let server = Server::up(&[]);
    let rejects = server.path("calls.rejects");
    let (path, layout) = (server.path("cucm.csv"), example("cisco"));
    let header = "\"cdrRecordType\",\"manager\",\"callId\",\"origination\",\"calling\",\"called\",\"connect\",\"disconnect\",\"duration\"\r\n";
    let lines = "1,1,1,1792888200,\"2001\",\"0049\",0,1792888260,0\r\n1,1,2,1792891800,\"2001\",\"0049\",1792891805,1792891860,55\r\n";
    fs::write(&path, format!("\u{feff}{header}{lines}")).expect("a file");
    let told = done(server.home(), &load(&path, &layout, &rejects));
    assert!(told.contains("2 records = 2 stored + 0 rejected: each once"), "{told}");
    let calls = "SELECT GROUP_CONCAT(CONCAT_WS(' ', datetimeorigination, datetimeconnect) ORDER BY globalcallid_callid SEPARATOR ';') FROM calls";
    assert_eq!(server.value(calls), "2026-10-25 02:30:00;2026-10-25 02:30:00 2026-10-25 02:30:05");
}

#[test]
fn a_guessed_layout_loads_utf16_and_a_header_with_other_columns_is_refused() {
    let server = Server::up(&[]);
    let rejects = server.path("calls.rejects");
    let (path, layout) = (server.path("calls.csv"), server.path("calls.toml"));
    let lines: String = (1..=50)
        .map(|n| format!("{n:02}/11/26 02:{n:02}PM;+49{n};\"Zoë, {n}\";0.{n:02}\n"))
        .take(28)
        .collect();
    let text = format!("Start;From;Name;Price\n{lines}");
    let utf16: Vec<u8> = [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    fs::write(&path, utf16).expect("a file");
    done(server.home(), &["cdr", "layout", &path, "--output", &layout, "--quiet"]);
    let words = load(&path, &layout, &rejects);
    let told = done(server.home(), &words);
    assert!(told.contains("28 records = 28 stored + 0 rejected: each once"), "{told}");
    let first =
        "SELECT CONCAT_WS('|', start, `from`, name, ROUND(price, 2)) FROM calls ORDER BY start LIMIT 1";
    assert_eq!(server.value(first), "2026-11-01 14:01:00|+491|Zoë, 1|0.01");
    let other = server.path("other.csv");
    fs::write(&other, text.replace("Start;From", "From;Start")).expect("a file");
    let told = refused(server.home(), &words.map(|word| if word == path { &other } else { word }));
    assert!(told.contains("its header is not that of the layout: From;Start;Name;Price"), "{told}");
    assert_eq!(server.count("calls"), 28);
}

#[test]
fn a_file_with_too_many_rejects_changes_nothing_and_one_that_is_no_text_is_named() {
    let server = Server::up(&[]);
    let (path, layout) = (server.path("smdr.txt"), example("smdr"));
    let good = "2026/11/30 10:00:00,00:00:10,3,2001,O,0049\n".repeat(94);
    fs::write(&path, format!("{good}{}", "2026/13/30 10:00:00,x\n".repeat(6))).expect("a file");
    let rejects = server.path("bad");
    let words = load(&path, &layout, &rejects);
    let (code, told) = server.asked(&words.map(str::to_owned));
    assert!(
        code == Some(1)
            && told.contains("6 of 100 records are rejects")
            && told.contains("nothing of it is stored"),
        "{told}"
    );
    assert_eq!(
        server.value("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 'calls'"),
        "0"
    );
    assert_eq!(fs::read_to_string(server.path("bad")).expect("rejects").lines().count(), 6);
    let more = [&words[..], &["--max-rejects", "6"]].concat();
    assert!(done(server.home(), &more).contains("100 records = 94 stored + 6 rejected: each once"));
    assert_eq!(fs::read_to_string(server.path("bad")).expect("rejects").lines().count(), 6);
    let iconv =
        Command::new("iconv").args(["-t", "IBM1047"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut iconv = iconv.expect("iconv is in Debian's base");
    iconv.stdin.take().expect("a pipe").write_all(good.as_bytes()).expect("it reads");
    let other = server.path("ebcdic");
    fs::write(&other, iconv.wait_with_output().expect("it ends").stdout).expect("a file");
    let told = refused(server.home(), &words.map(|word| if word == path { &other } else { word }));
    assert!(told.contains("it is EBCDIC: iconv"), "{told}");
}

#[test]
fn what_one_file_brought_is_taken_out_and_nothing_where_a_row_differs() {
    let server = Server::up(&[]);
    let (one, two, layout) = (server.path("one.csv"), server.path("two.csv"), example("asterisk"));
    fs::write(&one, asterisk(0..100)).expect("a file");
    fs::write(&two, asterisk(100..250)).expect("a file");
    let unload =
        |path| ["cdr", "unload", "sandbox:a/cdr", path, "--layout", layout.as_str(), "--table", "calls"];
    let rejects = server.path("calls.rejects");
    for path in [&one, &two] {
        done(server.home(), &load(path, &layout, &rejects));
    }
    server.exec("UPDATE calls SET billsec = 1 WHERE uniqueid = '1790000000.20'");
    let told = refused(server.home(), &unload(&one));
    assert!(
        told.contains("brought 100 rows, and 99 of them are in the table as the file has them"),
        "{told}"
    );
    assert_eq!(server.count("calls"), 250);
    server.exec("UPDATE calls SET billsec = 55 WHERE uniqueid = '1790000000.20'");
    assert!(done(server.home(), &unload(&one)).contains("one.csv: 100 rows taken out"));
    assert_eq!(server.value("SELECT CONCAT_WS(' ', COUNT(*), MIN(src + 0)) FROM calls"), "150 100");
    assert!(refused(server.home(), &unload(&one)).contains("was not loaded into calls"));
    done(server.home(), &load(&one, &layout, &rejects));
    assert_eq!(server.count("calls"), 250);
}
