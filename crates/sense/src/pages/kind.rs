//! Kinds of pages, counted under the names that innochecksum's summary has.

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
    /// None of these.
    Other,
}

impl PageKind {
    /// The kind by its number.
    pub(super) fn of(number: u16) -> Self {
        match number {
            17_855 | 17_854 | 18 => Self::Index,
            2 => Self::UndoLog,
            3 => Self::Inode,
            4 => Self::ChangeBufferFree,
            0 => Self::Allocated,
            5 => Self::ChangeBufferBitmap,
            6 => Self::System,
            7 => Self::TransactionSystem,
            8 => Self::SpaceHeader,
            9 => Self::Extents,
            10 => Self::Blob,
            11 | 12 => Self::CompressedBlob,
            34_354 => Self::PageCompressed,
            37_401 => Self::PageCompressedEncrypted,
            _ => Self::Other,
        }
    }

    /// The same name that innochecksum's summary has.
    pub fn name(self) -> &'static str {
        match self {
            Self::Index => "Index page",
            Self::UndoLog => "Undo log page",
            Self::Inode => "Inode page",
            Self::ChangeBufferFree => "Insert buffer free list page",
            Self::Allocated => "Freshly allocated page",
            Self::ChangeBufferBitmap => "Insert buffer bitmap",
            Self::System => "System page",
            Self::TransactionSystem => "Transaction system page",
            Self::SpaceHeader => "File Space Header",
            Self::Extents => "Extent descriptor page",
            Self::Blob => "BLOB page",
            Self::CompressedBlob => "Compressed BLOB page",
            Self::PageCompressed => "Page compressed page",
            Self::PageCompressedEncrypted => "Page compressed encrypted page",
            Self::Other => "Other type of page",
        }
    }
}
