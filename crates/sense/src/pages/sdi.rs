//! Names of indexes that each tablespace of MySQL 8 and later keeps itself (serialized dictionary information): JSON, packed by zlib,
//! in the rows of an index of its own.

use super::book::{Book, IndexName};
use super::format::{u8_at, u16_at, u32_at};
use super::source::PagesError;
use super::whole::{NOBODY, Page};
use flate2::read::ZlibDecoder;
use serde_json::Value;
use std::io::Read;

/// On the first page, behind the descriptors of extents: what an encrypted tablespace has there.
const ENCRYPTION_BYTES: usize = 115;
/// Pages of rows that are read at most, bytes of one table's packed JSON, and of its JSON.
const PAGES_MAX: usize = 10_000;
const PACKED_MAX: usize = 16 << 20;
const JSON_MAX: u64 = 64 << 20;
/// Places within a row: the child of a row above leaves, the length of its packed JSON, and that JSON.
const CHILD: usize = 12;
const PACKED_BYTES: usize = 29;
const DATA: usize = 33;
/// A row whose value lies elsewhere ends in where: tablespace, page, place, length.
const POINTER_BYTES: usize = 20;
/// Where a page of such a value has its length, the next page, and its bytes.
const PART: usize = 38;

/// The names of all indexes of a tablespace; none where it has no such information.
pub(super) fn names(book: &mut Book<'_>) -> Result<Vec<(u64, IndexName)>, PagesError> {
    if !book.format.has_sdi {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
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
            found.extend(object(book, &bytes, at)?.as_ref().map(named).unwrap_or_default());
        }
        page = here.next();
    }
    Ok(found)
}

fn root(book: &mut Book<'_>) -> Result<u32, PagesError> {
    book.load(0)?;
    let (pages, extent) = (book.format.page_bytes, book.format.extent_pages() as usize);
    let descriptors = pages / extent * (24 + extent / 4);
    // A version stands before it.
    Ok(u32_at(&book.bytes, 150 + descriptors + ENCRYPTION_BYTES + 4))
}

/// What a row says; `None` where it cannot be understood.
fn object(book: &mut Book<'_>, page: &[u8], at: usize) -> Result<Option<Value>, PagesError> {
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
    while next != NOBODY && packed.len() < length.min(PACKED_MAX) {
        book.load(next)?;
        let bytes = u32_at(&book.bytes, PART) as usize;
        let part = book.bytes.get(PART + 8..PART + 8 + bytes).filter(|part| !part.is_empty());
        let Some(part) = part else { return Ok(None) };
        packed.extend_from_slice(part);
        next = u32_at(&book.bytes, PART + 4);
    }
    let mut json = Vec::new();
    let is_read = ZlibDecoder::new(&packed[..]).take(JSON_MAX).read_to_end(&mut json).is_ok();
    Ok(serde_json::from_slice(&json).ok().filter(|_| is_read))
}

/// Indexes of a table; none where something else is described.
fn named(object: &Value) -> Vec<(u64, IndexName)> {
    let table = &object["dd_object"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // The dictionary writes some letters by their number after this one.
    let name = format!("{}/{}", text(&table["schema_ref"]), text(&table["name"])).replace('@', "@0040");
    let indexes = array(&table["indexes"]);
    let own = indexes.iter().map(|index| (index, index));
    let of_parts = parts(table)
        .into_iter()
        .flat_map(|part| array(&part["indexes"]))
        .filter_map(|index| Some((index, indexes.get(usize::try_from(index["index_opx"].as_u64()?).ok()?)?)));
    own.chain(of_parts)
        .filter_map(|(index, named)| {
            Some((id(index)?, IndexName { table: name.clone(), index: text(&named["name"]) }))
        })
        .collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::format::Format;
    use crate::pages::source::Source;
    use serde_json::json;
    use std::io::Write;

    #[test]
    fn indexes_of_a_table_and_of_its_partitions_are_named() {
        let index =
            |id: u64| json!({"name": "by_v", "index_opx": 0, "se_private_data": format!("id={id};root=4;")});
        let part = json!({"indexes": [index(8)], "subpartitions": [{"indexes": [index(9)]}]});
        let table = json!({"dd_object": {
            "name": "b@c", "schema_ref": "shop", "indexes": [{"name": "by_v", "se_private_data": ""}], "partitions": [part]
        }});
        let found = named(&table);
        let name = |table: &str| IndexName { table: table.to_owned(), index: "by_v".to_owned() };
        assert_eq!(found, [(8, name("shop/b@0040c")), (9, name("shop/b@0040c"))]);
        assert_eq!([json!({"dd_object": {"indexes": 7}}), json!(null)].map(|other| named(&other)), [[], []]);
    }

    #[test]
    fn a_value_that_lies_on_pages_of_its_own_is_put_together() {
        const SIZE: usize = 16 << 10;
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("t.ibd");
        let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(br#"{"dd_object": {}}"#).unwrap();
        let packed = packer.finish().unwrap();
        let (head, tail) = packed.split_at(9);
        let mut file = vec![0; 2 * SIZE];
        let page = &mut file[SIZE..];
        page[..4].copy_from_slice(&0xDEAD_BEEF_u32.to_be_bytes());
        page[7] = 1;
        page[38..42].copy_from_slice(&(tail.len() as u32).to_be_bytes());
        page[42..46].copy_from_slice(&NOBODY.to_be_bytes());
        page[46..46 + tail.len()].copy_from_slice(tail);
        std::fs::write(&path, &file).unwrap();
        let mut row = vec![0; 200];
        row[93..95].copy_from_slice(&[(head.len() + POINTER_BYTES) as u8, 0xC0]);
        row[100 + PACKED_BYTES..][..4].copy_from_slice(&(packed.len() as u32).to_be_bytes());
        row[100 + DATA..][..head.len()].copy_from_slice(head);
        row[100 + DATA + head.len() + 7] = 1;
        let format = Format { page_bytes: SIZE, has_sdi: true, ..Format::default() };
        let mut book = Book { source: Source::open(&path).unwrap(), format, bytes: vec![0; SIZE] };
        assert!(object(&mut book, &row, 100).unwrap().is_some_and(|value| value["dd_object"].is_object()));
    }
}
