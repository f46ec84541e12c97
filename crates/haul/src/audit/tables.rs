//! The tables that hold the records, and how their rows are asked for.

use super::form::{Form, Says};
use crate::dispatch::{Day, day_tables};
use crate::table::{Found, FoundColumn, literal, quoted};
use crate::{HaulError, Refused, dispatch, refused};
use evenkeel_site::server::Control;
use evenkeel_wire::record::{Charset, Layout, RecordType, Trim, Values};
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_128;

pub(crate) struct Tables {
    pub found: Vec<Found>,
    /// Names of the columns, those of the fields that are kept.
    pub columns: Vec<String>,
    /// Days whose tables `cdr retire` dropped, by the column that says the day, each with the records that went with them.
    pub retired: BTreeMap<String, BTreeMap<Day, u64>>,
    selects: Vec<String>,
}

impl Tables {
    /// Finds the tables that names and patterns mean; with `dispatched`, also the day tables that records of theirs went to.
    pub fn find(
        control: &mut Control,
        words: &[String],
        of: &RecordType,
        dispatched: bool,
    ) -> Result<Self, HaulError> {
        let mut found: Vec<Found> = Vec::new();
        for word in words {
            for name in named(control, word)? {
                add(&mut found, Found::read(control, &name)?.ok_or_else(|| no_table(&name))?);
            }
        }
        let sources: Vec<String> = found.iter().map(|table| table.name.clone()).collect();
        let mut retired = BTreeMap::<_, BTreeMap<_, _>>::new();
        for source in sources.iter().filter(|_| dispatched) {
            for (by, day, records) in dispatch::retired(control, source)? {
                *retired.entry(by).or_default().entry(day).or_default() += records;
            }
            for name in day_tables(control, source)? {
                // One that is gone holds nothing: its records are missed.
                Found::read(control, &name)?.into_iter().for_each(|table| add(&mut found, table));
            }
        }
        let columns = of.fields.iter().filter(|field| field.kept).map(|field| field.name.clone()).collect();
        let mut tables = Self { found, columns, retired, selects: Vec::new() };
        tables.selects = tables.found.iter().map(|table| tables.select(table)).collect::<Result<_, _>>()?;
        tables.check_alike()?;
        Ok(tables)
    }

    /// Whether the bytes of all texts are UTF-8 as they are stored, so that the server need not convert any.
    pub fn are_utf8(&self) -> bool {
        let charsets =
            self.found.iter().flat_map(|table| &table.columns).filter_map(|column| column.charset.as_deref());
        charsets.into_iter().all(|charset| matches!(charset, "ascii" | "utf8" | "utf8mb3" | "utf8mb4"))
    }

    pub fn select_of(&self, number: usize) -> &str {
        &self.selects[number]
    }

    pub fn canon(&self, layout: &Layout, of: &RecordType) -> Result<Canon, Refused> {
        let table = self.found.first().ok_or_else(|| no_table(""))?;
        let forms = self.columns.iter().map(|name| column(table, name).map(Form::of));
        let place = |index: &usize| {
            let name = &of.fields.get(*index).filter(|field| field.kept)?.name;
            self.columns.iter().position(|column| column == name)
        };
        let key: Option<Vec<usize>> = of.key.iter().map(place).collect();
        let says = if layout.charset() == Charset::Latin1 { Says::Latin1File } else { Says::File };
        Ok(Canon {
            forms: forms.collect::<Result<_, _>>()?,
            key: key.unwrap_or_default(),
            says,
            delimiter: layout.delimiter(),
        })
    }

    fn select(&self, table: &Found) -> Result<String, Refused> {
        let mut parts = Vec::new();
        for name in &self.columns {
            let found = column(table, name)?;
            parts.push(match found.data_type.as_str() {
                // As text it has six digits, which are not all.
                "float" => format!("{}+0e0", quoted(&found.name)),
                "bit" => format!("{}+0", quoted(&found.name)),
                _ => quoted(&found.name),
            });
        }
        Ok(format!("SELECT {} FROM {}", parts.join(", "), quoted(&table.name)))
    }

    fn check_alike(&self) -> Result<(), Refused> {
        let Some((first, more)) = self.found.split_first() else { return Ok(()) };
        for (table, name) in more.iter().flat_map(|table| self.columns.iter().map(move |name| (table, name)))
        {
            let (one, other) = (column(first, name)?, column(table, name)?);
            if Form::of(one) != Form::of(other) {
                return Err(refused(
                    format!(
                        "column {name} is {} in {} and {} in {}",
                        one.full_type, first.name, other.full_type, table.name
                    ),
                    "audit tables of one kind at a time, each with the files that went there",
                ));
            }
        }
        Ok(())
    }
}

fn add(found: &mut Vec<Found>, table: Found) {
    if found.iter().all(|known| known.name != table.name) {
        found.push(table);
    }
}

fn column<'t>(table: &'t Found, field: &str) -> Result<&'t FoundColumn, Refused> {
    let found = table.columns.iter().find(|column| column.name.eq_ignore_ascii_case(field));
    found.ok_or_else(|| {
        refused(
            format!("table {} has no column `{field}` for the field of that name", table.name),
            "name the table of these records, or take `skip` for what is not stored",
        )
    })
}

pub(crate) fn no_table(name: &str) -> Refused {
    refused(
        format!("there is no table {name} in the database, or none that this account may read"),
        "SHOW TABLES lists them; a pattern stands in quotes, as --table 'calls_*'",
    )
}

/// Names of the tables that a name or a pattern with `*` and `?` means.
pub(crate) fn named(control: &mut Control, word: &str) -> Result<Vec<String>, HaulError> {
    if !word.contains(['*', '?']) {
        return Ok(vec![word.to_owned()]);
    }
    let like: String = word.chars().fold(String::new(), |mut like, letter| {
        match letter {
            '*' => like.push('%'),
            '?' => like.push('_'),
            '%' | '_' | '|' => like.extend(['|', letter]),
            letter => like.push(letter),
        }
        like
    });
    let sql = format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' \
         AND TABLE_NAME LIKE CONVERT({} USING utf8) ESCAPE '|' ORDER BY TABLE_NAME",
        literal(like.as_bytes())
    );
    let names: Vec<String> = control.query(&sql)?.rows.into_iter().flatten().flatten().collect();
    match names.is_empty() {
        true => Err(no_table(word).into()),
        false => Ok(names),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Canon {
    /// Of the fields that are kept, in their order.
    pub forms: Vec<Form>,
    /// Places of the key among them; empty where a row is known by all of its values.
    pub key: Vec<usize>,
    pub says: Says,
    pub delimiter: u8,
}

/// What is kept from row to row.
#[derive(Default)]
pub(crate) struct Scratch {
    values: Vec<u8>,
    ends: Vec<usize>,
    key: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hashes {
    pub group: u128,
    pub row: u128,
}

impl Canon {
    /// Of a delimited line as it would be loaded.
    pub fn line(&self, line: &[u8], scratch: &mut Scratch) -> Hashes {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        scratch.clear();
        if self.is_plain(line) {
            for (form, value) in self.forms.iter().zip(line.split(|byte| *byte == self.delimiter)) {
                scratch.put(*form, Some(value).filter(|value| *value != b"\\N"), self.says);
            }
        } else {
            for (form, value) in self.forms.iter().zip(Values::new(line, self.delimiter)) {
                // A line of the converter's never ends within an escape.
                scratch.put(*form, value.unwrap_or_default().as_deref(), self.says);
            }
        }
        self.hashes(scratch)
    }

    /// Whether no backslash of a line stands for anything but NULL.
    fn is_plain(&self, line: &[u8]) -> bool {
        let parts = |byte: Option<&u8>| byte.is_none_or(|byte| *byte == self.delimiter);
        memchr::memchr_iter(b'\\', line).all(|at| {
            let before = at.checked_sub(1).and_then(|at| line.get(at));
            line.get(at + 1) == Some(&b'N') && parts(before) && parts(line.get(at + 2))
        })
    }

    /// Of a row of the server.
    pub fn row<'v, E>(
        &self,
        values: impl Iterator<Item = Result<Option<&'v [u8]>, E>>,
        scratch: &mut Scratch,
    ) -> Result<Hashes, E> {
        scratch.clear();
        for (form, value) in self.forms.iter().zip(values) {
            scratch.put(*form, value?, Says::Server);
        }
        Ok(self.hashes(scratch))
    }

    /// The group of a record that does not fit: that of its key where it has one, so that it is found beside a row that was stored
    /// of it; else one of its own.
    pub fn unfit(
        &self,
        of: Option<(&Layout, usize)>,
        record: &[u8],
        place: u64,
        scratch: &mut Scratch,
    ) -> u128 {
        match of.is_some_and(|of| self.put_key(of, record, scratch)) {
            true => scratch.group(),
            false => xxh3_128(&[&b"unfit"[..], &place.to_be_bytes(), record].concat()),
        }
    }

    fn put_key(&self, (layout, index): (&Layout, usize), record: &[u8], scratch: &mut Scratch) -> bool {
        scratch.key.clear();
        let of = &layout.types()[index];
        let key: Vec<_> = of.key.iter().filter_map(|index| of.fields.get(*index)).collect();
        for (field, place) in key.iter().zip(&self.key) {
            let value = layout.value(field, record);
            if value.is_empty() || (field.trim == Trim::None && value.trim_ascii().is_empty()) {
                return false;
            }
            self.forms[*place].put(Some(&value), self.says, &mut scratch.key);
        }
        !self.key.is_empty()
    }

    fn hashes(&self, scratch: &mut Scratch) -> Hashes {
        let row = xxh3_128(&scratch.values);
        if self.key.is_empty() {
            return Hashes { group: row, row };
        }
        scratch.key.clear();
        for place in &self.key {
            let begin = if *place == 0 { 0 } else { scratch.ends[*place - 1] };
            scratch.key.extend_from_slice(&scratch.values[begin..scratch.ends[*place]]);
        }
        Hashes { group: scratch.group(), row }
    }

    /// Whether two values of the column with this index are the same.
    pub fn same(&self, index: usize, file: Option<&[u8]>, server: Option<&[u8]>) -> bool {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        self.forms[index].put(file, self.says, &mut one);
        self.forms[index].put(server, Says::Server, &mut other);
        one == other
    }
}

/// The values of a record as they would be stored; `None` where it does not fit.
pub(super) fn values_of(layout: &Layout, record: &[u8]) -> Option<Vec<Option<Vec<u8>>>> {
    let mut line = Vec::new();
    layout.delimit(record, &mut line).ok()?;
    line.pop();
    Values::new(&line, layout.delimiter()).collect::<Result<_, _>>().ok()
}

impl Scratch {
    fn clear(&mut self) {
        self.values.clear();
        self.ends.clear();
    }

    fn put(&mut self, form: Form, value: Option<&[u8]>, says: Says) {
        form.put(value, says, &mut self.values);
        self.ends.push(self.values.len());
    }

    fn group(&self) -> u128 {
        xxh3_128(&self.key)
    }
}
