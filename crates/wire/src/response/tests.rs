//! The reader against responses built here, cut at every place, and against garbage.

use super::*;
use crate::bytes::{put_number, put_string};
use crate::packet;
use crate::row::Field;
use proptest::collection::vec;
use proptest::prelude::*;

/// A response as a server writes it.
struct Server {
    bytes: Vec<u8>,
    sequence: u8,
    deprecate_eof: bool,
}

impl Server {
    fn new(deprecate_eof: bool) -> Self {
        Self { bytes: Vec::new(), sequence: 1, deprecate_eof }
    }

    fn packet(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        packet::put(&mut self.bytes, &mut self.sequence, write);
    }

    fn ok(&mut self, header: u8, affected: u64, status: u16) {
        self.packet(|out| {
            out.push(header);
            put_number(out, affected);
            put_number(out, 77);
            out.extend_from_slice(&status.to_le_bytes());
            out.extend_from_slice(&[3, 0]);
        });
    }

    fn end(&mut self, status: u16) {
        if self.deprecate_eof {
            return self.ok(0xfe, 0, status);
        }
        let [low, high] = status.to_le_bytes();
        self.packet(|out| out.extend_from_slice(&[0xfe, 3, 0, low, high]));
    }

    fn error(&mut self, code: u16, text: &str) {
        self.packet(|out| {
            out.push(0xff);
            out.extend_from_slice(&code.to_le_bytes());
            out.extend_from_slice(b"#40001");
            out.extend_from_slice(text.as_bytes());
        });
    }

    fn definition(&mut self) {
        self.packet(|out| {
            for text in ["def", "db", "t", "t", "c", "c"] {
                put_string(out, text.as_bytes());
            }
            out.extend_from_slice(&[12, 45, 0, 0, 0, 0, 1, 0xfd, 0, 0, 0, 0, 0]);
        });
    }

    /// Rows of one text column.
    fn rows(&mut self, rows: &[Vec<u8>], status: u16) {
        self.packet(|out| out.push(1));
        self.definition();
        if !self.deprecate_eof {
            self.end(0);
        }
        for row in rows {
            self.packet(|out| put_string(out, row));
        }
        self.end(status);
    }
}

/// The events of a response fed in pieces that end at `cuts`.
fn events(reader: &mut ResponseReader, bytes: &[u8], cuts: &[usize]) -> Result<Vec<String>, ProtocolError> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    let mut events = Vec::new();
    for piece in cuts.windows(2) {
        let mut input = &bytes[piece[0]..piece[1]];
        while let Some(event) = reader.next(&mut input)? {
            events.push(show(&event));
        }
        assert!(reader.head.len() <= HEAD_BYTES.max(reader.packet_limit));
    }
    Ok(events)
}

fn show(event: &Event<'_>) -> String {
    match event {
        Event::Row(row) => {
            let text = |field: Result<Field<'_>, _>| match field {
                Ok(Field::Text(text)) => format!("{} {:?}", text.len(), text.first()),
                other => format!("{other:?}"),
            };
            row.fields().map(text).collect()
        }
        other => format!("{other:?}"),
    }
}

fn read(bytes: &[u8], deprecate_eof: bool, expect: Expect, capture: bool, cuts: &[usize]) -> Vec<String> {
    let mut reader = ResponseReader::new(deprecate_eof, 64 << 20);
    reader.begin(expect, 1, capture);
    let events = events(&mut reader, bytes, cuts).unwrap();
    assert!(reader.is_done());
    events
}

fn asked() -> ResponseReader {
    let mut reader = ResponseReader::new(true, 1_000);
    reader.begin(Expect::Text, 1, false);
    reader
}

fn response(kind: u8, rows: &[Vec<u8>], deprecate_eof: bool) -> Vec<u8> {
    let mut server = Server::new(deprecate_eof);
    match kind {
        0 => server.ok(0, 300, 2),
        1 => server.rows(rows, 2),
        2 => server.error(1213, "deadlock"),
        3 => {
            server.rows(rows, status::MORE_RESULTS);
            server.ok(0, 1, status::MORE_RESULTS);
            server.rows(rows, 0);
        }
        _ => {
            server.rows(rows, status::MORE_RESULTS);
            server.error(1205, &"long text ".repeat(100));
        }
    }
    server.bytes
}

proptest! {
    #[test]
    fn any_split_of_the_bytes_gives_the_same_events(
        kind in 0_u8..5,
        rows in vec(vec(any::<u8>(), 0..400), 0..12),
        cuts in vec(any::<usize>(), 0..30),
        deprecate_eof: bool,
        capture: bool,
    ) {
        let bytes = response(kind, &rows, deprecate_eof);
        let whole = read(&bytes, deprecate_eof, Expect::Text, capture, &[]);
        prop_assert_eq!(&read(&bytes, deprecate_eof, Expect::Text, capture, &cuts), &whole);
        let all: Vec<usize> = (0..bytes.len()).collect();
        prop_assert_eq!(&read(&bytes, deprecate_eof, Expect::Text, capture, &all), &whole);
    }

    #[test]
    fn a_damaged_response_never_panics_and_keeps_memory_bounded(
        kind in 0_u8..5,
        at: prop::sample::Index,
        value: u8,
        deprecate_eof: bool,
    ) {
        let mut bytes = response(kind, &[b"abc".to_vec()], deprecate_eof);
        *at.get_mut(&mut bytes) = value;
        let mut reader = ResponseReader::new(deprecate_eof, 1_000).with_names();
        reader.begin(Expect::Text, 1, true);
        reader.offer_file();
        let _ = events(&mut reader, &bytes, &[]);
        prop_assert!(reader.head.len() <= 1_000 && reader.names().len() <= COLUMNS_MAX as usize);
    }

    #[test]
    fn the_texts_of_any_payload_are_a_row_or_end_in_one_error(payload in vec(any::<u8>(), 0..300), columns in 1_usize..9) {
        let mut definition = Server::new(true);
        definition.definition();
        let columns = vec![Column::parse(&definition.bytes[4..]).unwrap(); columns];
        let texts: Vec<_> = Row::new(&payload, &columns, false).texts().collect();
        let whole = texts.iter().take_while(|text| text.is_ok()).count();
        prop_assert!(whole == columns.len() || texts.len() == whole + 1);
    }
}

#[test]
fn rows_are_counted_whether_or_not_they_are_captured() {
    let rows = vec![b"one".to_vec(), b"two".to_vec()];
    let bytes = response(1, &rows, true);
    let end = "RowsEnd { rows: 2, ok: Completion { affected_rows: 0, last_insert_id: 77, status: 2, warnings: 3 } }";
    assert_eq!(read(&bytes, true, Expect::Text, false, &[]), ["Columns(1)", end]);
    let captured = read(&bytes, true, Expect::Text, true, &[]);
    assert_eq!(captured, ["Columns(1)", "3 Some(111)", "3 Some(116)", end]);
}

#[test]
fn a_row_above_sixteen_mebibytes_is_one_row_and_not_an_end() {
    for deprecate_eof in [false, true] {
        let bytes = response(1, &[vec![b'x'; PAYLOAD_MAX + 10], vec![b'y']], deprecate_eof);
        let cuts = [70, 5_000, PAYLOAD_MAX, PAYLOAD_MAX + 80];
        let events = read(&bytes, deprecate_eof, Expect::Text, true, &cuts);
        assert_eq!(events[1..3], [format!("{} Some(120)", PAYLOAD_MAX + 10), "1 Some(121)".to_owned()]);
        assert_eq!(read(&bytes, deprecate_eof, Expect::Text, false, &cuts).len(), 2);
    }
}

#[test]
fn a_captured_row_above_the_limit_is_refused_and_an_uncaptured_one_is_not() {
    let bytes = response(1, &[vec![b'x'; 5_000]], true);
    for (capture, expected) in [(true, Err(ProtocolError::TooLarge { limit: 1_000 })), (false, Ok(2))] {
        let mut reader = ResponseReader::new(true, 1_000);
        reader.begin(Expect::Text, 1, capture);
        assert_eq!(events(&mut reader, &bytes, &[100]).map(|events| events.len()), expected);
    }
}

#[test]
fn a_preparation_ends_after_both_lists_of_definitions() {
    for deprecate_eof in [false, true] {
        let mut server = Server::new(deprecate_eof);
        server.packet(|out| out.extend_from_slice(&[0, 9, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0]));
        for definitions in [1, 2] {
            (0..definitions).for_each(|_| server.definition());
            if !deprecate_eof {
                server.end(0);
            }
        }
        let events = read(&server.bytes, deprecate_eof, Expect::Prepared, false, &[3, 30, 31]);
        assert_eq!(events, ["Prepared { statement: 9, parameters: 1 }"]);
    }
}

#[test]
fn an_error_in_the_middle_of_rows_ends_the_response() {
    let mut server = Server::new(true);
    server.packet(|out| out.push(1));
    server.definition();
    server.packet(|out| put_string(out, b"row"));
    server.error(1317, "interrupted");
    let events = read(&server.bytes, true, Expect::Text, false, &[]);
    assert!(events[1].contains("1317") && events[1].contains("interrupted"), "{events:?}");
}

#[test]
fn a_missing_packet_is_noticed_by_its_number() {
    let mut server = Server::new(true);
    server.sequence = 2;
    server.ok(0, 0, 0);
    let found = events(&mut asked(), &server.bytes, &[]);
    assert_eq!(found, Err(ProtocolError::Sequence { expected: 1, found: 2 }));
}

#[test]
fn only_a_file_that_was_offered_may_be_asked_for_and_once() {
    let mut server = Server::new(true);
    server.packet(|out| out.extend_from_slice(b"\xfbrows"));
    let mut reader = asked();
    reader.offer_file();
    assert_eq!(events(&mut reader, &server.bytes, &[3]).unwrap(), ["FileWanted { sequence: 2 }"]);
    assert!(!reader.is_done());
    assert_eq!(reader.next(&mut &b"\x01"[..]), Err(ProtocolError::Unasked), "nothing is due before the file");

    // Two packets of the file and the empty one.
    reader.file_sent(5);
    let mut answer = Server { sequence: 5, ..Server::new(true) };
    answer.ok(0, 2, 0);
    assert!(events(&mut reader, &answer.bytes, &[]).unwrap()[0].starts_with("Ok("));
    assert!(reader.is_done());
    // Asked for once more, and without an offer.
    let mut reader = asked();
    reader.offer_file();
    events(&mut reader, &server.bytes, &[]).unwrap();
    reader.file_sent(2);
    server = Server { sequence: 2, ..Server::new(true) };
    server.packet(|out| out.extend_from_slice(b"\xfbrows"));
    assert_eq!(events(&mut reader, &server.bytes, &[]), Err(ProtocolError::LocalFile));
    server = Server::new(true);
    server.packet(|out| out.extend_from_slice(b"\xfb/etc/passwd"));
    assert_eq!(events(&mut asked(), &server.bytes, &[]), Err(ProtocolError::LocalFile));
}

#[test]
fn names_are_those_of_the_result_that_was_captured_last() {
    let bytes = response(3, &[b"one".to_vec()], true);
    let mut reader = ResponseReader::new(true, 1_000).with_names();
    reader.begin(Expect::Text, 1, true);
    let mut input = &bytes[..];
    let mut rows = 0;
    while let Some(event) = reader.next(&mut input).unwrap() {
        let ends = matches!(event, Event::RowsEnd { .. });
        rows += u32::from(matches!(event, Event::Row(_)));
        if ends {
            reader.skip_rows();
        }
    }
    assert_eq!((reader.names(), rows), (&["c".to_owned()][..], 1));
}
