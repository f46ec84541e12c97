//! How records lie, from a TOML file with names, types and checks.

mod guess;
mod zone;

use super::blocks::{Header, Separator};
use evenkeel_wire::record::{
    Blank, Charset, Check, Dialect, Field, Kind, Layout, LayoutError, Pattern, RecordType, Trim,
};
pub use guess::{Guess, NoLayout, Sample, guess};
use serde::Deserialize;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;
use zone::Offsets;

/// Reads a layout file, whatever its name ends with.
pub fn read(path: &Path) -> Result<LayoutFile, LayoutFileError> {
    let failed = |problem: Problem| LayoutFileError {
        path: path.to_owned(),
        line: problem.line,
        problem: problem.text,
    };
    let text = fs::read_to_string(path).map_err(|error| failed(Problem::new(error.to_string())))?;
    parse(&text).map_err(failed)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default = "semicolon")]
    delimiter: String,
    #[serde(default)]
    charset: CharsetWord,
    #[serde(default)]
    ragged: bool,
    #[serde(default)]
    separator: SeparatorWord,
    /// The records have delimiters.
    delimited: Option<DelimitedTable>,
    /// On whose clock instants are that say how far they are from UTC.
    zone: Option<String>,
    #[serde(default)]
    key: Vec<String>,
    #[serde(default, rename = "field")]
    fields: Vec<FieldTable>,
    tell: Option<Tell>,
    #[serde(default, rename = "record")]
    records: Vec<RecordTable>,
}

fn semicolon() -> String {
    ";".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DelimitedTable {
    #[serde(default = "comma")]
    by: char,
    #[serde(default = "quote")]
    quote: String,
    escape: Option<char>,
    #[serde(default)]
    header: HeaderWord,
}

fn comma() -> char {
    ','
}

fn quote() -> String {
    "\"".to_owned()
}

/// Whether there is one, or the line that it is.
#[derive(Deserialize)]
#[serde(untagged)]
enum HeaderWord {
    Has(bool),
    Is(String),
}

impl Default for HeaderWord {
    fn default() -> Self {
        Self::Has(false)
    }
}

impl DelimitedTable {
    fn separator(&self) -> Result<(Dialect, Separator), Problem> {
        let byte = |letter: char| u8::try_from(letter).ok().filter(u8::is_ascii);
        let one = |letter: Option<char>, name: &str| {
            let found = letter.map(|letter| {
                byte(letter).ok_or_else(|| Problem::new(format!("{name} is one ASCII character")))
            });
            found.transpose()
        };
        let dialect = Dialect {
            delimiter: one(Some(self.by), "by")?.unwrap_or(b','),
            quote: one(self.quote.chars().next(), "quote")?,
            escape: one(self.escape, "escape")?,
        };
        let header = match &self.header {
            HeaderWord::Has(false) => Header::None,
            HeaderWord::Has(true) => Header::Any,
            HeaderWord::Is(line) => Header::Is(xxh3_64(line.as_bytes())),
        };
        match [Some(dialect.delimiter), dialect.quote, dialect.escape]
            .iter()
            .flatten()
            .any(|byte| b"\r\n".contains(byte))
        {
            true => Err(Problem::new("a line end parts records, not fields")),
            false => Ok((dialect, Separator::Delimited { dialect, header })),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tell {
    from: usize,
    width: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordTable {
    name: String,
    #[serde(default)]
    is: Vec<String>,
    #[serde(default)]
    key: Vec<String>,
    #[serde(rename = "field")]
    fields: Vec<FieldTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldTable {
    name: String,
    /// Where it begins; where the one before it ends, unless told otherwise.
    start: Option<usize>,
    /// In bytes; where fields have delimiters, those of the longest value.
    width: Option<usize>,
    /// How its instants are written.
    time: Option<String>,
    #[serde(default, rename = "type")]
    kind: KindWord,
    #[serde(default)]
    trim: TrimWord,
    blank: Option<BlankWord>,
    min: Option<i64>,
    max: Option<i64>,
    #[serde(default)]
    one_of: Vec<String>,
    /// Digits behind the point of a decimal that has none in the record.
    scale: Option<u32>,
    #[serde(default)]
    skip: bool,
}

/// An enum of words that serde reads and the record's own type.
macro_rules! words {
    ($word:ident is $of:ident: $first:ident $(, $more:ident)*) => {
        #[derive(Clone, Copy, Default, Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum $word { #[default] $first, $($more),* }
        impl From<$word> for $of {
            fn from(word: $word) -> Self {
                match word { $word::$first => Self::$first, $($word::$more => Self::$more),* }
            }
        }
    };
}

words!(KindWord is Kind: Text, Integer, Decimal, Time);
words!(TrimWord is Trim: Both, Left, Right, None);
words!(BlankWord is Blank: Null, Empty, Refuse);
words!(CharsetWord is Charset: Ascii, Latin1, Utf8);

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SeparatorWord {
    #[default]
    Line,
    None,
}

/// Reads it; the delimiter is `;`, fields are texts that are trimmed on both sides, as long as nothing else is said. A blank number is
/// refused where it is part of the key, and NULL elsewhere, as is a blank time; a blank text is empty.
pub(crate) fn parse(text: &str) -> Result<LayoutFile, Problem> {
    let file: File = toml::from_str(text).map_err(|error| problem(text, &error))?;
    let delimiter = match file.delimiter.as_bytes() {
        [byte] => *byte,
        _ => return Err(Problem::new(format!("delimiter: `{}` is not one letter", file.delimiter))),
    };
    let (tell, tables) = match (file.tell, file.records) {
        (None, records) if records.is_empty() => {
            let name = "records".to_owned();
            (None, vec![RecordTable { name, is: Vec::new(), key: file.key, fields: file.fields }])
        }
        (_, records) if !file.fields.is_empty() || !file.key.is_empty() || records.is_empty() => {
            return Err(Problem::new(
                "fields and key stand within each [[record]] where there are several types",
            ));
        }
        (tell, records) => (tell.map(|tell| tell.from..tell.from.saturating_add(tell.width)), records),
    };
    let plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if let Some(table) = tables.iter().find(|table| table.name.is_empty() || !plain(&table.name)) {
        let text =
            format!("record type `{}`: files are named by it, so take letters, digits, _ and -", table.name);
        return Err(Problem::new(text));
    }
    let dialect = file.delimited.as_ref().map(DelimitedTable::separator).transpose()?;
    let named = file.zone.is_some();
    let zone = zone::offsets(file.zone.as_deref().unwrap_or("UTC")).map_err(Problem::new)?;
    let record_type = |table| record_type(table, dialect.is_some(), &zone);
    let types = tables.into_iter().map(record_type).collect::<Result<Vec<_>, _>>()?;
    let layout = Layout::new(types, tell, delimiter, file.charset.into())?
        .ragged(file.ragged)
        .delimited(dialect.map(|(dialect, _)| dialect));
    let separator = match (file.separator, layout.types()) {
        (SeparatorWord::Line, _) => dialect.map_or(Separator::Line, |(_, separator)| separator),
        (SeparatorWord::None, [one]) if !file.ragged && dialect.is_none() => Separator::Length(one.length()),
        _ => return Err(Problem::new("records without line ends are of one type and one length")),
    };
    Ok(LayoutFile { layout, separator, text: text.to_owned(), zone: named.then_some(zone) })
}

fn record_type(table: RecordTable, is_delimited: bool, zone: &Offsets) -> Result<RecordType, Problem> {
    let (mut fields, mut end) = (Vec::new(), 0_usize);
    for field in table.fields {
        let width = match field.width {
            _ if is_delimited => 1,
            Some(width) => width,
            None => return Err(Problem::new(format!("field {} has no width", field.name))),
        };
        let start = field.start.unwrap_or(end);
        end = start.saturating_add(width);
        let in_key = table.key.contains(&field.name);
        fields.push(of_table(field, start..end, in_key, zone)?);
    }
    let place = |name: &String| {
        let found = fields.iter().position(|field: &Field| &field.name == name);
        found.ok_or_else(|| Problem::new(format!("the key names `{name}`, and no field has that name")))
    };
    let key = table.key.iter().map(place).collect::<Result<_, _>>()?;
    let is = table.is.into_iter().map(String::into_bytes).collect();
    Ok(RecordType { name: table.name, is, fields, key })
}

fn of_table(table: FieldTable, place: Range<usize>, in_key: bool, zone: &Offsets) -> Result<Field, Problem> {
    let name = table.name;
    let pattern = match table.time.as_deref() {
        None => None,
        Some(_) if !matches!(table.kind, KindWord::Time) => {
            return Err(Problem::new(format!("{name}: `time` is for type = \"time\"")));
        }
        Some(text) => Some(Pattern::parse(text, Arc::clone(zone)).ok_or_else(|| {
            let known =
                "iso, epoch, epoch_ms, or letters as in dd/mm/yy hh:mmAM, yyyy-mm-dd hh:mm:ss, mon d yyyy";
            Problem::new(format!("{name}: time = \"{text}\" is none of {known}"))
        })?),
    };
    let kind = match (Kind::from(table.kind), table.scale) {
        (kind, None) => kind,
        (Kind::Decimal, Some(scale @ 1..=30)) => Kind::Scaled(scale),
        _ => return Err(Problem::new(format!("{name}: scale is for decimals, from 1 to 30"))),
    };
    let is_number = matches!(kind, Kind::Integer | Kind::Decimal | Kind::Scaled(_));
    let blank = table.blank.map(Blank::from).unwrap_or(match kind {
        _ if in_key => Blank::Refuse,
        Kind::Text => Blank::Empty,
        _ => Blank::Null,
    });
    let check = match (table.min, table.max, table.one_of.is_empty()) {
        (None, None, true) => Check::None,
        (None, None, false) => Check::OneOf(table.one_of.into_iter().map(String::into_bytes).collect()),
        (min, max, true) if is_number => Check::Within(min.unwrap_or(i64::MIN), max.unwrap_or(i64::MAX)),
        (_, _, true) => return Err(Problem::new(format!("{name}: min and max are for numbers"))),
        (_, _, false) => return Err(Problem::new(format!("{name}: either bounds or one_of"))),
    };
    let trim = table.trim.into();
    let (start, width) = (place.start, place.len());
    let most = table.width.unwrap_or(match kind {
        Kind::Text => 255,
        Kind::Time if pattern.as_ref().is_some_and(|pattern| !pattern.has_time()) => 8,
        Kind::Time => 14,
        _ => 18,
    });
    Ok(Field { name, start, width, most, kind, trim, blank, check, pattern, kept: !table.skip })
}

fn problem(text: &str, error: &toml::de::Error) -> Problem {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map(|before| before.bytes().filter(|byte| *byte == b'\n').count() + 1);
    Problem { line, text: error.message().to_owned() }
}

/// A layout and what of it is no business of a single record.
#[derive(Clone, Debug)]
pub struct LayoutFile {
    pub layout: Layout,
    pub separator: Separator,
    /// Offsets of the zone that it names.
    pub(crate) zone: Option<Offsets>,
    /// The file as it stands, so that work on one layout is not gone on with by another.
    pub text: String,
}

#[derive(Debug, thiserror::Error)]
#[error("{}{}: {problem}", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct LayoutFileError {
    path: PathBuf,
    /// Counted from one; `None` where it is the file as a whole.
    line: Option<usize>,
    problem: String,
}

/// What is wrong, and on which line where that is known.
#[derive(Debug)]
pub(crate) struct Problem {
    line: Option<usize>,
    text: String,
}

impl Problem {
    fn new(text: impl Into<String>) -> Self {
        Self { line: None, text: text.into() }
    }
}

impl From<LayoutError> for Problem {
    fn from(error: LayoutError) -> Self {
        Self::new(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, text: &str) -> Result<LayoutFile, String> {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(name);
        fs::write(&path, text).unwrap();
        let prefix = format!("{}", path.display());
        read(&path).map_err(|error| error.to_string().replace(&prefix, name))
    }

    fn line(file: &LayoutFile, record: &str) -> String {
        let mut out = Vec::new();
        match file.layout.delimit(record.as_bytes(), &mut out) {
            Ok(_) => String::from_utf8(out).unwrap(),
            Err(reject) => reject.explain(&file.layout),
        }
    }

    #[test]
    fn a_layout_has_names_types_and_checks() {
        let text = "delimiter = ';'\nkey = ['seq']\n\n[[field]]\nname = 'seq'\nwidth = 4\ntype = 'integer'\n\n\
                    [[field]]\nname = 'at'\nwidth = 8\ntype = 'time'\n\n[[field]]\nname = 'cause'\nwidth = 2\none_of = ['16', '17']\n\n\
                    [[field]]\nname = 'rest'\nwidth = 3\nskip = true\n";
        let file = of("calls.toml", text).unwrap();
        assert_eq!(line(&file, "  1720260102163.."), "17;20260102;16\n");
        assert_eq!(line(&file, "    20260102163.."), "seq: blank, and a value is required");
        assert_eq!(line(&file, "  17        183.."), "cause: not one of the values listed");
        assert_eq!(line(&file, "  17        163.."), "17;\\N;16\n");
        assert_eq!(file.layout.types()[0].key, [0]);
    }

    #[test]
    fn a_mistake_is_told_with_its_line_and_what_was_meant() {
        let of = |text: &str| self::of("a.toml", text).unwrap_err();
        let unknown = of("[[field]]\nname = 'a'\nwidht = 3\n");
        assert!(
            unknown.starts_with("a.toml:3: ") && unknown.contains("widht") && unknown.contains("width"),
            "{unknown}"
        );
        let kind = of("[[field]]\nname = 'a'\nwidth = 3\ntype = 'number'\n");
        assert!(kind.starts_with("a.toml:4: ") && kind.contains("integer"), "{kind}");
        assert!(
            of("[[field]]\nname = 'a'\nwidth = 0\n")
                .ends_with("field a has no width, or begins before the one before it ends")
        );
        assert!(of("delimiter = ';'\n").contains("no field"));
        assert!(of("key = ['b']\n[[field]]\nname = 'a'\nwidth = 3\n").contains("key names `b`"));
    }

    #[test]
    fn several_types_are_told_apart_by_their_bytes() {
        let text = "tell = { from = 0, width = 2 }\n[[record]]\nname = 'calls'\nis = ['01']\n[[record.field]]\nname = 'a'\nstart = 2\nwidth = 3\n\
                    [[record]]\nname = 'texts'\nis = ['02', '03']\n[[record.field]]\nname = 'type'\nwidth = 2\n[[record.field]]\nname = 'b'\nwidth = 1\n";
        let file = of("a.toml", text).unwrap();
        assert_eq!((line(&file, "01xyz"), line(&file, "03q")), ("xyz\n".to_owned(), "03;q\n".to_owned()));
    }
}
