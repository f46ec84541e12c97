//! The files of rejects: which records were refused, by file and byte offset, with their bytes.

use super::records::{Noted, Records};
use super::sums::{Entry, Of, Wanted};
use crate::blocks::{Blocks, Separator, records};
use crate::convert::tidy;
use crate::keys::Place;
use crate::{HaulError, input};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// What a line of the converter's begins its reason with where a record's key came before.
const REPEATS: [&[u8]; 2] = [b"duplicate of ", b"same key, other bytes than "];
/// The same of a load's line where the server had the key already.
const TAKEN: &[u8] = b"its key is in the table already";

/// Hands out what the rejects files of the inputs say; one that is not there says nothing.
pub(super) fn read(
    of: &Records<'_>,
    rejects: &Path,
    wanted: Option<&Wanted>,
    take: &mut dyn FnMut(&Entry) -> Result<(), HaulError>,
) -> Result<(), HaulError> {
    let folder = rejects.is_dir();
    if !folder {
        return read_file(of, rejects, None, wanted, take);
    }
    for (number, input) in (0_u32..).zip(of.inputs) {
        read_file(of, &path(rejects, input, of.inputs), Some(number), wanted, take)?;
    }
    Ok(())
}

/// The rejects file of an input. In a folder a watch calls it by the whole name of the input, and a conversion leaves out how that is packed;
/// the latter is not asked where another input of the audit is called so, whose rejects they are.
pub(super) fn path(rejects: &Path, input: &Path, inputs: &[PathBuf]) -> PathBuf {
    if !rejects.is_dir() {
        return rejects.to_owned();
    }
    let (name, stem) = (name(input), input::stem(input));
    let whole = rejects.join(format!("{name}.rejects"));
    let is_anothers = name != stem && inputs.iter().any(|other| self::name(other) == stem);
    if whole.is_file() || is_anothers { whole } else { rejects.join(format!("{stem}.rejects")) }
}

fn name(input: &Path) -> String {
    input.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// `input` is the one that all lines are of; without it each line names its own.
fn read_file(
    of: &Records<'_>,
    path: &Path,
    input: Option<u32>,
    wanted: Option<&Wanted>,
    take: &mut dyn FnMut(&Entry) -> Result<(), HaulError>,
) -> Result<(), HaulError> {
    let failed = || HaulError::io("read", path);
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && input.is_some() => return Ok(()),
        file => file.map_err(failed())?,
    };
    let (mut blocks, mut block, mut noted) = (Blocks::of_rejects(file), Vec::new(), Noted::default());
    while let Some(offset) = blocks.next(&mut block).map_err(failed())? {
        if of.stop.is_set() {
            return Err(HaulError::Stopped { path: path.to_owned(), at: offset });
        }
        for (at, line) in records(&block, Separator::Line) {
            let entry = entry(of, line, input, offset + at as u64, &mut noted);
            if let Some(entry) = entry.filter(|entry| wanted.is_none_or(|wanted| wanted.has(entry.group))) {
                take(&entry)?;
            }
        }
    }
    Ok(())
}

/// What a line says; `None` where it is of no input, or of a type that nobody looks at.
fn entry(of: &Records<'_>, line: &[u8], input: Option<u32>, at: u64, noted: &mut Noted) -> Option<Entry> {
    let Some(found) = parse(line) else {
        let place = Place { input: input.unwrap_or(0), offset: at }.packed();
        let group = xxh3_128(&[&b"garbled"[..], &place.to_be_bytes()].concat());
        return Some(Entry { group, of: Of::Garbled, row: 0, record: xxh3_64(line), place, retired: 0 });
    };
    let named = || {
        if of.names_exactly {
            let is_it = |input: &PathBuf| tidy(&input.to_string_lossy()).as_bytes() == found.file;
            return of.inputs.iter().position(is_it).and_then(|number| u32::try_from(number).ok());
        }
        let name = input::stem(Path::new(&*String::from_utf8_lossy(found.file)));
        of.inputs
            .iter()
            .position(|input| input::stem(input) == name)
            .and_then(|number| u32::try_from(number).ok())
    };
    let place = Place { input: input.or_else(named)?, offset: found.offset };
    let listed = match found.reason {
        reason if reason.starts_with(TAKEN) => Of::ListedKey,
        reason if REPEATS.iter().any(|repeat| reason.starts_with(repeat)) => Of::ListedRepeat,
        _ => Of::Listed,
    };
    of.note_listed(&found.record, place, listed, noted)
}

pub(crate) struct Line<'a> {
    pub file: &'a [u8],
    pub offset: u64,
    pub reason: &'a [u8],
    pub record: Vec<u8>,
}

/// Whether a reason is that another record has the key.
pub(crate) fn is_repeat(reason: &[u8]) -> bool {
    reason.starts_with(TAKEN) || REPEATS.iter().any(|repeat| reason.starts_with(repeat))
}

pub(crate) fn parse(line: &[u8]) -> Option<Line<'_>> {
    let mut parts = line.splitn(4, |byte| *byte == b'\t');
    let (file, offset, reason) = (parts.next()?, parts.next()?, parts.next()?);
    let offset = std::str::from_utf8(offset).ok()?.parse().ok().filter(|at| *at < crate::keys::BYTES)?;
    Some(Line { file, offset, reason, record: unescape(parts.next()?)? })
}

/// The bytes of a record: `\\` and `\x00` are what the converter writes. `None` of anything else.
fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    let (mut record, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((byte, more)) = rest.split_first() {
        rest = more;
        match (byte, rest) {
            (b'\\', [b'\\', more @ ..]) => (record.push(b'\\'), rest = more).0,
            (b'\\', [b'x', one, two, more @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                record.push(u8::try_from(16 * digit(one)? + digit(two)?).ok()?);
                rest = more;
            }
            (b' '..=b'~', _) if *byte != b'\\' => record.push(*byte),
            _ => return None,
        }
    }
    Some(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_of_a_packed_file_are_its_own_and_never_those_of_a_plain_one_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let [plain, packed] = ["in/a.cdr", "in/a.cdr.gz"].map(PathBuf::from);
        let found = |inputs: &[PathBuf]| path(folder.path(), &packed, inputs).file_name().unwrap().to_owned();
        std::fs::write(folder.path().join("a.cdr.rejects"), "").unwrap();
        assert_eq!(found(std::slice::from_ref(&packed)), "a.cdr.rejects");
        assert_eq!(found(&[plain.clone(), packed.clone()]), "a.cdr.gz.rejects");
        std::fs::write(folder.path().join("a.cdr.gz.rejects"), "").unwrap();
        assert_eq!(found(std::slice::from_ref(&packed)), "a.cdr.gz.rejects");
        assert_eq!(
            path(folder.path(), &plain, &[packed.clone(), plain.clone()]),
            folder.path().join("a.cdr.rejects")
        );
    }

    #[test]
    fn every_byte_of_a_record_comes_back_and_what_nobody_wrote_is_no_record() {
        assert_eq!(unescape(b"a\\\\b\\x00\\xe9 ").unwrap(), b"a\\b\0\xe9 ");
        for bad in [&b"a\\"[..], b"\\x0", b"\\n", b"a\tb", b"\\xzz"] {
            assert_eq!(unescape(bad), None);
        }
        assert!(parse(b"calls\t12\tshort\trecord").is_some_and(|line| line.offset == 12));
        assert!(parse(b"calls\tx\tshort\trecord").is_none() && parse(b"calls\t1").is_none());
    }
}
