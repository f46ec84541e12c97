//! `evenkeel cdr convert --output`: one file or pipe for all lines.

use super::convert::{Args, DuplicatesWord};
use super::told::Shown;
use super::whole::Whole;
use crate::command::Session;
use crate::failure::WithHint;
use anyhow::{Result, anyhow};
use evenkeel_haul::convert::{Direction, KeysFile, Stream, Tally, Twice};
use evenkeel_haul::input::Input;
use evenkeel_haul::layout::LayoutFile;
use std::path::{Path, PathBuf};

/// Converts all inputs into one stream of lines and one of rejects.
pub(super) fn streams(
    session: &Session,
    args: &Args,
    (file, direction): (&LayoutFile, Direction),
    inputs: &[Input],
    keys: Option<KeysFile<'_>>,
    shown: &mut Shown,
) -> Result<Tally> {
    if direction == Direction::Delimit && file.layout.types().len() > 1 {
        return Err(anyhow!("the layout has several types of records, and --output is one file"))
            .hint("take --into, which has a file for each type");
    }
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    let rejects_path = args.rejects.as_deref().unwrap_or(Path::new("-"));
    let open = |path| Whole::create(path).hint("name a file in a folder where you may write");
    let (mut lines, mut rejects) = (open(output)?, open(rejects_path)?);
    let has_key = file.layout.types().iter().any(|each| !each.key.is_empty());
    let looks =
        has_key && direction == Direction::Delimit && matches!(args.duplicates, DuplicatesWord::Refuse);
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
