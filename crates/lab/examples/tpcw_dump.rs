//! Writes a TPC-W data set as an SQL dump, the way `mariadb-dump --opt` would write the same rows: indexes in
//! CREATE TABLE, locks and DISABLE KEYS around extended INSERTs of up to a megabyte.
//!
//! usage: tpcw_dump EBS ITEMS SEED TODAY > dump.sql

use evenkeel_core::random::Seed;
use evenkeel_lab::data::tpcw::{Date, Scale};
use evenkeel_lab::data::{DataSet, Generator, Indexes, RowStream, Table};
use std::error::Error;
use std::io::{BufWriter, Write};

/// The dump program's net_buffer_length, which bounds an extended INSERT.
const INSERT_BYTES: usize = 1_046_528;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [ebs, items, seed, today] = arguments.as_slice() else {
        return Err("usage: tpcw_dump EBS ITEMS SEED TODAY".into());
    };
    let set = DataSet::from(Scale::new(ebs.parse()?, items.parse()?)?);
    let generator = set.generator(Seed(seed.parse()?), today.parse::<Date>()?);
    let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    out.write_all(HEAD)?;
    for table in set.tables() {
        write_table(&generator, table, &mut out)?;
    }
    out.write_all(TAIL)?;
    Ok(out.flush()?)
}

fn write_table(generator: &Generator, table: Table, out: &mut dyn Write) -> std::io::Result<()> {
    let definition = table.definition();
    writeln!(out, "DROP TABLE IF EXISTS `{table}`;\n{};", definition.create_table(Indexes::Inline))?;
    writeln!(out, "LOCK TABLES `{table}` WRITE;\n/*!40000 ALTER TABLE `{table}` DISABLE KEYS */;")?;
    let mut stream = RowStream::new(generator.clone(), table);
    let insert = format!("INSERT INTO `{table}` VALUES\n");
    let (mut row, mut statement) = (Vec::new(), Vec::new());
    while stream.next_row(&mut row) {
        if statement.len() + row.len() > INSERT_BYTES {
            statement.extend_from_slice(b";\n");
            out.write_all(&statement)?;
            statement.clear();
        }
        statement.extend_from_slice(if statement.is_empty() { insert.as_bytes() } else { b",\n" });
        definition.sql_values(&row, &mut statement);
        row.clear();
    }
    if !statement.is_empty() {
        statement.extend_from_slice(b";\n");
    }
    out.write_all(&statement)?;
    writeln!(out, "/*!40000 ALTER TABLE `{table}` ENABLE KEYS */;\nUNLOCK TABLES;")
}

const HEAD: &[u8] = b"/*!40101 SET NAMES utf8mb4 */;
/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */;
/*!40103 SET TIME_ZONE='+00:00' */;
/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */;
/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
/*!40111 SET @OLD_SQL_NOTES=@@SQL_NOTES, SQL_NOTES=0 */;
";

const TAIL: &[u8] = b"/*!40103 SET TIME_ZONE=@OLD_TIME_ZONE */;
/*!40101 SET SQL_MODE=@OLD_SQL_MODE */;
/*!40014 SET FOREIGN_KEY_CHECKS=@OLD_FOREIGN_KEY_CHECKS */;
/*!40014 SET UNIQUE_CHECKS=@OLD_UNIQUE_CHECKS */;
/*!40111 SET SQL_NOTES=@OLD_SQL_NOTES */;
";
