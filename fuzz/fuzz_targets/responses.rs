//! Bytes of a server in answer to a command of a control connection: no panic, and no more memory than allowed.
#![no_main]

use evenkeel_wire::{Event, Expect, ResponseReader};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 1 << 16;

fn look(event: &Event<'_>) {
    if let Event::Row(row) = event {
        assert!(row.size() <= LIMIT);
        assert!(row.fields().count() <= row.width() && row.texts().count() <= row.width());
    }
}

fuzz_target!(|data: &[u8]| {
    let [size, flags, bytes @ ..] = data else { return };
    let expect = [Expect::Text, Expect::Binary, Expect::Prepared][usize::from(flags >> 2) % 3];
    let mut reader = ResponseReader::new(flags & 1 != 0, LIMIT).with_names();
    reader.begin(expect, 1, flags & 2 != 0);
    reader.offer_file();
    for mut piece in bytes.chunks(usize::from(*size) + 1) {
        loop {
            match reader.next(&mut piece) {
                Ok(Some(Event::FileWanted { sequence })) => reader.file_sent(sequence),
                Ok(Some(event)) => look(&event),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
});
