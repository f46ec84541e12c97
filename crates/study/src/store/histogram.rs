//! A stored histogram before it is read. Its head says how long it is, and who believes that takes gigabytes for a hundred bytes.

use flate2::read::ZlibDecoder;
use std::io::Read;

/// How an unpacked and a packed histogram of the second version begin.
const COOKIE: u32 = 0x1c84_9313;
const PACKED_COOKIE: u32 = 0x1c84_9314;
const PACKED_HEAD_BYTES: usize = 8;
/// Cookie, length, offset, digits, lowest and highest value, and a ratio.
const HEAD_BYTES: usize = 40;
/// One of nanoseconds to 0.1 % has some 200 KB at most.
const BYTES_MAX: u64 = 16 << 20;
/// Beyond this a lowest value leaves no room for others above it.
const LOWEST_MAX: u64 = 1 << 20;

/// The histogram unpacked, with a head that can be believed.
pub(super) fn plain(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let plain = match number(bytes, 0) {
        Some(PACKED_COOKIE) => unpacked(bytes.get(PACKED_HEAD_BYTES..).unwrap_or_default())?,
        _ => bytes.to_vec(),
    };
    let (cookie, length, lowest) = (number(&plain, 0), number(&plain, 4), plain.get(16..24));
    let is_low = lowest
        .and_then(|bytes| bytes.try_into().ok())
        .is_some_and(|bytes| u64::from_be_bytes(bytes) <= LOWEST_MAX);
    let is_whole = length.is_some_and(|length| plain.len().checked_sub(HEAD_BYTES) == Some(length as usize));
    match cookie == Some(COOKIE) && is_low && is_whole {
        true => Ok(plain),
        false => Err("its histogram is damaged or missing".to_owned()),
    }
}

fn unpacked(packed: &[u8]) -> Result<Vec<u8>, String> {
    let mut plain = Vec::new();
    let read = ZlibDecoder::new(packed).take(BYTES_MAX + 1).read_to_end(&mut plain);
    read.map_err(|error| format!("its histogram cannot be unpacked: {error}"))?;
    if plain.len() as u64 > BYTES_MAX {
        return Err(format!("its histogram has more than {} MiB", BYTES_MAX >> 20));
    }
    Ok(plain)
}

/// Four bytes, the largest first.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};
    use std::io::Write;

    fn histogram() -> Histogram<u64> {
        let mut histogram = Histogram::new(3).unwrap();
        histogram.record_n(1_000_000, 90).unwrap();
        histogram.record_n(25_000_000, 10).unwrap();
        histogram
    }

    fn packed(plain: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).unwrap();
        let body = encoder.finish().unwrap();
        [&PACKED_COOKIE.to_be_bytes()[..], &(body.len() as u32).to_be_bytes(), &body].concat()
    }

    #[test]
    fn a_histogram_is_read_packed_and_unpacked() {
        let (mut plain_bytes, mut packed_bytes) = (Vec::new(), Vec::new());
        V2Serializer::new().serialize(&histogram(), &mut plain_bytes).unwrap();
        V2DeflateSerializer::new().serialize(&histogram(), &mut packed_bytes).unwrap();
        for bytes in [&plain_bytes, &packed_bytes] {
            let found: Histogram<u64> =
                Deserializer::new().deserialize(&mut plain(bytes).unwrap().as_slice()).unwrap();
            assert_eq!(found, histogram());
        }
    }

    #[test]
    fn a_head_that_says_more_than_there_is_is_not_believed() {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram(), &mut bytes).unwrap();
        for (at, value) in [(4, &[0xff; 4][..]), (16, &[0x7f; 8]), (0, &[0; 4])] {
            let mut torn = bytes.clone();
            torn[at..at + value.len()].copy_from_slice(value);
            assert!(plain(&torn).is_err() && plain(&packed(&torn)).is_err(), "at {at}");
        }
        for length in [0, 3, 8, 39, bytes.len() - 1] {
            assert!(plain(&bytes[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn one_that_unpacks_to_more_than_any_is_refused() {
        let error = plain(&packed(&vec![0; BYTES_MAX as usize + 1])).unwrap_err();
        assert!(error.contains("more than 16 MiB"), "{error}");
    }
}
