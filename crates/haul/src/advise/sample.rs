//! The first records of some files, in a file of their own.

use crate::HaulError;
use crate::blocks::{Blocks, records};
use crate::input::{self, Input};
use crate::layout::LayoutFile;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes so many records, as they stand; says how many there were.
pub(super) fn write(file: &LayoutFile, inputs: &[Input], most: u64, path: &Path) -> Result<u64, HaulError> {
    let failed = || HaulError::io("write", path);
    let mut out = BufWriter::new(File::create(path).map_err(failed())?);
    let (mut count, mut block) = (0, Vec::new());
    for input in inputs {
        let mut blocks = Blocks::new(input::open(input, 0)?.stream, file.separator, 0);
        while count < most && blocks.next(&mut block).map_err(HaulError::io("read", input.path()))?.is_some()
        {
            let mut starts = records(&block, file.separator).map(|(start, _)| start);
            let end = starts.by_ref().take((most - count) as usize).count();
            count += end as u64;
            let bytes = starts.next().unwrap_or(block.len());
            out.write_all(&block[..bytes]).map_err(failed())?;
        }
    }
    out.flush().map_err(failed())?;
    Ok(count)
}
