//! Files as a picture: a square for each page in the order of the file, coloured by index, darker the further on in the order of
//! keys. An index that lies in order is an even ramp, a shuffled one is noise.

use super::markup::Text;
use evenkeel_sense::pages::{PageCell, PageKind, PageMap};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Squares in a row: two extents of pages of 16 KiB.
const ROW: usize = 128;
const SIDE: usize = 7;
const MARGIN: usize = 16;
const LINE: usize = 18;
/// What the other colours are.
const KEY: &str = "from the first key (light) to the last (dark); black: above the leaves; grey: the server's own; pale: unused";
/// Hue and saturation of the indexes in turn: those of Okabe and Ito, which people with any colour blindness can tell apart.
const HUES: [(u16, u8); 6] = [(202, 90), (26, 90), (163, 85), (326, 45), (48, 85), (262, 40)];

/// A file as a picture.
pub struct Picture {
    pub title: String,
    /// One page of every few, in the order of the file.
    pub map: PageMap,
    /// Its indexes, in the order in which the map has them.
    pub indexes: Vec<PictureIndex>,
}

/// An index of a file in a picture.
pub struct PictureIndex {
    pub name: String,
    pub leaves: u64,
    /// Share of the leaves whose successor in the order of keys is the next page of the file.
    pub in_order: Option<f64>,
}

impl Picture {
    /// What stands above a file of so many pages, of which one of `step` is shown.
    pub fn title(file: &str, pages: u64, page_kib: usize, step: u64) -> String {
        let shown = if step == 1 { String::new() } else { format!(", one of {step} shown") };
        format!("{file}: {pages} pages of {page_kib} KiB{shown}")
    }
}

/// One picture of all files.
pub fn page_maps(files: &[Picture]) -> String {
    let width = 2 * MARGIN + ROW * SIDE;
    let mut top = MARGIN;
    let mut body = String::new();
    for file in files {
        top = draw(&mut body, file, top) + LINE;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{top}\" viewBox=\"0 0 {width} {top}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{top}\" fill=\"#ffffff\"/>\n{body}</svg>\n"
    )
}

/// Draws a file from this height on and says where it ends.
fn draw(out: &mut String, file: &Picture, top: usize) -> usize {
    let text = top + 12;
    let _ = writeln!(
        out,
        "<text x=\"{MARGIN}\" y=\"{text}\" font-weight=\"600\" fill=\"#171a1f\">{}</text>",
        Text(&file.title)
    );
    let from = legend(out, file, top + LINE);
    // Squares of one colour are one path: a document of a tenth of the size.
    let mut paths: BTreeMap<String, String> = BTreeMap::new();
    for (place, cell) in file.map.cells.iter().enumerate() {
        let (x, y) = (MARGIN + place % ROW * SIDE, from + place / ROW * SIDE);
        let _ = write!(paths.entry(colour(*cell)).or_default(), "M{x} {y}h6v6h-6z");
    }
    for (colour, path) in paths {
        let _ = writeln!(out, "<path fill=\"{colour}\" d=\"{path}\"/>");
    }
    from + file.map.cells.len().div_ceil(ROW) * SIDE
}

/// A line for each index that is shown: its ramp from the first key to the last, and its name.
fn legend(out: &mut String, file: &Picture, top: usize) -> usize {
    let mut y = top;
    for (index, own) in file.indexes.iter().enumerate() {
        let is_shown =
            |cell: &PageCell| matches!(cell, PageCell::Leaf { index: shown, .. } if *shown == index);
        if !file.map.cells.iter().any(is_shown) || own.leaves < 2 {
            continue;
        }
        for part in 0..12 {
            let ramp = colour(PageCell::Leaf { index, rank: Some(part as f32 / 11.0) });
            let x = MARGIN + part * SIDE;
            let _ = write!(out, "<path fill=\"{ramp}\" d=\"M{x} {y}h7v10h-7z\"/>");
        }
        let order = own.in_order.map_or("-".to_owned(), |share| format!("{share:.3} in order"));
        let text = format!("{}: {} leaves, {order}", own.name, own.leaves);
        let (x, base) = (MARGIN + 13 * SIDE, y + 10);
        let _ = writeln!(out, "<text x=\"{x}\" y=\"{base}\" fill=\"#545c68\">{}</text>", Text(&text));
        y += LINE;
    }
    let base = y + 10;
    let _ = writeln!(out, "<text x=\"{MARGIN}\" y=\"{base}\" fill=\"#545c68\">{KEY}</text>");
    y + LINE + 4
}

fn colour(cell: PageCell) -> String {
    match cell {
        PageCell::Leaf { index, rank } => {
            let (hue, saturation) = HUES[index % HUES.len()];
            // In 24 steps, which the eye does not tell apart.
            let rank = (rank.unwrap_or(0.5) * 23.0).round() / 23.0;
            format!("hsl({hue},{saturation}%,{:.0}%)", 82.0 - 60.0 * rank)
        }
        PageCell::Branch(_) => "#171a1f".to_owned(),
        PageCell::Freed => "#f3d9d0".to_owned(),
        PageCell::Other(PageKind::Allocated) => "#eef0f3".to_owned(),
        PageCell::Other(_) => "#b9c0c9".to_owned(),
    }
}
