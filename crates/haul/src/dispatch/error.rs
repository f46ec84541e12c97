//! What keeps records from being dispatched.

use evenkeel_site::server::TargetError;

/// Why records were not dispatched, or day tables not retired. What was moved before is moved and in the journal.
#[derive(Debug, thiserror::Error)]
pub enum DispatchError {
    #[error(transparent)]
    Server(TargetError),
    #[error("--name {pattern}: {why}")]
    Pattern { pattern: String, why: &'static str },
    #[error("there is no table {0}")]
    NoTable(String),
    #[error("table {table} has no column {column}")]
    NoColumn { table: String, column: String },
    #[error("table {table} {what}")]
    Unfit { table: String, what: String, hint: &'static str },
    #[error("another dispatch of table {0} is under way")]
    Busy(String),
    #[error("table {table} has records of {days} days, and --max-days is {most}")]
    TooManyDays { table: String, days: usize, most: usize },
    #[error(
        "audited: {rows} rows in {table} and its day tables, {before} before; if the counts agree, some rows differ: rows were lost, duplicated, or changed by another client"
    )]
    Audit { table: String, before: u64, rows: u64 },
    #[error("table {table}: {what}")]
    Disagree { table: String, what: String },
}

/// ER_DUP_ENTRY, whose message has the values of the key.
const DUPLICATE: u16 = 1062;

impl From<TargetError> for DispatchError {
    /// Takes the server's error without the values of records, which belong neither into logs nor into JSON.
    fn from(mut error: TargetError) -> Self {
        if let TargetError::Statement { code: DUPLICATE, message, .. } = &mut error {
            let key = message.rfind(" for key ").map_or("", |at| &message[at..]);
            *message = format!("two records are alike{key}");
        }
        Self::Server(error)
    }
}

impl DispatchError {
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Server(TargetError::Stopped))
    }

    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Server(error) => error.hint(),
            Self::Pattern { .. } => Some("as --name '{table}_{day}', where {day} becomes yyyymmdd"),
            Self::NoTable(_) => Some("load the records first, or correct --table"),
            Self::NoColumn { .. } => Some("correct --by"),
            Self::Unfit { hint, .. } => Some(hint),
            Self::Busy(_) => Some("wait for it; a statement of a client that was killed ends by itself"),
            Self::TooManyDays { .. } => Some(
                "look at the dates of the records: some may be wrong; raise --max-days where they are right",
            ),
            Self::Audit { .. } => {
                Some("compare the files with the tables: `evenkeel cdr audit` names each record")
            }
            Self::Disagree { .. } => Some("nothing was deleted: compare both tables, then run it again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_comes_again_is_told_without_its_values() {
        let message = "Duplicate entry '346900 for key x' for key 'PRIMARY'".to_owned();
        let error = TargetError::Statement { sql: "INSERT".to_owned(), code: 1062, message };
        let told = DispatchError::from(error).to_string();
        assert!(told.contains("for key 'PRIMARY'") && !told.contains("346900"), "{told}");
    }
}
