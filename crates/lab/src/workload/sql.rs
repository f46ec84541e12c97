//! Reads as much of a statement as is needed: its placeholders, its tables, its verb.

mod acts;
mod dates;
mod normal;
mod shape;
mod token;

pub use acts::{Act, acts, control, harm, may_write, needed, stored_function, words};
pub use dates::shifted;
pub use normal::{Normal, normal};
pub use shape::{Column, Condition, Relation, Role, Shape, Source, last_part, shape};

use token::{Kind, tokens};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    pub sql: String,
    /// Names of the parameters in the order of the placeholders, `None` for a bare `?`.
    pub placeholders: Vec<Option<String>>,
    /// Tables named after FROM, JOIN, INTO and UPDATE, each once.
    pub tables: Vec<String>,
    pub verb: String,
}

/// Verbs that a server prepares; what begins otherwise and has no parameters goes as text.
const PREPARED_VERBS: [&str; 9] =
    ["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "CALL", "DO", "VALUES"];

/// What a statement is about, as its verb says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Read,
    /// Changes rows; the server has a plan for it.
    Write,
    /// Transaction control, calls and the rest.
    Other,
}

impl Parsed {
    pub fn purpose(&self) -> Purpose {
        match self.verb.as_str() {
            "SELECT" | "WITH" => Purpose::Read,
            "INSERT" | "UPDATE" | "DELETE" | "REPLACE" => Purpose::Write,
            _ => Purpose::Other,
        }
    }

    pub fn is_prepared(&self) -> bool {
        !self.placeholders.is_empty() || PREPARED_VERBS.contains(&self.verb.as_str())
    }
}

/// Finds placeholders (`?` and `:name`) outside of texts, quoted names and comments, and replaces the named
/// ones.
pub fn parse(text: &str) -> Parsed {
    let text = text.trim().trim_end_matches(';').trim_end();
    let mut parsed = Parsed::default();
    for (kind, piece) in tokens(text) {
        if let Kind::Placeholder(name) = kind {
            parsed.placeholders.push(name.map(str::to_owned));
            parsed.sql.push('?');
            continue;
        }
        if parsed.verb.is_empty() && kind == Kind::Word {
            parsed.verb = piece.to_ascii_uppercase();
        }
        parsed.sql.push_str(piece);
    }
    for Source { table, .. } in shape(text).sources {
        if !parsed.tables.contains(&table) {
            parsed.tables.push(table);
        }
    }
    parsed
}

/// The statements of a script, each with the comments before it; what ends them is no part of them.
pub fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut at) = (Vec::new(), 0, 0);
    for (_, piece) in tokens(text) {
        if piece == ";" {
            parts.push(&text[begin..at]);
            begin = at + 1;
        }
        at += piece.len();
    }
    parts.push(&text[begin..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_found_outside_of_texts_names_and_comments() {
        for (text, sql, names) in [
            ("SELECT 1;", "SELECT 1", vec![]),
            ("SELECT ? + ?", "SELECT ? + ?", vec![None, None]),
            ("SELECT :a, :b_1+:a", "SELECT ?, ?+?", vec![Some("a"), Some("b_1"), Some("a")]),
            ("SELECT ':a ?', \"it''s :b\", 'x\\':c'", "SELECT ':a ?', \"it''s :b\", 'x\\':c'", vec![]),
            ("SELECT `a:b?` -- :c\n, ? # :d", "SELECT `a:b?` -- :c\n, ? # :d", vec![None]),
            ("SELECT /* :a ? */ :ä", "SELECT /* :a ? */ ?", vec![Some("ä")]),
            ("SET @x := 1", "SET @x := 1", vec![]),
            ("SELECT '14:30:00', 'open", "SELECT '14:30:00', 'open", vec![]),
        ] {
            let parsed = parse(text);
            let found: Vec<Option<&str>> = parsed.placeholders.iter().map(Option::as_deref).collect();
            assert_eq!((parsed.sql.as_str(), found), (sql, names), "{text}");
        }
    }

    #[test]
    fn tables_are_found_where_they_are_named() {
        for (text, tables) in [
            ("SELECT a, b FROM t WHERE c IN (SELECT d FROM `u v`)", vec!["t", "u v"]),
            ("SELECT * FROM t AS x, u y JOIN shop.w ON x.a = y.b, x", vec!["t", "u", "shop.w"]),
            ("INSERT IGNORE INTO t (a) VALUES (1), (2) ON DUPLICATE KEY UPDATE a = 1", vec!["t"]),
            ("UPDATE IGNORE t SET a = 1, b = 2", vec!["t"]),
            ("DELETE FROM t WHERE a = 1", vec!["t"]),
            ("SELECT a FROM (SELECT b FROM t) AS s FOR UPDATE", vec!["t"]),
            ("CALL p(?)", vec![]),
        ] {
            assert_eq!(parse(text).tables, tables, "{text}");
        }
    }

    #[test]
    fn what_a_server_does_not_prepare_goes_as_text() {
        for (text, prepared) in
            [("select 1", true), ("LOCK TABLES t READ", false), ("SET x = ?", true), ("-- c\nbegin", false)]
        {
            assert_eq!(parse(text).is_prepared(), prepared, "{text}");
        }
    }
}
