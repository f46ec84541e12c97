//! Pages of the tables of a stopped server: how indexes lie, and a picture of each file.

use super::record::Setting;
use crate::harness::{Picture, PictureIndex, Run};
use evenkeel_os::stop::Stop;
use evenkeel_sense::pages::{IndexLayout, Names, PageMap, PagesError, Tablespace, Wanted, read};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Note of a run: pictures of files, with the runs of their first start alone.
pub(super) const PICTURES: &str = "pictures";
/// Pages in a picture at most.
const CELLS: usize = 1_024;
/// The tablespace that tables without a file of their own share.
const SHARED: &str = "ibdata1";

/// How an index lies, as it stands with a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexPages {
    /// Table and index, as `item.PRIMARY`.
    pub index: String,
    /// Pages in use.
    pub pages: u64,
    /// Share of leaves whose successor in the order of keys is the next page of the file.
    pub in_order: Option<f64>,
    /// Pages that hold rows; none where an earlier version took the note.
    #[serde(default)]
    pub leaves: u64,
    /// Rows, or entries of an index.
    #[serde(default)]
    pub records: u64,
}

/// A picture of a file, as it stands with the runs of its first start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilePicture {
    /// The table, or `ibdata1`.
    pub file: String,
    /// Pages of the file.
    pub pages: u64,
    /// Size of a page.
    pub page_kib: usize,
    /// One of so many pages is shown.
    pub step: u64,
    /// Its indexes, in the order of their numbers.
    pub indexes: Vec<IndexPages>,
    /// As [`PageMap::text`] writes it.
    pub cells: String,
}

impl FilePicture {
    /// The picture of whom; `None` where the text is none.
    fn picture(&self, whose: &str) -> Option<Picture> {
        let index = |index: &IndexPages| PictureIndex {
            name: index.index.clone(),
            leaves: index.leaves,
            in_order: index.in_order,
        };
        Some(Picture {
            title: Picture::title(&format!("{whose}{}", self.file), self.pages, self.page_kib, self.step),
            map: PageMap::from_text(self.step, &self.cells)?,
            indexes: self.indexes.iter().map(index).collect(),
        })
    }
}

/// What the files of a stopped server tell.
#[derive(Debug)]
pub(super) struct Pages {
    /// The indexes of its tables.
    pub indexes: Vec<IndexPages>,
    /// Files of these tables, each once.
    pub pictures: Vec<FilePicture>,
}

/// The indexes of tables of a stopped server, and pictures of their files.
pub(super) fn pages_of(
    data: &Path,
    database: &str,
    tables: &[String],
    stop: &Stop,
) -> Result<Pages, PagesError> {
    let wanted = Wanted { range: 0.05, cells: CELLS };
    let names = Names::read(&data.join(SHARED)).unwrap_or_default();
    let mut found = Pages { indexes: Vec::new(), pictures: Vec::new() };
    let own = |table: &String| data.join(database).join(format!("{table}.ibd"));
    let (apart, together): (Vec<&String>, Vec<&String>) =
        tables.iter().partition(|table| own(table).is_file());
    for table in apart {
        let space = read(&own(table), &wanted, stop)?;
        let name = |index: &IndexLayout| {
            let number = || space.indexes.iter().position(|one| one.id == index.id).map_or(0, |at| at + 1);
            let name = names.get(index.id).map_or_else(|| number().to_string(), |name| name.index);
            format!("{table}.{name}")
        };
        let indexes = lying(&space, name);
        found.pictures.push(picture(table, &space, &indexes));
        found.indexes.extend(indexes);
    }
    if !together.is_empty() {
        let space = read(&data.join(SHARED), &wanted, stop)?;
        let own = format!("{database}/");
        // Of the file that tables share, the dictionary alone tells what is whose.
        let name = |index: &IndexLayout| match names.get(index.id) {
            Some(name) => format!("{}.{}", name.table.strip_prefix(&own).unwrap_or(&name.table), name.index),
            None => format!("index {}", index.id),
        };
        let indexes = lying(&space, name);
        found.pictures.push(picture(SHARED, &space, &indexes));
        let is_wanted = |index: &IndexPages| {
            let table = index.index.split_once('.').map(|(table, _)| table);
            together.iter().any(|wanted| table == Some(wanted.as_str()))
        };
        found.indexes.extend(indexes.into_iter().filter(is_wanted));
    }
    Ok(found)
}

fn lying(space: &Tablespace, name: impl Fn(&IndexLayout) -> String) -> Vec<IndexPages> {
    let one = |index: &IndexLayout| IndexPages {
        index: name(index),
        pages: index.pages,
        in_order: index.in_order,
        leaves: index.leaves,
        records: index.records,
    };
    space.indexes.iter().map(one).collect()
}

fn picture(file: &str, space: &Tablespace, indexes: &[IndexPages]) -> FilePicture {
    FilePicture {
        file: file.to_owned(),
        pages: space.pages,
        page_kib: space.format.page_bytes >> 10,
        step: space.map.step,
        indexes: indexes.to_vec(),
        cells: space.map.text(),
    }
}

/// Pictures of all files that runs have with them: each server's, for each way in which its rows came in.
pub(super) fn pictures(setting: &Setting, runs: &[Run]) -> Vec<Picture> {
    let mut found: Vec<Picture> = Vec::new();
    for run in runs {
        for (number, target) in setting.targets.iter().enumerate() {
            let Some(text) = run.notes.get(&format!("{PICTURES}{}", setting.of_target(number))) else {
                continue;
            };
            if !setting.duet
                && run.levels.iter().all(|level| *level != target.name)
                && setting.targets.len() > 1
            {
                continue;
            }
            let named = run.levels.iter().find(|level| ["script", "dump"].contains(&level.as_str()));
            let is_private = target.is_private();
            let via = named.or(is_private.then_some(&setting.data.via));
            let via = via.map_or_else(String::new, |via| format!(", rows by {via}"));
            let files: Vec<FilePicture> = serde_json::from_str(text).unwrap_or_default();
            let new = files.iter().filter_map(|file| file.picture(&format!("{}{via}, ", target.name)));
            let new: Vec<Picture> =
                new.filter(|new| found.iter().all(|known| known.title != new.title)).collect();
            found.extend(new);
        }
    }
    found
}
