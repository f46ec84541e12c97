use super::format::Format;
use super::source::{PagesError, Source};
use std::path::Path;

/// An index by its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexName {
    pub table: String,
    pub index: String,
}

/// Pages of a dictionary, one at a time.
pub(super) struct Book<'a> {
    pub source: Source<'a>,
    pub format: Format,
    pub bytes: Vec<u8>,
}

impl<'a> Book<'a> {
    pub fn open(path: &'a Path) -> Result<Self, PagesError> {
        let source = Source::open(path)?;
        let format = source.format()?;
        Ok(Self { source, format, bytes: vec![0; format.page_bytes] })
    }

    pub fn load(&mut self, page: u32) -> Result<(), PagesError> {
        self.source.read_at(&mut self.bytes, u64::from(page) * self.format.page_bytes as u64)?;
        self.source.settle(page.into(), &mut self.bytes, self.format)
    }
}
