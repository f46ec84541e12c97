//! The tables of the jobs, filled from a seed; and whether they are whole afterwards.
//!
//! A table of events as physicists keep them (TAG): run, event number, time, 60 numeric columns, two indexes.

use crate::published::Result;
use evenkeel_core::random::{Random, Seed};
use evenkeel_site::server::{Control, TargetError};
use std::fmt::Write as _;
use std::sync::Arc;

pub const TAG: &str = "tag";
pub const LOADED: &str = "loaded";
pub const WRITTEN: &str = "written";
/// By its comment a table is known as ours.
pub const COMMENT: &str = "made by evenkeel interfere";

/// Ranges over several columns, a group, a sort; none can use an index alone.
pub const SELECTS: [&str; 5] = [
    "SELECT run, COUNT(*), AVG(c07), MAX(c13) FROM tag WHERE c01 BETWEEN 200 AND 900 AND c02 < 800 GROUP BY run ORDER BY 3 DESC",
    "SELECT run, event, c05 + c06 AS both_of FROM tag WHERE c03 > 100 AND c04 < 950 AND c08 > 50 ORDER BY both_of DESC LIMIT 100",
    "SELECT FLOOR(c10 / 50) AS bin, SUM(c11), COUNT(DISTINCT run) FROM tag WHERE time > 1000 AND c12 > 100 GROUP BY bin ORDER BY 2",
    "SELECT run, MAX(c20) - MIN(c21) AS span FROM tag WHERE c22 BETWEEN 100 AND 900 AND c23 > 250 GROUP BY run ORDER BY span DESC, run",
    "SELECT event, c30, c31 FROM tag WHERE c32 > 500 AND c33 BETWEEN 100 AND 600 ORDER BY c31, c30 LIMIT 1000 OFFSET 5000",
];

const COLUMNS: usize = 60;
/// Rows of a run, which is what one LOAD DATA sends.
pub const BLOCK_ROWS: u64 = 500;

/// The rows of one run as text, without its number.
#[derive(Clone)]
pub struct Block {
    text: Arc<str>,
    rows: u64,
}

impl Block {
    pub fn of(seed: Seed) -> Self {
        Self::sized(seed, BLOCK_ROWS)
    }

    fn sized(seed: Seed, rows: u64) -> Self {
        let mut random = Random::new(seed);
        let mut text = String::new();
        for event in 0..rows {
            let _ = write!(text, "{event}\t{}", random.uniform(0, 9_999_999));
            for _ in 0..COLUMNS {
                let _ = write!(text, "\t{}.{:02}", random.uniform(0, 999), random.uniform(0, 99));
            }
            text.push('\n');
        }
        Self { text: text.into(), rows }
    }

    pub fn text(&self) -> &[u8] {
        self.text.as_bytes()
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Run and event of a row of the table, counted from 0.
    pub fn key(&self, row: u64) -> (u64, u64) {
        (1 + row / self.rows, row % self.rows)
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

/// The statement that makes a table of events.
pub fn create(table: &str) -> String {
    format!(
        "CREATE TABLE {table} (run INT NOT NULL, event INT NOT NULL, time INT NOT NULL{}, \
         PRIMARY KEY (run, event), KEY (time)) ENGINE=InnoDB",
        columns(" FLOAT NOT NULL")
    )
}

/// The rows of runs that are alike no other: more runs take them in turn.
const BLOCKS: u64 = 16;

/// What to fill a table of so many rows with, of so many each run.
pub fn blocks(seed: Seed, rows: u64, block_rows: u64) -> Vec<Block> {
    (1..=(rows / block_rows).min(BLOCKS)).map(|run| Block::sized(seed.numbered(run), block_rows)).collect()
}

/// Loads so many rows, a run by each LOAD DATA.
pub fn fill(
    control: &mut Control,
    table: &str,
    rows: u64,
    blocks: &[Block],
    goes_on: &dyn Fn() -> bool,
) -> Result<(), TargetError> {
    let mut loaded = 0;
    for (run, block) in (1..).zip(blocks.iter().cycle()) {
        if loaded >= rows || !goes_on() {
            break;
        }
        loaded += control.load_data_local(&block.load_into(table, run), block.text())?;
    }
    Ok(())
}

/// Makes all tables and fills the one that is read; its checksum.
pub fn make(control: &mut Control, rows: u64, seed: Seed, goes_on: &dyn Fn() -> bool) -> Result<String> {
    let made = format!("ENGINE=InnoDB COMMENT='{COMMENT}'");
    for table in [TAG, LOADED] {
        control.exec(&format!("{} COMMENT='{COMMENT}'", create(table)))?;
    }
    control.exec(&format!(
        "CREATE TABLE {WRITTEN} (id INT AUTO_INCREMENT PRIMARY KEY, run INT NOT NULL, value DOUBLE NOT NULL, KEY (run)) {made}"
    ))?;
    fill(control, TAG, rows, &blocks(seed, rows, BLOCK_ROWS), goes_on)?;
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
