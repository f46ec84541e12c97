//! A statement with its literals taken out, so that executions that differ in nothing else are known as one.

use super::token::{Kind, is_among, tokens};
use crate::workload::Value;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Normal {
    /// Text with `?` for each literal that a parameter can replace.
    pub sql: String,
    /// The same for all executions that differ only in literals, letter case, space, and the length of lists.
    pub digest: String,
    pub values: Vec<Value>,
}

const QUOTES: [char; 2] = ['\'', '"'];
/// Words before a text that no parameter can replace.
const BEFORE_TEXT: &str = "SEPARATOR ESCAPE AS COLLATE";
/// Types whose literals are a text behind their name.
const TYPED: &str = "DATE TIME TIMESTAMP";
/// Types and functions whose numbers in parentheses no parameter can replace.
const SIZED: &str = "DECIMAL NUMERIC CHAR VARCHAR BINARY VARBINARY FLOAT \
     DATETIME TIME TIMESTAMP NOW SYSDATE CURTIME CURRENT_TIMESTAMP UTC_TIMESTAMP";
/// Words that end the columns after ORDER BY and GROUP BY, where a number is the place of a column.
const ENDS_PLACES: &str = "LIMIT HAVING FOR UNION WINDOW OFFSET INTO ROWS PROCEDURE";

/// Takes the literals out of a statement. Comments go too, besides those that a server reads.
pub fn normal(text: &str) -> Normal {
    let mut normal = Normal::default();
    let (mut last, mut before) = (String::new(), String::new());
    let (mut spaced, mut places, mut sized) = (false, false, false);
    for (kind, piece) in tokens(text.trim().trim_end_matches(';').trim_end()) {
        let is_read = ["/*!", "/*+", "/*M!"].iter().any(|start| piece.starts_with(start));
        if kind == Kind::Space && !is_read {
            spaced = true;
            continue;
        }
        let upper = piece.to_ascii_uppercase();
        let is_text = kind == Kind::Other && piece.starts_with(QUOTES);
        let is_second = is_text && last.starts_with(QUOTES);
        // Texts side by side are one.
        if is_second
            && normal.sql.ends_with('?')
            && let Some(Value::Text(text)) = normal.values.last_mut()
        {
            text.extend(unquoted(piece));
            spaced = false;
            continue;
        }
        let is_marked = !spaced && last.ends_with(|sign: char| sign.is_alphanumeric() || sign == '_');
        let is_typed = is_marked || is_second || last.starts_with('_') || is_among(&last, TYPED);
        // No parameter is quite the same as 0x10, x'10', DATE '2026-01-01' or _utf8 'a'.
        let stays = is_text && is_typed || piece.starts_with("0x") || piece.starts_with("0b");
        let value = match kind {
            Kind::Word if !places && !sized && last != "." => number(piece),
            Kind::Other if is_text && !stays => {
                let is_json = last == ">" && ["-", ">"].contains(&before.as_str());
                (!is_json && !is_among(&last, BEFORE_TEXT)).then(|| Value::Text(unquoted(piece)))
            }
            _ => None,
        };
        match upper.as_str() {
            "BY" => places = true,
            "(" => sized = is_among(&last, SIZED),
            ")" => (places, sized) = (false, false),
            word => places &= !is_among(word, ENDS_PLACES),
        }
        if spaced && !normal.sql.is_empty() {
            normal.sql.push(' ');
        }
        let piece = if value.is_some() { "?" } else { piece };
        normal.sql.push_str(piece);
        add_to_digest(&mut normal.digest, if stays { "?" } else { piece });
        normal.values.extend(value);
        (before, last, spaced) = (last, upper, false);
    }
    normal
}

/// A list of values becomes one value, and a list of such rows one row.
fn add_to_digest(digest: &mut String, piece: &str) {
    if piece == "?" && digest.ends_with("? , ") {
        digest.truncate(digest.len() - 2);
        return;
    }
    if piece == ")" && digest.ends_with("( ? ) , ( ? ") {
        digest.truncate(digest.len() - "( ? ) , ( ? ".len());
        digest.push_str("( ? ");
    }
    digest.push_str(&piece.to_lowercase());
    digest.push(' ');
}

fn number(piece: &str) -> Option<Value> {
    if !piece.starts_with(|sign: char| sign.is_ascii_digit()) {
        return None;
    }
    if let Ok(whole) = piece.parse() {
        return Some(Value::Int(whole));
    }
    let is_exact = piece.bytes().all(|sign| sign.is_ascii_digit() || sign == b'.');
    // A decimal, and what no whole number of ours holds, is sent as text, which the server reads in full.
    if is_exact { Some(Value::Text(piece.into())) } else { piece.parse().ok().map(Value::Double) }
}

/// The text between quotes, without escapes.
fn unquoted(piece: &str) -> Vec<u8> {
    let quote = piece.chars().next().unwrap_or_default();
    let inner = piece.get(1..piece.len() - 1).unwrap_or_default();
    let (mut text, mut signs) = (String::new(), inner.chars());
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => match signs.next() {
                Some('0') => text.push('\0'),
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some('t') => text.push('\t'),
                Some('b') => text.push('\x08'),
                Some('Z') => text.push('\x1a'),
                // Of LIKE, which reads the backslash itself.
                Some(wild @ ('%' | '_')) => text.extend(['\\', wild]),
                Some(other) => text.push(other),
                None => {}
            },
            _ if sign == quote => text.extend(signs.next()),
            _ => text.push(sign),
        }
    }
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_become_parameters_where_a_server_takes_one() {
        let text = |text: &str| Value::Text(text.into());
        for (given, sql, values) in [
            ("SELECT *  FROM t\nWHERE a=5; ", "SELECT * FROM t WHERE a=?", vec![Value::Int(5)]),
            (r"select 'a\'b''c\n' -- x", "select ?", vec![text("a'b'c\n")]),
            (
                "SELECT a FROM t1 ORDER BY 2, a LIMIT 3",
                "SELECT a FROM t1 ORDER BY 2, a LIMIT ?",
                vec![Value::Int(3)],
            ),
            (
                "SELECT 1.5e-3, 2e+2, 12.50, 7",
                "SELECT ?, ?, ?, ?",
                vec![Value::Double(0.0015), Value::Double(200.0), text("12.50"), Value::Int(7)],
            ),
            (
                "SELECT CAST(a AS DECIMAL(10,2)), NOW(6), b + 1",
                "SELECT CAST(a AS DECIMAL(10,2)), NOW(6), b + ?",
                vec![Value::Int(1)],
            ),
            (
                "SELECT DATE '2026-01-01', x'ff', a->>'$.b'",
                "SELECT DATE '2026-01-01', x'ff', a->>'$.b'",
                vec![],
            ),
            ("SELECT 0x4142, 18446744073709551615", "SELECT 0x4142, ?", vec![text("18446744073709551615")]),
            (
                "SELECT 'a' \"b\"\n'c', _utf8 'd' 'e', 5",
                "SELECT ?, _utf8 'd' 'e', ?",
                vec![text("abc"), Value::Int(5)],
            ),
            (
                "SELECT /*+ MAX(1) */ a /* id 7 */ FROM t WHERE b > 'x'",
                "SELECT /*+ MAX(1) */ a FROM t WHERE b > ?",
                vec![text("x")],
            ),
        ] {
            let normal = normal(given);
            assert_eq!((normal.sql.as_str(), normal.values), (sql, values), "{given}");
        }
    }

    #[test]
    fn lists_of_any_length_have_one_digest() {
        let digest = |text: &str| normal(text).digest;
        assert_eq!(digest("SELECT a FROM t WHERE b IN (1,2, 3)"), digest("select a from t where b in (9)"));
        assert_eq!(digest("INSERT INTO t VALUES (1,'a'),(2,'b')"), digest("INSERT INTO t VALUES (1, 'c')"));
        assert_ne!(digest("SELECT a FROM t WHERE b = 1"), digest("SELECT a FROM t WHERE c = 1"));
        let typed = "SELECT 0x10, x'10', DATE '2026-01-01', TIMESTAMP'2026-01-01 10:00:00', N'a', _utf8'a'";
        let other = "SELECT 0x2, x'20', DATE'2026-01-02', TIMESTAMP '2026-01-01 11:00:00', N'b', _utf8 'b'";
        assert_eq!(digest(typed), digest(other));
        assert_ne!(digest("SELECT a->'$.b' FROM t"), digest("SELECT a->'$.c' FROM t"));
    }
}
