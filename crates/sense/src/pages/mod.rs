//! The pages of InnoDB's files: to which index each belongs, how full it is, and where the next one in the order of keys lies.
//!
//! A file is read once, from its beginning to its end, in large reads: [`read`]. Every page is judged by its checksum and by
//! where it says that it belongs (`whole`), counted by kind and by level of its index (`tally`), and its neighbours are kept in a table
//! (`links`) of a little more than ten bytes a page, through which each chain is then followed (`walk`). What is packed, encrypted,
//! damaged or being written is refused as a whole: a file has all of its figures or none.
//! Nobody may write meanwhile: files are those of a stopped server, or held by FLUSH TABLES ... FOR EXPORT.

mod book;
mod dictionary;
mod format;
mod read;
mod rebuilt;
mod sdi;
mod source;
mod tally;
mod walk;
mod whole;

pub use book::IndexName;
pub use dictionary::Names;
pub use format::Format;
pub use read::read;
pub use rebuilt::Room;
pub use source::{PagesError, holder};
pub use tally::{Broken, FILLS, Fault, IndexLayout, RangeCost, Tablespace};

/// What a page is for, by the number in its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageKind {
    /// A page of an index.
    Index,
    UndoLog,
    /// Which pages belong to which part of an index.
    Inode,
    /// Free pages of the change buffer.
    ChangeBufferFree,
    /// Never used, or not yet.
    Allocated,
    /// What of which page is in the change buffer.
    ChangeBufferBitmap,
    System,
    /// State of all transactions.
    TransactionSystem,
    /// The first page of a tablespace.
    SpaceHeader,
    /// Which pages of the next extents are free.
    Extents,
    /// A value that is too long for the page of its row.
    Blob,
    /// The same of ROW_FORMAT=COMPRESSED.
    CompressedBlob,
    /// Packed by page compression.
    PageCompressed,
    /// The same, encrypted.
    PageCompressedEncrypted,
    /// What MySQL 8 says of the tables of a tablespace.
    Sdi,
    SdiBlob,
    /// Values that are too long for the page of their row, since MySQL 8.
    LobFirst,
    LobData,
    LobIndex,
    CompressedLob,
    /// MySQL: where the rollback segments of an undo tablespace begin.
    RollbackSegments,
    Encrypted,
    /// None of these.
    Other,
}

/// Each kind with its numbers, and the name that innochecksum's summary has.
const KINDS: [(PageKind, &[u16], &str); 23] = [
    (PageKind::Index, &[17_855, 17_854, 18], "Index page"),
    (PageKind::UndoLog, &[2], "Undo log page"),
    (PageKind::Inode, &[3], "Inode page"),
    (PageKind::ChangeBufferFree, &[4], "Insert buffer free list page"),
    (PageKind::Allocated, &[0], "Freshly allocated page"),
    (PageKind::ChangeBufferBitmap, &[5], "Insert buffer bitmap"),
    (PageKind::System, &[6], "System page"),
    (PageKind::TransactionSystem, &[7], "Transaction system page"),
    (PageKind::SpaceHeader, &[8], "File Space Header"),
    (PageKind::Extents, &[9], "Extent descriptor page"),
    (PageKind::Blob, &[10], "BLOB page"),
    (PageKind::CompressedBlob, &[11, 12], "Compressed BLOB page"),
    (PageKind::PageCompressed, &[34_354, 14], "Page compressed page"),
    (PageKind::PageCompressedEncrypted, &[37_401, 16], "Page compressed encrypted page"),
    (PageKind::Sdi, &[17_853], "SDI Index page"),
    (PageKind::SdiBlob, &[19], "SDI BLOB page"),
    (PageKind::LobFirst, &[24], "LOB first page"),
    (PageKind::LobData, &[23], "LOB data page"),
    (PageKind::LobIndex, &[22], "LOB index page"),
    (PageKind::CompressedLob, &[25, 26, 27, 28, 29], "Compressed LOB page"),
    (PageKind::RollbackSegments, &[21], "Rollback segment array page"),
    (PageKind::Encrypted, &[15, 17], "Encrypted page"),
    (PageKind::Other, &[], "Other type of page"),
];

impl PageKind {
    /// `is_mysql` of a tablespace of MySQL 8 and later: 18 means something else in MariaDB.
    fn of(number: u16, is_mysql: bool) -> Self {
        if is_mysql && number == 18 {
            return Self::SdiBlob;
        }
        let known = KINDS.iter().find(|(_, numbers, _)| numbers.contains(&number));
        known.map_or(Self::Other, |(kind, ..)| *kind)
    }

    /// Whether it holds values that are kept outside their rows.
    fn is_outside(self) -> bool {
        use PageKind::{Blob, CompressedBlob, CompressedLob, LobData, LobFirst, LobIndex};
        matches!(self, Blob | CompressedBlob | CompressedLob | LobData | LobFirst | LobIndex)
    }

    pub fn name(self) -> &'static str {
        // They stand in the order of the kinds.
        KINDS[self as usize].2
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, PageKind, PagesError, Tablespace, read};
    use evenkeel_core::random::Seed;
    use evenkeel_os::Stop;
    use std::fs;

    const SIZE: usize = 4 << 10;
    const NOBODY: u32 = u32::MAX;
    const RANGE: f64 = 0.1;

    /// Numbers that look random and are the same each time.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % end.max(1)
        }

        fn shuffle(&mut self, pages: &mut [u32]) {
            (1..pages.len()).rev().for_each(|place| pages.swap(place, self.below(place + 1)));
        }
    }

    fn put(page: &mut [u8], at: usize, bytes: &[u8]) {
        page[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Sets the checksum right, as the server does before it writes a page.
    fn seal(page: &mut [u8]) {
        page.copy_within(20..24, SIZE - 8);
        let sum = crc32c::crc32c(&page[..SIZE - 4]);
        put(page, SIZE - 4, &sum.to_be_bytes());
    }

    fn page(number: u32, kind: u16, neighbours: (u32, u32)) -> Vec<u8> {
        let mut page = vec![0; SIZE];
        put(&mut page, 4, &number.to_be_bytes());
        put(&mut page, 8, &neighbours.0.to_be_bytes());
        put(&mut page, 12, &neighbours.1.to_be_bytes());
        put(&mut page, 20, &7_u32.to_be_bytes());
        put(&mut page, 24, &kind.to_be_bytes());
        put(&mut page, 34, &9_u32.to_be_bytes());
        page
    }

    /// A file of 512 pages: page 3 is the root of index 77, whose leaves lie in this order.
    fn file(leaves: &[u32]) -> Vec<u8> {
        let mut pages: Vec<Vec<u8>> = (0..512).map(|_| vec![0; SIZE]).collect();
        let mut first = page(0, 8, (0, 0));
        put(&mut first, 38, &9_u32.to_be_bytes());
        put(&mut first, 46, &512_u32.to_be_bytes());
        put(&mut first, 50, &450_u32.to_be_bytes());
        put(&mut first, 54, &0x13_u32.to_be_bytes());
        pages[0] = first;
        pages[3] = index_page(3, 1, (NOBODY, NOBODY), 2_000);
        for (place, &number) in leaves.iter().enumerate() {
            let at = |place: Option<usize>| place.and_then(|at| leaves.get(at)).copied().unwrap_or(NOBODY);
            let neighbours = (at(place.checked_sub(1)), at(Some(place + 1)));
            pages[number as usize] = index_page(number, 0, neighbours, 1_982);
        }
        for page in pages.iter_mut().filter(|page| page.iter().any(|byte| *byte != 0)) {
            seal(page);
        }
        pages.concat()
    }

    /// A page of index 77 on which rows take so many bytes.
    fn index_page(number: u32, level: u16, neighbours: (u32, u32), used: u16) -> Vec<u8> {
        let mut page = page(number, 17_855, neighbours);
        put(&mut page, 40, &(120 + used + 50).to_be_bytes());
        put(&mut page, 42, &0x8002_u16.to_be_bytes());
        put(&mut page, 46, &50_u16.to_be_bytes());
        put(&mut page, 54, &10_u16.to_be_bytes());
        put(&mut page, 64, &level.to_be_bytes());
        put(&mut page, 66, &77_u64.to_be_bytes());
        page
    }

    fn read_bytes(bytes: &[u8]) -> Result<Tablespace, PagesError> {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("t.ibd");
        fs::write(&path, bytes).unwrap();
        read(&path, RANGE, &Stop::default())
    }

    /// The bytes of a page of such a file, to change; the checksum is set right afterwards.
    fn change(bytes: &mut [u8], page: u32, with: impl FnOnce(&mut [u8])) {
        let page = &mut bytes[page as usize * SIZE..][..SIZE];
        with(page);
        seal(page);
    }

    fn sorted() -> Vec<u32> {
        (100..300).collect()
    }

    #[test]
    fn an_index_in_order_and_a_shuffled_one_are_told_apart() {
        let found = read_bytes(&file(&sorted())).unwrap();
        let index = &found.indexes[0];
        assert_eq!(
            (index.id, index.pages, index.levels, index.leaves, index.records),
            (77, 201, 2, 200, 2_000)
        );
        assert_eq!((index.in_order, index.mean_jump), (Some(1.0), Some(1.0)));
        assert!((index.fill - 0.5).abs() < 0.001 && index.fills[5] + index.fills[4] == 200, "{index:?}");
        assert_eq!(found.kinds[&PageKind::Index], 201);
        assert_eq!(found.kinds[&PageKind::Allocated], 310);
        assert!(found.broken.is_empty());

        let mut leaves = sorted();
        Numbers(1).shuffle(&mut leaves);
        let shuffled = read_bytes(&file(&leaves)).unwrap();
        let index = &shuffled.indexes[0];
        assert!(index.in_order.unwrap() < 0.05 && index.mean_jump.unwrap() > 30.0, "{index:?}");
        assert!(index.range.unwrap().extents > found.indexes[0].range.unwrap().extents);
    }

    #[test]
    fn a_broken_chain_is_named_with_its_pages_and_has_no_range() {
        let mut bytes = file(&sorted());
        change(&mut bytes, 150, |page| put(page, 12, &200_u32.to_be_bytes()));
        let found = read_bytes(&bytes).unwrap();
        assert_eq!(found.broken[0].fault, Fault::NotBack { page: 150, next: 200, back: 199 });
        assert_eq!(found.indexes[0].range, None);
    }

    #[test]
    fn a_free_page_belongs_to_no_index_and_may_be_damaged() {
        let mut bytes = file(&sorted());
        bytes[400 * SIZE..][..SIZE].copy_from_slice(&index_page(400, 0, (1, 2), 9));
        // The bit of page 400: the second extent of 256 pages, each descriptor being 24 + 64 bytes long.
        change(&mut bytes, 0, |page| page[150 + 88 + 24 + 144 * 2 / 8] = 1 << (144 * 2 % 8));
        let found = read_bytes(&bytes).unwrap();
        assert_eq!((found.indexes[0].pages, found.indexes[0].freed), (201, 1));
    }

    #[test]
    fn values_outside_their_rows_free_pages_and_rows_that_were_deleted_are_counted() {
        let mut bytes = file(&sorted());
        for number in [401, 402] {
            bytes[number * SIZE..][..SIZE].copy_from_slice(&page(number as u32, 10, (0, 0)));
            change(&mut bytes, number as u32, |_| {});
        }
        // Page 402 is free, and so is all from page 450 on.
        change(&mut bytes, 0, |page| page[150 + 88 + 24 + 146 * 2 / 8] = 1 << (146 * 2 % 8));
        // Ten rows, each 20 bytes behind the one before, of which four were deleted.
        change(&mut bytes, 150, |page| {
            let places: Vec<usize> = [99].into_iter().chain((200..400).step_by(20)).chain([112]).collect();
            for pair in places.windows(2) {
                put(page, pair[0] - 2, &(pair[1] as u16).wrapping_sub(pair[0] as u16).to_be_bytes());
            }
            places[1..5].iter().for_each(|at| page[at - 5] = 0x20);
        });
        let found = read_bytes(&bytes).unwrap();
        let index = &found.indexes[0];
        assert_eq!((found.outside, found.free), (1, 63));
        assert_eq!(
            (index.deleted, index.records, index.used_bytes),
            (4, 1_996, 200 * 1_982 - 4 * 1_982 / 10 - 1)
        );
    }

    #[test]
    fn what_is_damaged_cut_off_or_encrypted_has_no_figures() {
        let whole = file(&sorted());
        let mut flipped = whole.clone();
        flipped[150 * SIZE + 1_000] ^= 1;
        assert!(matches!(read_bytes(&flipped), Err(PagesError::Damaged { page: 150, .. })));
        let mut moved = whole.clone();
        moved.copy_within(150 * SIZE..151 * SIZE, 152 * SIZE);
        assert!(matches!(read_bytes(&moved), Err(PagesError::Damaged { page: 152, .. })));
        let cut = read_bytes(&whole[..300 * SIZE + 5]);
        assert!(matches!(cut, Err(PagesError::Truncated { pages: 300, expected: 512, .. })));
        let mut locked = whole.clone();
        change(&mut locked, 150, |page| put(page, 0, &1_u32.to_be_bytes()));
        assert!(matches!(read_bytes(&locked), Err(PagesError::Encrypted { page: 150, .. })));
        for (at, cut) in [(0, 0), (0, 10), (5, SIZE)] {
            assert!(
                matches!(read_bytes(&whole[at..cut]), Err(PagesError::NotATablespace { .. })),
                "{at} {cut}"
            );
        }
    }

    #[test]
    fn no_byte_changed_anywhere_ends_the_program_or_brings_a_figure_out_of_range() {
        let whole = file(&sorted());
        let mut numbers = Numbers(Seed(3).0);
        for _ in 0..400 {
            let mut bytes = whole.clone();
            for _ in 0..3 {
                let (page, at) = (numbers.below(512) as u32, numbers.below(200));
                let value = numbers.below(256) as u8;
                change(&mut bytes, [page, 0, 3, 150][numbers.below(4)], |page| page[at] = value);
            }
            let length = if numbers.below(4) == 0 { numbers.below(bytes.len()) } else { bytes.len() };
            if let Ok(found) = read_bytes(&bytes[..length]) {
                let is_share = |share: f64| (0.0..=1.0).contains(&share);
                for index in &found.indexes {
                    assert!(is_share(index.fill) && is_share(index.in_order.unwrap_or(0.0)), "{index:?}");
                }
                assert_eq!(found.kinds.values().sum::<u64>(), found.pages);
            }
        }
    }

    #[test]
    fn a_file_that_grows_or_is_written_while_it_is_read_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("t.ibd");
        let whole = file(&sorted());
        let mut torn = whole.clone();
        torn[150 * SIZE + 30] ^= 1;
        fs::write(&path, &torn).unwrap();
        // Somebody mends the page while it is read again: it is believed, and the file is said to have changed.
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(30));
                fs::write(&path, &whole).unwrap();
            });
            read(&path, RANGE, &Stop::default())
        });
        assert!(matches!(outcome, Err(PagesError::Changed { .. })), "{outcome:?}");
    }

    #[test]
    fn a_stop_ends_the_reading() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("t.ibd");
        fs::write(&path, file(&sorted())).unwrap();
        let stop = Stop::default();
        stop.set();
        assert!(read(&path, RANGE, &stop).unwrap_err().is_stop());
    }
}
