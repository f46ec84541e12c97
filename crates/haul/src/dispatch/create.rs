//! The statement that makes a table, cut so that another one can be made like it.

use crate::table::quoted;

/// What SHOW CREATE TABLE says, in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create {
    /// Columns, keys and checks, without the commas between them.
    definitions: Vec<String>,
    /// What stands behind them: engine, character set and so on, without partitions.
    options: String,
    /// How it is partitioned, as it stands behind the options; empty where it is not.
    partitions: String,
}

impl Create {
    /// Cuts the statement; `None` where it is none of a table.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if !lines.next()?.starts_with("CREATE TABLE ") {
            return None;
        }
        let (mut definitions, mut options, mut partitions) = (Vec::new(), None, String::new());
        for line in lines {
            match (&options, line.strip_prefix("  ")) {
                (None, Some(line)) => definitions.push(line.trim_end_matches(',').to_owned()),
                (None, None) => options = Some(line.strip_prefix(')')?.trim().to_owned()),
                (Some(_), _) => partitions.extend(["\n", line]),
            }
        }
        Some(Self { definitions, options: options?, partitions })
    }

    /// The statement for a table that is like this one in all, partitions and the number that is counted next included. By
    /// `CREATE TABLE ... LIKE` that number begins anew, and MariaDB 10.11 fails at a DEFAULT partition.
    pub fn twin(&self, table: &str) -> String {
        format!("{}{}", self.statement(table, &self.definitions, &self.options), self.partitions)
    }

    /// The statement for a day table, unless there is one; without the indexes that are added later, where they are.
    pub fn day_table(&self, table: &str, with_indexes: bool) -> String {
        let later = self.later_indexes();
        let stays = |line: &&String| with_indexes || !later.contains(line);
        let definitions: Vec<String> = self.definitions.iter().filter(stays).cloned().collect();
        self.statement(table, &definitions, &without_number(&self.options))
    }

    fn statement(&self, table: &str, definitions: &[String], options: &str) -> String {
        let lines = definitions.join(",\n  ");
        format!("CREATE TABLE IF NOT EXISTS {} (\n  {lines}\n) {options}", quoted(table))
    }

    /// Indexes that a table can do without while it is filled: those that refuse nothing. A column that counts by itself needs
    /// one, so all stay where there is such a column.
    pub fn later_indexes(&self) -> Vec<&String> {
        if self.definitions.iter().any(|line| is_column(line) && line.contains(" AUTO_INCREMENT")) {
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

    /// Columns of each key that takes no two rows alike.
    pub fn unique_keys(&self) -> Vec<Vec<String>> {
        self.unique_lines()
            .map(|line| parts_of(line).0.into_iter().map(|part| part.column).collect())
            .collect()
    }

    /// The same with the lengths that count; `None` where a key is made of more than columns.
    pub fn unique_parts(&self) -> Option<Vec<Vec<KeyPart>>> {
        self.unique_lines()
            .map(|line| match parts_of(line) {
                (parts, true) if !parts.is_empty() => Some(parts),
                _ => None,
            })
            .collect()
    }

    fn unique_lines(&self) -> impl Iterator<Item = &String> {
        self.definitions
            .iter()
            .filter(|line| line.starts_with("PRIMARY KEY (") || line.starts_with("UNIQUE KEY `"))
    }
}

/// A column of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPart {
    /// Its name, unquoted.
    pub column: String,
    /// Of how many characters of it the key is, where not of all.
    pub length: Option<u64>,
}

fn is_column(line: &str) -> bool {
    line.starts_with('`')
}

/// The columns in the last brackets of a key, and whether these are all that is there.
fn parts_of(line: &str) -> (Vec<KeyPart>, bool) {
    let start = match line.strip_prefix("UNIQUE KEY `") {
        Some(rest) => line.len() - rest.len() + rest.find("` (").map_or(0, |at| at + 3),
        None => line.find('(').map_or(0, |at| at + 1),
    };
    let (mut parts, mut rest) = (Vec::new(), &line[start..]);
    while let Some(name) = rest.strip_prefix('`') {
        let mut length = 0;
        while let Some(at) = name[length..].find('`') {
            length += at;
            if !name[length + 1..].starts_with('`') {
                break;
            }
            length += 2;
        }
        let column = name[..length].replace("``", "`");
        let mut behind = name.get(length + 1..).unwrap_or_default();
        // Behind the name there may be a length, and the order.
        let digits = behind.strip_prefix('(').and_then(|behind| behind.split_once(')'));
        let length = digits.and_then(|(digits, after)| Some((digits.parse().ok()?, after)));
        let length = length.map(|(length, after)| {
            behind = after;
            length
        });
        behind = [" ASC", " DESC"].iter().find_map(|order| behind.strip_prefix(order)).unwrap_or(behind);
        parts.push(KeyPart { column, length });
        match behind.strip_prefix(',') {
            Some(next) => rest = next,
            None => return (parts, behind.starts_with(')')),
        }
    }
    (parts, false)
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
        let made = create.day_table("d`1", true);
        assert!(
            made.starts_with("CREATE TABLE IF NOT EXISTS `d``1` (\n  `seq` bigint(20) NOT NULL,\n"),
            "{made}"
        );
        assert!(made.ends_with("(`seq` > 0)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1"), "{made}");
        assert!(made.contains("KEY `by_day`") && !made.contains("PARTITION"), "{made}");
        assert!(create.twin("t").contains("AUTO_INCREMENT=77") && create.twin("t").ends_with("= InnoDB)"));
    }

    #[test]
    fn indexes_that_refuse_nothing_can_come_later() {
        let create = Create::parse(SHOWN).unwrap();
        let made = create.day_table("d", false);
        assert!(!made.contains("  KEY `by_day`") && made.contains("UNIQUE KEY"), "{made}");
        let there = Create::parse(&made.replace(" IF NOT EXISTS", "")).unwrap();
        let add = create.add_indexes("d", &there).unwrap();
        assert_eq!(add, "ALTER TABLE `d` ADD KEY `by_day` (`sta``rted`)");
        assert_eq!(create.add_indexes("d", &create), None);
        let counts = SHOWN.replace("NOT NULL,\n  `sta", "NOT NULL AUTO_INCREMENT,\n  `sta");
        assert!(Create::parse(&counts).unwrap().later_indexes().is_empty());
    }

    #[test]
    fn unique_keys_tell_their_columns() {
        let keys = Create::parse(SHOWN).unwrap().unique_keys();
        assert_eq!(keys, [vec!["seq", "sta`rted"], vec!["text", "seq"]]);
        let parts = Create::parse(SHOWN).unwrap().unique_parts().unwrap();
        let part = |column: &str, length| KeyPart { column: column.to_owned(), length };
        assert_eq!(parts[1], [part("text", Some(5)), part("seq", None)]);
        for other in ["((lower(`text`)))", "(`seq`,(`seq` + 1))", "(`seq`,`sta``rted` WITHOUT OVERLAPS)"] {
            let shown = SHOWN.replace("(`text`(5) DESC,`seq`)", other);
            assert_eq!(Create::parse(&shown).unwrap().unique_parts(), None, "{other}");
        }
        assert_eq!(Create::parse("CREATE VIEW `v` AS SELECT 1"), None);
    }
}
