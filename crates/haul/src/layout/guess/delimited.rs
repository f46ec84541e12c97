//! A layout for records with delimiters: names by their header, types by their values.

use super::sample::{self, NoLayout, Sample};
use evenkeel_wire::record::{Charset, Dialect, Layout, Pattern, is_time};
use std::collections::BTreeSet;

/// Ways to write instants, the surest first.
const PATTERNS: [&str; 13] = [
    "iso",
    "yyyy/mm/dd hh:mm:ss",
    "dd.mm.yyyy hh:mm:ss",
    "dd/mm/yyyy hh:mm:ss",
    "mm/dd/yyyy hh:mm:ss",
    "dd/mm/yy hh:mmAM",
    "mm/dd/yy hh:mmAM",
    "dd/mm/yyyy",
    "mm/dd/yyyy",
    "dd.mm.yyyy",
    "mon d yyyy hh:mm:ss",
    "epoch",
    "epoch_ms",
];
/// An integer of more digits may be a number that is called.
const DIGITS: usize = 9;
/// Seconds since 1970 of the years 2000 to 2100.
const SECONDS: std::ops::Range<i64> = 946_684_800..4_102_444_800;

/// The layout, doubts with their columns, and the file.
type Found = (Layout, Vec<(usize, String)>, String);

/// Errors: no record has columns that can be told apart.
pub(super) fn guess(sample: &Sample<'_>, dialect: Dialect, charset: Charset) -> Result<Found, NoLayout> {
    let rows: Vec<Vec<String>> = sample.records.iter().filter_map(|record| row(dialect, record)).collect();
    let width = sample::most(rows.iter().map(Vec::len)).ok_or(NoLayout::NoColumns)?.0;
    let rows: Vec<&Vec<String>> = rows.iter().filter(|row| row.len() == width).collect();
    let (first, rest) = rows.split_first().ok_or(NoLayout::NoColumns)?;
    let column = |rows: &[&Vec<String>], at: usize| -> Vec<String> {
        rows.iter().map(|row| row[at].trim().to_owned()).filter(|value| !value.is_empty()).collect()
    };
    let has_digit = |value: &String| value.bytes().any(|byte| byte.is_ascii_digit());
    let is_header =
        (0..width).any(|at| {
            let (here, below) = (kind(&column(&[first], at)).0, column(rest, at));
            let is_other = kind(&below).0 != "text" || !below.is_empty() && below.iter().all(has_digit);
            here == "text" && is_other && !has_digit(&first[at])
        }) && first.iter().all(|name| !name.is_empty() && kind(std::slice::from_ref(name)).0 == "text");
    let names = if is_header { first.as_slice() } else { &[] };
    let below = if is_header { rest } else { &rows[..] };
    let mut doubts = Vec::new();
    if !is_header && !first.iter().any(has_digit) {
        doubts.push((0, "the first line may be a header: then write header = true".to_owned()));
    }
    let (mut fields, mut taken) = (String::new(), BTreeSet::new());
    for at in 0..width {
        let (kind, time, doubt) = kind(&column(below, at));
        let mut name = names.get(at).map_or_else(|| format!("{kind}{}", at + 1), |name| plain(name));
        while !taken.insert(name.clone()) {
            name = format!("{name}{}", at + 1);
        }
        doubts.extend(doubt.map(|doubt| (at, format!("{name}: {doubt}"))));
        fields += &format!("\n[[field]]\nname = \"{name}\"\n");
        if kind != "text" {
            fields += &format!("type = \"{kind}\"\n");
        }
        fields += &time.map(|time| format!("time = \"{time}\"\n")).unwrap_or_default();
    }
    // A string of JSON is one of TOML.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let header = String::from_utf8_lossy(sample.records[0]);
    let header = if is_header { format!("header = {}\n", quoted(&header)) } else { String::new() };
    let charset = format!("{charset:?}").to_lowercase();
    let by = quoted(&char::from(dialect.delimiter).to_string());
    let text = format!("charset = \"{charset}\"\n\n[delimited]\nby = {by}\n{header}{fields}");
    let layout = crate::layout::parse(&text).map_err(|_| NoLayout::NoColumns)?.layout;
    Ok((layout, doubts, text))
}

fn row(dialect: Dialect, record: &[u8]) -> Option<Vec<String>> {
    let cells: Result<Vec<_>, _> = dialect.cells(record).collect();
    Some(cells.ok()?.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect())
}

/// Of the values of a column that are not blank: its type, how its instants are written, and what may be otherwise.
fn kind(values: &[String]) -> (&'static str, Option<&'static str>, Option<&'static str>) {
    let all = |is: &dyn Fn(&str) -> bool| !values.is_empty() && values.iter().all(|value| is(value));
    if all(&|value| is_time(value.as_bytes())) {
        return ("time", None, None);
    }
    let fits = |pattern: &&&str| {
        let parsed = Pattern::parse(pattern, [(0, 0)].into());
        parsed.is_some_and(|parsed| {
            all(&|value| {
                let likely = match **pattern {
                    "epoch" => value.parse().is_ok_and(|number| number == 0 || SECONDS.contains(&number)),
                    "epoch_ms" => value
                        .parse::<i64>()
                        .is_ok_and(|number| number == 0 || SECONDS.contains(&(number / 1_000))),
                    _ => true,
                };
                likely && parsed.instant(value.as_bytes()).is_some_and(|instant| is_time(&instant))
            })
        })
    };
    let zero = all(&|value| value == "0");
    let found: Vec<&&str> = PATTERNS.iter().filter(fits).filter(|_| !zero).collect();
    if let Some(first) = found.first() {
        let doubt = match **first {
            "epoch" | "epoch_ms" => Some("may be a number instead of a time"),
            _ if found.len() > 1 => Some("day and month may be the other way round"),
            _ => None,
        };
        return ("time", Some(first), doubt);
    }
    let is_integer = |value: &str| {
        let digits = value.strip_prefix('-').unwrap_or(value);
        let is_code = digits.len() > 1 && digits.starts_with('0');
        (1..=DIGITS).contains(&digits.len()) && !is_code && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_decimal = |value: &str| {
        is_integer(value)
            || value.split_once('.').is_some_and(|(whole, part)| {
                is_integer(whole) && !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
            })
    };
    match () {
        () if all(&is_integer) => ("integer", None, None),
        () if all(&is_decimal) => ("decimal", None, None),
        () if all(&|value| is_decimal(&value.replace(',', "."))) => {
            ("text", None, Some("decimals with a comma are read as text"))
        }
        () => ("text", None, None),
    }
}

/// A header's word as the name of a column.
fn plain(word: &str) -> String {
    let letters = word.trim().to_lowercase();
    letters.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '_' }).collect()
}
