//! `evenkeel cdr convert --output`: one file or pipe for all lines.

use super::told::Shown;
use super::whole::Whole;
use crate::command::Session;
use crate::failure::WithHint;
use anyhow::{Result, anyhow};
use evenkeel_haul::convert::{Direction, Duplicates, KeysFile, Stream, Tally, Twice};
use evenkeel_haul::input::Input;
use evenkeel_haul::layout::LayoutFile;
use std::path::{Path, PathBuf};

/// What goes into one stream of lines and one of rejects.
pub(super) struct ToStreams<'a> {
    pub file: &'a LayoutFile,
    pub direction: Direction,
    pub inputs: &'a [Input],
    /// What becomes of records that come twice, where the layout names a key.
    pub duplicates: Duplicates,
    pub keys: Option<KeysFile<'a>>,
    /// Where the lines go; `-` for the standard output.
    pub output: &'a Path,
    pub rejects: &'a Path,
}

/// Converts all inputs into one stream of lines and one of rejects.
pub(super) fn streams(session: &Session, to: &ToStreams<'_>, shown: &mut Shown) -> Result<Tally> {
    let ToStreams { file, direction, inputs, duplicates, keys, output, rejects: rejects_path } = *to;
    if direction == Direction::Delimit && file.layout.types().len() > 1 {
        return Err(anyhow!("the layout has several types of records, and --output is one file"))
            .hint("take --into, which has a file for each type");
    }
    let open = |path| Whole::create(path).hint("name a file in a folder where you may write");
    let (mut lines, mut rejects) = (open(output)?, open(rejects_path)?);
    let has_key = file.layout.types().iter().any(|each| !each.key.is_empty());
    let looks = has_key && direction == Direction::Delimit && duplicates == Duplicates::Refuse;
    let mut twice = looks.then(|| Twice::new(inputs, &folder(rejects_path), keys)).transpose()?;
    let stream = Stream { file, direction, inputs, stop: &session.stop };
    let tally = stream.run(
        twice.as_mut(),
        (lines.out(), output),
        (rejects.out(), rejects_path),
        &mut |progress| shown.tell(progress),
    )?;
    lines.finish()?;
    rejects.finish()?;
    // Last, so that an end in between has records come twice, and none go missing.
    if let Some(twice) = &twice {
        twice.keep()?;
    }
    Ok(tally)
}

/// Where keys go that memory does not hold: beside the rejects, or where temporary files go.
fn folder(rejects: &Path) -> PathBuf {
    match rejects.parent() {
        _ if rejects == Path::new("-") || rejects.starts_with("/dev") => std::env::temp_dir(),
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}
