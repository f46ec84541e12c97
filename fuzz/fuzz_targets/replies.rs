//! Bytes of a server in answer to a few commands: however they are cut, they say the same.
#![no_main]

use evenkeel_wire::relay::{CommandKind, Dialect, Reply, ReplyReader};
use libfuzzer_sys::fuzz_target;

fn read(reader: &mut ReplyReader, bytes: &[u8], size: usize) -> (Vec<Reply>, bool) {
    let mut found = Vec::new();
    for mut piece in bytes.chunks(size) {
        loop {
            match reader.next(&mut piece) {
                Ok(Some(reply)) => found.push(reply),
                Ok(None) => break,
                Err(_) => return (found, false),
            }
        }
    }
    (found, true)
}

fuzz_target!(|data: &[u8]| {
    let [size, flags, first, second, bytes @ ..] = data else { return };
    let dialect = Dialect::new(u64::from(*flags) << 24 | u64::from(*flags) << 30);
    let read = |size| {
        let mut reader = ReplyReader::new(dialect);
        [*first, *second].into_iter().for_each(|byte| reader.expect(CommandKind::of(byte)));
        read(&mut reader, bytes, size)
    };
    assert_eq!(read(usize::from(*size) + 1), read(usize::MAX));
});
