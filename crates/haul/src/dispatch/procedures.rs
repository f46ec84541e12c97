//! The stored procedures by which the server writes the statements itself, as the published study did it.

use super::DispatchError;
use super::which::Which;
use crate::table::literal;
use evenkeel_site::server::Control;

/// The file with all of them, as the client of the server reads it too.
pub const PROCEDURES: &str = include_str!("procedures.sql");
/// Names, each with the statement that makes it.
const NAMES: [&str; 2] = ["evenkeel_append", "evenkeel_move"];
/// What the comments of our procedures begin with.
const OURS: &str = "evenkeel ";
/// The comment of this version's.
const VERSION: &str = "evenkeel 1";

/// Makes those that are missing or of another version.
///
/// # Errors
/// One of these names is somebody else's, or the account may not make procedures.
pub fn install(control: &mut Control) -> Result<(), DispatchError> {
    for name in NAMES {
        match comment(control, name)? {
            Some(found) if found == VERSION => continue,
            Some(found) if !found.starts_with(OURS) => return Err(not_ours(name)),
            Some(_) => drop(control.exec(&format!("DROP PROCEDURE {name}"))?),
            None => {}
        }
        control.exec(statement(name))?;
    }
    Ok(())
}

/// Drops ours; how many there were.
///
/// # Errors
/// One of these names is somebody else's, or the account may not drop procedures.
pub fn remove(control: &mut Control) -> Result<usize, DispatchError> {
    let mut removed = 0;
    for name in NAMES {
        match comment(control, name)? {
            Some(found) if found.starts_with(OURS) => {
                control.exec(&format!("DROP PROCEDURE {name}"))?;
                removed += 1;
            }
            Some(_) => return Err(not_ours(name)),
            None => {}
        }
    }
    Ok(removed)
}

fn comment(control: &mut Control, name: &str) -> Result<Option<String>, DispatchError> {
    let sql = format!(
        "SELECT ROUTINE_COMMENT FROM information_schema.ROUTINES \
         WHERE ROUTINE_SCHEMA = DATABASE() AND ROUTINE_NAME = '{name}' AND ROUTINE_TYPE = 'PROCEDURE'"
    );
    let found = control.query(&sql)?;
    // MySQL and MariaDB alike give a text here, which is empty where nobody wrote a comment.
    Ok(found.rows.into_iter().next().map(|row| row.into_iter().next().flatten().unwrap_or_default()))
}

fn not_ours(name: &str) -> DispatchError {
    DispatchError::Unfit {
        table: format!("(procedure) {name}"),
        what: "is not ours: its comment is another one".to_owned(),
        hint: "drop or rename that procedure, or take --way insert",
    }
}

/// The parameters that all of them begin with.
pub(super) fn arguments(source: &str, by: &str, which: &Which, to: &str) -> String {
    let [source, by, to] = [source, by, to].map(|name| literal(name.as_bytes()));
    format!("{source}, {by}, {}, {to}", which.parameters())
}

/// The statement that makes a procedure.
fn statement(name: &str) -> &'static str {
    let start = format!("CREATE PROCEDURE {name}(");
    let at = PROCEDURES.find(&start).unwrap_or_default();
    let rest = &PROCEDURES[at..];
    &rest[..rest.find("//").unwrap_or(rest.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_procedure_is_one_statement_of_the_file() {
        for name in NAMES {
            let text = statement(name);
            assert!(
                text.starts_with(&format!("CREATE PROCEDURE {name}(")) && text.ends_with("END"),
                "{text}"
            );
            assert!(text.contains(&format!("COMMENT '{VERSION}'")) && !text.contains("DELIMITER"), "{text}");
        }
        assert_eq!(PROCEDURES.matches("CREATE PROCEDURE").count(), NAMES.len());
    }
}
