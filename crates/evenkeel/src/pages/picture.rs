//! Files as a picture, as `evenkeel layout --svg` writes it.

use super::found::{FoundFile, label};
use crate::report::{Picture, PictureIndex, page_maps};
use evenkeel_sense::pages::{IndexLayout, IndexName};

pub fn picture(files: &[FoundFile]) -> String {
    page_maps(&files.iter().map(of_file).collect::<Vec<_>>())
}

fn of_file(file: &FoundFile) -> Picture {
    let (space, map) = (&file.space, &file.space.map);
    let index = |(name, layout): (&IndexName, &IndexLayout)| PictureIndex {
        name: format!("{} {}", name.table.replacen('/', ".", 1), name.index),
        leaves: layout.leaves,
        in_order: layout.in_order,
    };
    Picture {
        title: Picture::title(&label(&file.path), space.pages, space.format.page_bytes >> 10, map.step),
        map: map.clone(),
        indexes: file.names.iter().zip(&space.indexes).map(index).collect(),
    }
}
