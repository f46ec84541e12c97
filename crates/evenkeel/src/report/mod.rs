//! A study as one HTML file that a person can forward: no network, no script that it needs, light and
//! dark, screen and paper.
//!
//! `study` joins the records, `details` reads what lies beside them, `plots` says what is drawn, `chart` draws, `sections` writes
//! the rest, `page` puts all together. Whatever comes from records goes through [`markup::Text`].

mod chart;
mod compare;
mod details;
mod legend;
mod page;
mod plots;
pub mod published;
pub mod replay;
mod sections;

pub use compare::{compare, save};
#[cfg(test)]
pub use details::{Details, RunDetails};
use evenkeel_study::store::StudyFolder;
pub use legend::Study;
pub use page::page as html;
use std::path::PathBuf;

/// Writes the report of a study into its folder; gives where it is.
pub fn write(folder: &StudyFolder) -> anyhow::Result<PathBuf> {
    save(None, folder.path(), "report.html", &html(&Study::read(folder)?))
}

#[cfg(test)]
pub use legend::check::fault;
#[cfg(test)]
pub use tests::readable;
#[cfg(test)]
mod tests;
