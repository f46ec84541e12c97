//! The statement that makes a table, cut so that another one can be made like it.

use crate::table::quoted;

/// What SHOW CREATE TABLE says, in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create {
    /// Columns, keys and checks, without the commas between them.
    definitions: Vec<String>,
    /// What stands behind them: engine, character set and so on, without partitions.
    options: String,
}

impl Create {
    /// Cuts the statement; `None` where it is none of a table.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if !lines.next()?.starts_with("CREATE TABLE ") {
            return None;
        }
        let (mut definitions, mut options) = (Vec::new(), None);
        for line in lines {
            match (&options, line.strip_prefix("  ")) {
                (None, Some(line)) => definitions.push(line.trim_end_matches(',').to_owned()),
                (None, None) => options = Some(line.strip_prefix(')')?.trim().to_owned()),
                // How it is partitioned.
                (Some(_), _) => break,
            }
        }
        Some(Self { definitions, options: options? })
    }

    /// The statement for a day table, unless there is one, without the indexes that are added once it is filled.
    pub fn day_table(&self, table: &str) -> String {
        let later = self.later_indexes();
        let stays = |line: &&String| !later.contains(line);
        let lines: Vec<&str> = self.definitions.iter().filter(stays).map(String::as_str).collect();
        let (lines, options) = (lines.join(",\n  "), without_number(&self.options));
        format!("CREATE TABLE IF NOT EXISTS {} (\n  {lines}\n) {options}", quoted(table))
    }

    /// Indexes that a table can do without while it is filled: those that refuse nothing. A column that counts by itself needs
    /// one, so all stay where there is such a column.
    pub fn later_indexes(&self) -> Vec<&String> {
        if self.definitions.iter().any(|line| line.starts_with('`') && line.contains(" AUTO_INCREMENT")) {
            return Vec::new();
        }
        let is_plain = |line: &&String| {
            ["KEY `", "FULLTEXT KEY `", "SPATIAL KEY `"].iter().any(|start| line.starts_with(start))
        };
        self.definitions.iter().filter(is_plain).collect()
    }

    /// The statement that adds to `there` the indexes of this one that it has not; `None` where it has all.
    pub fn add_indexes(&self, table: &str, there: &Self) -> Option<String> {
        let missing: Vec<String> = self
            .later_indexes()
            .into_iter()
            .filter(|line| !there.definitions.contains(line))
            .map(|line| format!("ADD {line}"))
            .collect();
        (!missing.is_empty()).then(|| format!("ALTER TABLE {} {}", quoted(table), missing.join(", ")))
    }
}

/// Options without the number that a column which counts by itself takes next: a new table counts from its own rows.
fn without_number(options: &str) -> String {
    let Some((before, behind)) = options.split_once(" AUTO_INCREMENT=") else { return options.to_owned() };
    format!("{before}{}", behind.trim_start_matches(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: &str = "CREATE TABLE `calls` (
  `seq` bigint(20) NOT NULL,
  `sta``rted` datetime DEFAULT NULL COMMENT 'KEY `x`, a\\nb',
  `text` varchar(20) DEFAULT 'a,',
  PRIMARY KEY (`seq`,`sta``rted`),
  UNIQUE KEY `a (b` (`text`(5) DESC,`seq`),
  KEY `by_day` (`sta``rted`),
  CONSTRAINT `c` CHECK (`seq` > 0)
) ENGINE=InnoDB AUTO_INCREMENT=77 DEFAULT CHARSET=latin1
 PARTITION BY LIST (to_days(`sta``rted`))
(PARTITION `rest` DEFAULT ENGINE = InnoDB)";

    #[test]
    fn a_day_table_is_like_its_source_without_partitions_and_numbers() {
        let create = Create::parse(SHOWN).unwrap();
        let made = create.day_table("d`1");
        assert!(
            made.starts_with("CREATE TABLE IF NOT EXISTS `d``1` (\n  `seq` bigint(20) NOT NULL,\n"),
            "{made}"
        );
        assert!(made.ends_with("(`seq` > 0)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1"), "{made}");
        assert!(!made.contains("PARTITION"), "{made}");
        assert_eq!(Create::parse("CREATE VIEW `v` AS SELECT 1"), None);
    }

    #[test]
    fn indexes_that_refuse_nothing_can_come_later() {
        let create = Create::parse(SHOWN).unwrap();
        let made = create.day_table("d");
        assert!(!made.contains("  KEY `by_day`") && made.contains("UNIQUE KEY"), "{made}");
        let there = Create::parse(&made.replace(" IF NOT EXISTS", "")).unwrap();
        let add = create.add_indexes("d", &there).unwrap();
        assert_eq!(add, "ALTER TABLE `d` ADD KEY `by_day` (`sta``rted`)");
        assert_eq!(create.add_indexes("d", &create), None);
        let counts = SHOWN.replace("NOT NULL,\n  `sta", "NOT NULL AUTO_INCREMENT,\n  `sta");
        assert!(Create::parse(&counts).unwrap().later_indexes().is_empty());
    }
}
