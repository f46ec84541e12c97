//! The tables of the jobs, filled from a seed; and whether they are whole afterwards.
//!
//! A table of events as physicists keep them (TAG): run, event number, time, 60 numeric columns, two indexes.

use crate::published::Result;
use evenkeel_core::random::{Random, Seed};
use evenkeel_site::server::Control;
use std::fmt::Write as _;
use std::sync::Arc;

pub const TAG: &str = "tag";
pub const LOADED: &str = "loaded";
pub const WRITTEN: &str = "written";
/// By its comment a table is known as ours.
pub const COMMENT: &str = "made by evenkeel interfere";

const COLUMNS: usize = 60;
/// Rows of a run, which is what one LOAD DATA sends.
pub const BLOCK_ROWS: u64 = 500;

/// The rows of one run as text, without its number.
#[derive(Clone)]
pub struct Block(Arc<str>);

impl Block {
    pub fn of(seed: Seed) -> Self {
        let mut random = Random::new(seed);
        let mut text = String::new();
        for event in 0..BLOCK_ROWS {
            let _ = write!(text, "{event}\t{}", random.uniform(0, 9_999_999));
            for _ in 0..COLUMNS {
                let _ = write!(text, "\t{}.{:02}", random.uniform(0, 999), random.uniform(0, 99));
            }
            text.push('\n');
        }
        Self(text.into())
    }

    pub fn text(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Run and event of a row of the table, counted from 0.
    pub fn key(&self, row: u64) -> (u64, u64) {
        (1 + row / BLOCK_ROWS, row % BLOCK_ROWS)
    }

    pub fn load_into(&self, table: &str, run: u64) -> String {
        let columns = columns("");
        format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} (event, time{columns}) SET run = {run}")
    }
}

fn columns(of: &str) -> String {
    (1..=COLUMNS).fold(String::new(), |mut text, number| {
        let _ = write!(text, ", c{number:02}{of}");
        text
    })
}

/// Makes all tables and fills the one that is read; its checksum.
pub fn make(control: &mut Control, rows: u64, seed: Seed, goes_on: &dyn Fn() -> bool) -> Result<String> {
    let made = format!("ENGINE=InnoDB COMMENT='{COMMENT}'");
    for table in [TAG, LOADED] {
        control.exec(&format!(
            "CREATE TABLE {table} (run INT NOT NULL, event INT NOT NULL, time INT NOT NULL{}, \
             PRIMARY KEY (run, event), KEY (time)) {made}",
            columns(" FLOAT NOT NULL")
        ))?;
    }
    control.exec(&format!(
        "CREATE TABLE {WRITTEN} (id INT AUTO_INCREMENT PRIMARY KEY, run INT NOT NULL, value DOUBLE NOT NULL, KEY (run)) {made}"
    ))?;
    for run in (1..=rows / BLOCK_ROWS).take_while(|_| goes_on()) {
        let block = Block::of(seed.numbered(run));
        control.load_data_local(&block.load_into(TAG, run), block.text())?;
    }
    control.query(&format!("ANALYZE TABLE {TAG}"))?;
    checksum(control)
}

pub fn checksum(control: &mut Control) -> Result<String> {
    let rows = control.query(&format!("CHECKSUM TABLE {TAG}"))?;
    let value = rows.rows.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten());
    Ok(value.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_from_the_seed_and_have_every_column() {
        let (block, same, other) = (Block::of(Seed(1)), Block::of(Seed(1)), Block::of(Seed(2)));
        assert!(block.text() == same.text() && block.text() != other.text());
        let text = String::from_utf8(block.text().to_vec()).unwrap();
        assert!(text.lines().count() as u64 == BLOCK_ROWS);
        assert!(text.lines().all(|line| line.split('\t').count() == 2 + COLUMNS));
        assert_eq!((block.key(0), block.key(BLOCK_ROWS)), ((1, 0), (2, 0)));
    }
}
