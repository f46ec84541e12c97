//! What I/Os cost, as a file says it: `4k=0.25,16k=1,256k=8`.

use super::units;
use anyhow::{Context, Result, anyhow};
use evenkeel_core::share::{Costs, UNIT_BYTES};

/// Costs by size in bytes.
pub type Table = Vec<(u32, f64)>;

keys! {
    /// By default 256 KB cost 1.4 times what 16 KB cost, reads and writes the same.
    CostTables in "" {
        /// Costs of reads, in units of a read of 16 KB.
        reads as "read": Table = vec![(UNIT_BYTES, 1.0), (16 * UNIT_BYTES, 1.4)],
        /// Costs of writes; where there are none they cost as much as reads.
        writes as "write": Table = Vec::new(),
    }
}

types! {
    "a list of sizes and costs, as \"16k=1,256k=1.4\"": Table = |value| value.as_str().map(table);
}

impl CostTables {
    /// The costs as the disks of a host use them.
    /// Errors: the tables make no sense.
    pub fn costs(&self) -> Result<Costs> {
        Ok(Costs::new(&self.reads, &self.writes)?)
    }
}

pub fn table(text: &str) -> Result<Table> {
    let entry = |entry: &str| {
        let (size, cost) = entry.split_once('=').ok_or_else(|| anyhow!("no `=` in {entry:?}"))?;
        let bytes = units::bytes(size.trim())?;
        let cost = cost.trim().parse().with_context(|| format!("{cost:?} is not a number"))?;
        Ok((u32::try_from(bytes).with_context(|| format!("{size} is too large"))?, cost))
    };
    let entries: Result<_> = text.split(',').map(|part| entry(part.trim())).collect();
    entries.with_context(|| format!("{text:?} is not a list of sizes and costs, as in 4k=0.25,16k=1,256k=8"))
}

pub fn text(table: &[(u32, f64)]) -> String {
    let size = |bytes: u32| match bytes {
        bytes if bytes.is_multiple_of(1 << 20) => format!("{}m", bytes >> 20),
        bytes if bytes.is_multiple_of(1 << 10) => format!("{}k", bytes >> 10),
        bytes => bytes.to_string(),
    };
    let entries = table.iter().map(|&(bytes, cost)| format!("{}={cost}", size(bytes)));
    entries.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_as_it_is_written() {
        let read = table("4k=0.25, 16k=1,1m=12.5, 512=0.1").unwrap();
        assert_eq!(read, [(4_096, 0.25), (16_384, 1.0), (1 << 20, 12.5), (512, 0.1)]);
        assert_eq!(table(&text(&read)).unwrap(), read);
        assert_eq!(CostTables::default().costs().unwrap().mark(), Costs::default().mark());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (bad, expected) in [
            ("4k", "no `=`"),
            ("4k=much", "is not a number"),
            ("some=1", "some"),
            ("8g=1", "too large"),
            ("", "no `=`"),
        ] {
            let error = format!("{:#}", table(bad).unwrap_err());
            assert!(error.contains(expected), "{bad}: {error}");
        }
        let tables = CostTables { reads: table("16k=4").unwrap(), writes: Vec::new() };
        assert!(tables.costs().unwrap_err().to_string().contains("not 4"));
    }
}
