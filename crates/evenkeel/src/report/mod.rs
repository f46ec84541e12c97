//! A study as one HTML file that a person can forward: no network, no script that it needs, light and
//! dark, screen and paper.
//!
//! `study` joins the records, `details` reads what lies beside them, `plots` says what is drawn, `chart` draws, `sections` writes
//! the rest, `page` puts all together. Whatever comes from records goes through [`markup::Text`].

mod chart;
mod compare;
mod details;
mod legend;
mod markup;
mod page;
mod plots;
pub mod published;
mod save;
mod sections;
mod study;

pub use compare::compare;
#[cfg(test)]
pub use details::{Details, RunDetails};
pub use page::page as html;
pub use save::save;
pub use study::Study;

use evenkeel_study::store::StudyFolder;
use std::path::PathBuf;

/// Writes the report of a study into its folder; gives where it is.
pub fn write(folder: &StudyFolder) -> anyhow::Result<PathBuf> {
    save(None, folder.path(), "report.html", &html(&Study::read(folder)?))
}

#[cfg(test)]
pub use markup::check::fault;
#[cfg(test)]
pub use tests::labels::readable;
#[cfg(test)]
mod tests;
