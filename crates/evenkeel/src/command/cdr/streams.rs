//! `evenkeel cdr convert --output`: one file or pipe for all lines.

use super::told::Shown;
use super::whole::Whole;
use crate::command::Session;
use crate::failure::WithHint;
use anyhow::{Result, anyhow};
use evenkeel_haul::convert::{Duplicates, Stream, Tally};
use evenkeel_haul::input::Input;
use evenkeel_haul::layout::LayoutFile;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What goes into one stream of lines and one of rejects.
pub(super) struct ToStreams<'a> {
    /// Where the layout was read from.
    pub layout: &'a Path,
    pub file: &'a LayoutFile,
    pub inputs: &'a [Input],
    /// What becomes of records that come twice, where the layout names a key.
    pub duplicates: Duplicates,
    /// Where the lines go; `-` for the standard output.
    pub output: &'a Path,
    pub rejects: &'a Path,
}

/// Converts all inputs into one stream of lines and one of rejects.
pub(super) fn streams(session: &Session, to: &ToStreams<'_>, shown: &mut Shown) -> Result<Tally> {
    let ToStreams { layout, file, inputs, duplicates, output, rejects: rejects_path } = *to;
    if file.layout.types().len() > 1 {
        return Err(anyhow!("the layout has several types of records, and --output is one file"))
            .hint("take --into, which has a file for each type");
    }
    let read = inputs.iter().map(|input| (input.path(), "input")).chain([(layout, "layout")]);
    keep_apart(&read.collect::<Vec<_>>(), output, rejects_path)?;
    let open = |path| Whole::create(path).hint("name a file in a folder where you may write");
    let (mut lines, mut rejects) = (open(output)?, open(rejects_path)?);
    let stream = Stream { file, inputs, duplicates, stop: &session.stop };
    let tally = stream
        .run((lines.out(), output), (rejects.out(), rejects_path), &mut |progress| shown.tell(progress))?;
    lines.finish()?;
    rejects.finish()?;
    Ok(tally)
}

/// Refuses outputs that would take the place of what is read, or of one another: what they held would be gone.
fn keep_apart(read: &[(&Path, &str)], output: &Path, rejects: &Path) -> Result<()> {
    let refuse = |text: String| Err(anyhow!("{text}")).hint("name another file; nothing was written");
    for (path, flag) in [(output, "--output"), (rejects, "--rejects")] {
        if let Some((other, what)) = read.iter().find(|(other, _)| is_same_file(path, other)) {
            return refuse(format!("{flag} {} is the {what} {}", path.display(), other.display()));
        }
    }
    match output != Path::new("-") && is_same_file(output, rejects) {
        true => refuse(format!("--output and --rejects are both {}", output.display())),
        false => Ok(()),
    }
}

/// Whether two names lead to one regular file, also by a link, or would where there is none yet.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        let found = path.metadata().ok()?;
        found.is_file().then(|| (found.dev(), found.ino()))
    };
    match (place(one), place(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => {
            let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            // Names as /dev/stdout are devices; below /dev/shm files are files.
            whole(one) == whole(other) && (!one.starts_with("/dev") || one.starts_with("/dev/shm"))
        }
        _ => false,
    }
}
