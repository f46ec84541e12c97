//! Triggers that rows set off when they are loaded.

use super::{Table, literal};
use evenkeel_site::server::{Control, TargetError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    pub name: String,
    /// A column of a field that it sets, so that it is not as the record has it.
    pub sets: Option<String>,
}

impl Trigger {
    /// Those that an INSERT into the table sets off, as far as the account may see them.
    pub fn of(control: &mut Control, table: &Table) -> Result<Vec<Self>, TargetError> {
        let found = control.query(&format!(
            "SELECT TRIGGER_NAME, ACTION_TIMING, ACTION_STATEMENT FROM information_schema.TRIGGERS \
             WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE = CONVERT({} USING utf8) \
             AND EVENT_MANIPULATION = 'INSERT' ORDER BY TRIGGER_NAME",
            literal(table.name.as_bytes())
        ))?;
        let of = |row: &Vec<Option<String>>| {
            let [Some(name), Some(timing), Some(text)] = &row[..] else { return None };
            let mut names = table.columns.iter().map(|column| &column.name);
            let sets = names.find(|name| timing == "BEFORE" && sets(text, name)).cloned();
            Some(Self { name: name.clone(), sets })
        };
        Ok(found.rows.iter().filter_map(of).collect())
    }
}

/// Whether a statement has `SET NEW.column =`, also behind a comma; what it only compares is not set.
fn sets(text: &str, column: &str) -> bool {
    let text = text.to_lowercase().replace('`', "");
    let words = format!("new.{}", column.to_lowercase());
    text.match_indices(&words).any(|(at, _)| {
        let (before, behind) = (text[..at].trim_end(), text[at + words.len()..].trim_start());
        (before.ends_with("set") || before.ends_with(','))
            && (behind.starts_with('=') || behind.starts_with(":="))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_that_is_set_is_told_from_one_that_is_compared() {
        assert!(sets("BEGIN SET NEW.`Who` = UPPER(NEW.who); END", "who"));
        assert!(sets("SET NEW.a = 1,\n  new.who:=2", "who"));
        for text in
            ["IF NEW.who = 'x' THEN SIGNAL SQLSTATE '45000'; END IF", "SET NEW.whole = 1", "SET @a = NEW.who"]
        {
            assert!(!sets(text, "who"), "{text}");
        }
    }
}
