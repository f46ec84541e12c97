//! Columns of text side by side.

use super::Look;
use crate::format::{plain, steers};

/// Blanks between columns, and where there is little room.
const GAPS: [usize; 2] = [2, 1];

#[derive(Clone, Debug, Default)]
pub struct Place {
    pub text: String,
    pub ink: Ink,
}

impl Place {
    pub fn new(text: impl Into<String>, ink: Ink) -> Self {
        Self { text: plain(&text.into()), ink }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

impl From<String> for Place {
    fn from(text: String) -> Self {
        Self::new(text, Ink::Plain)
    }
}

/// A column: its head, which may have a second line, and its places by row.
#[derive(Clone, Debug)]
pub struct GridColumn {
    pub head: [String; 2],
    /// Whether text stands at the right, as numbers do.
    pub right: bool,
    /// The higher, the sooner it is dropped; 0 never is.
    pub rank: u8,
    pub places: Vec<Place>,
}

impl GridColumn {
    /// A column with a place for each row.
    pub fn of<R, P: Into<Place>>(
        rows: &[R],
        head: [&str; 2],
        right: bool,
        rank: u8,
        place: impl Fn(&R) -> P,
    ) -> Self {
        let places = rows.iter().map(|row| place(row).into()).collect();
        Self { head: head.map(str::to_owned), right, rank, places }
    }

    fn width(&self) -> usize {
        let heads = self.head.iter().map(|head| head.chars().count());
        heads.chain(self.places.iter().map(Place::width)).max().unwrap_or(0)
    }
}

/// Lines of a table: the head, then the rows, with `titles` (row number and text) before some of them.
pub fn lines(mut columns: Vec<GridColumn>, titles: &[(usize, String)], look: Look) -> String {
    let gap = drop_columns(&mut columns, look.width);
    let rows = columns.first().map_or(0, |column| column.places.len());
    let mut out = String::new();
    for line in 0..2 {
        let heads = columns.iter().map(|column| Place::new(column.head[line].clone(), Ink::Soft));
        if columns.iter().any(|column| !column.head[line].is_empty()) {
            push_line(&mut out, (&columns, gap), heads, look);
        }
    }
    for row in 0..rows {
        for (_, title) in titles.iter().filter(|(before, _)| *before == row) {
            out.push_str(&format!("\n{}\n", paint(&plain(title), Ink::Strong, look.colour)));
        }
        let places = columns.iter().map(|column| column.places.get(row).cloned().unwrap_or_default());
        push_line(&mut out, (&columns, gap), places, look);
    }
    out
}

/// Drops columns, those of the highest rank first and of these the last, until the rest fits; the gap between them.
fn drop_columns(columns: &mut Vec<GridColumn>, width: usize) -> usize {
    loop {
        let total: usize = columns.iter().map(GridColumn::width).sum();
        let fits = |gap: &usize| total + gap * columns.len().saturating_sub(1) <= width;
        if let Some(gap) = GAPS.into_iter().find(fits) {
            return gap;
        }
        let highest = columns.iter().enumerate().max_by_key(|(_, column)| column.rank);
        match highest.filter(|(_, column)| column.rank > 0).map(|(at, _)| at) {
            Some(at) => columns.remove(at),
            None => return GAPS[0],
        };
    }
}

fn push_line(
    out: &mut String,
    (columns, gap): (&[GridColumn], usize),
    places: impl Iterator<Item = Place>,
    look: Look,
) {
    let mut line = String::new();
    let mut blanks = 0;
    for (column, place) in columns.iter().zip(places) {
        let pad = column.width() - place.width().min(column.width());
        if column.right {
            blanks += pad;
        }
        if !place.text.is_empty() {
            line.push_str(&" ".repeat(std::mem::take(&mut blanks)));
            line.push_str(&paint(&place.text, place.ink, look.colour));
        }
        blanks += gap + if column.right { 0 } else { pad };
    }
    out.push_str(&line);
    out.push('\n');
}

/// What a text means, not how it looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ink {
    /// Text like any other.
    #[default]
    Plain,
    /// What matters most.
    Strong,
    Soft,
    Good,
    Doubt,
    /// It must not be used.
    Bad,
}

/// All codes for the terminal that a table has: the end of a colour, and what begins one.
pub const INKS: [&str; 6] = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[31m"];

/// The text with the terminal's codes around it, where colour is wanted. What could steer the terminal by itself is dropped from
/// it, besides ends of lines.
pub fn paint(text: &str, ink: Ink, colour: bool) -> String {
    let text = text.replace(|character| character != '\n' && steers(character), "");
    let [end, strong, soft, good, doubt, bad] = INKS;
    let begin = match ink {
        _ if !colour || text.is_empty() => return text,
        Ink::Plain => return text,
        Ink::Strong => strong,
        Ink::Soft => soft,
        Ink::Good => good,
        Ink::Doubt => doubt,
        Ink::Bad => bad,
    };
    format!("{begin}{text}{end}")
}

/// Text in lines of at most `width` characters, all but the first begun with `indent` blanks. A word longer
/// than a line keeps a line of its own. Control characters, which could steer the terminal, are dropped.
pub fn wrap(text: &str, width: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let word = plain(word);
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(&word);
        used += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(head: &str, right: bool, rank: u8, texts: &[&str]) -> GridColumn {
        GridColumn::of(texts, [head, ""], right, rank, |text| (*text).to_owned())
    }

    fn table() -> Vec<GridColumn> {
        vec![
            column("name", false, 0, &["a", "long name"]),
            column("rate", true, 2, &["1", "200"]),
            column("note", false, 1, &["x", ""]),
        ]
    }

    #[test]
    fn columns_line_up_and_lines_have_no_blanks_at_their_end() {
        let text = lines(table(), &[], Look { width: 80, colour: false });
        assert_eq!(text, "name       rate  note\na             1  x\nlong name   200\n");
    }

    #[test]
    fn narrow_terminals_lose_the_least_important_columns() {
        let text = lines(table(), &[], Look { width: 16, colour: false });
        assert_eq!(text, "name       note\na          x\nlong name\n");
        let text = lines(table(), &[], Look { width: 3, colour: false });
        assert_eq!(text, "name\na\nlong name\n");
    }

    #[test]
    fn lines_keep_to_the_width_and_lose_no_word() {
        assert_eq!(wrap("one two three four", 9, 2), "one two\n  three\n  four");
        assert_eq!(wrap("incomprehensibilities are long", 8, 0), "incomprehensibilities\nare long");
        assert_eq!(wrap("", 10, 2), "");
    }

    #[test]
    fn text_from_outside_cannot_steer_the_terminal() {
        assert_eq!(wrap("a\u{1b}[2Jb", 80, 0), "a[2Jb");
    }
}
