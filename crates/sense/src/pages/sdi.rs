//! Names of indexes that each tablespace of MySQL 8 and later keeps itself (serialized dictionary information): JSON, packed by zlib,
//! in the rows of an index of its own.

use super::dictionary::{Book, IndexName};
use super::format::{u8_at, u16_at, u32_at};
use super::source::PagesError;
use super::whole::{NOBODY, Page};
use flate2::read::ZlibDecoder;
use serde_json::Value;
use std::io::Read;

/// On the first page, behind the descriptors of extents: what an encrypted tablespace has there.
const ENCRYPTION_BYTES: usize = 115;
/// Pages that are read at most, and bytes of one table's JSON at most, packed and not.
const PAGES_MAX: usize = 10_000;
const PACKED_MAX: usize = 16 << 20;
const JSON_MAX: u64 = 64 << 20;
/// Places within a row: its type, the child of a row above leaves, the length of its packed JSON, and that JSON.
const CHILD: usize = 12;
const PACKED_BYTES: usize = 29;
const DATA: usize = 33;
/// What a tablespace is described by; others are tables.
const OF_TABLESPACE: u32 = 2;
/// A row whose value lies elsewhere ends in where: tablespace, page, place, length.
const POINTER_BYTES: usize = 20;
/// Where a page of such a value has its length, the next page, and its bytes.
const PART: usize = 38;

/// The names of all indexes of a tablespace; none where it has no such information.
pub(super) fn names(book: &mut Book<'_>) -> Result<Vec<(u64, IndexName)>, PagesError> {
    if !book.format.has_sdi {
        return Ok(Vec::new());
    }
    let mut objects = Vec::new();
    let mut page = root(book)?;
    for _ in 0..PAGES_MAX {
        if page == NOBODY {
            break;
        }
        book.load(page)?;
        let bytes = book.bytes.clone();
        let here = Page { bytes: &bytes };
        let Some(header) = here.index() else { return Err(book.source.senseless(page.into())) };
        if header.level > 0 {
            page = here.rows().next().map_or(NOBODY, |(at, _)| u32_at(&bytes, at + CHILD));
            continue;
        }
        for (at, _) in here.rows().filter(|(_, is_deleted)| !is_deleted) {
            objects.extend(object(book, &bytes, at)?);
        }
        page = here.next();
    }
    Ok(named(&objects))
}

fn root(book: &mut Book<'_>) -> Result<u32, PagesError> {
    book.load(0)?;
    let (pages, extent) = (book.format.page_bytes, book.format.extent_pages() as usize);
    let descriptors = pages / extent * (24 + extent / 4);
    // A version stands before it.
    Ok(u32_at(&book.bytes, 150 + descriptors + ENCRYPTION_BYTES + 4))
}

/// What a row says, with its type; `None` where it cannot be understood.
fn object(book: &mut Book<'_>, page: &[u8], at: usize) -> Result<Option<(u32, Value)>, PagesError> {
    let kind = u32_at(page, at);
    let length = u32_at(page, at + PACKED_BYTES) as usize;
    let is_long = at >= 7 && u8_at(page, at - 6) & 0x80 != 0;
    let is_elsewhere = is_long && u8_at(page, at - 6) & 0x40 != 0;
    let local = if is_long {
        usize::from(u16_at(&[u8_at(page, at - 6), u8_at(page, at - 7)], 0) & 0x3FFF)
    } else {
        length
    };
    let own = if is_elsewhere { local.saturating_sub(POINTER_BYTES) } else { local };
    let mut packed = page.get(at + DATA..at + DATA + own).unwrap_or_default().to_vec();
    let mut next = if is_elsewhere { u32_at(page, at + DATA + own + 4) } else { NOBODY };
    while next != NOBODY && next != 0 && packed.len() < length.min(PACKED_MAX) {
        book.load(next)?;
        let bytes = u32_at(&book.bytes, PART) as usize;
        let part = book.bytes.get(PART + 8..PART + 8 + bytes).filter(|part| !part.is_empty());
        let Some(part) = part else { return Ok(None) };
        packed.extend_from_slice(part);
        next = u32_at(&book.bytes, PART + 4);
    }
    let mut json = Vec::new();
    let is_read = ZlibDecoder::new(&packed[..]).take(JSON_MAX).read_to_end(&mut json).is_ok();
    Ok(serde_json::from_slice(&json).ok().filter(|_| is_read).map(|value| (kind, value)))
}

fn named(objects: &[(u32, Value)]) -> Vec<(u64, IndexName)> {
    // A table with a file of its own is called as its tablespace, in which the name of a partition is too.
    let file = objects.iter().find(|(kind, _)| *kind == OF_TABLESPACE);
    let file =
        file.and_then(|(_, value)| value["dd_object"]["name"].as_str()).filter(|name| name.contains('/'));
    let mut found = Vec::new();
    for (_, value) in objects.iter().filter(|(kind, _)| *kind != OF_TABLESPACE) {
        let table = &value["dd_object"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        // The dictionary writes some letters by their number after this one.
        let plain = |name: String| name.replace('@', "@0040");
        let name = plain(file.map_or_else(
            || format!("{}/{}", text(&table["schema_ref"]), text(&table["name"])),
            str::to_owned,
        ));
        let indexes = array(&table["indexes"]);
        let own = indexes.iter().map(|index| (index, index));
        let of_parts =
            parts(table).into_iter().flat_map(|part| array(&part["indexes"])).filter_map(|index| {
                Some((index, indexes.get(usize::try_from(index["index_opx"].as_u64()?).ok()?)?))
            });
        for (index, named) in own.chain(of_parts) {
            found.extend(
                id(index).map(|id| (id, IndexName { table: name.clone(), index: text(&named["name"]) })),
            );
        }
    }
    found
}

/// Partitions of a table, and theirs.
fn parts(table: &Value) -> Vec<&Value> {
    let all = array(&table["partitions"]);
    all.iter().chain(all.iter().flat_map(|part| array(&part["subpartitions"]))).collect()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The number of an index in the server: `id=155;root=4;space_id=2;`
fn id(index: &Value) -> Option<u64> {
    let fields = index["se_private_data"].as_str()?;
    fields.split(';').find_map(|field| field.strip_prefix("id=")?.parse().ok())
}
