//! Which tables and columns a statement asks for, as far as its text shows it.

use super::token::{Kind, is_among, tokens};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The table, perhaps with its database before a dot.
    pub table: String,
    /// What the statement calls it; empty where that is its own name.
    pub alias: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The table or alias before the dot, perhaps with a database.
    pub of: Option<String>,
    /// Its own name, without a table.
    pub name: String,
}

/// How a condition limits a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Equal,
    /// To one of a list.
    OneOf,
    /// To all values above or below one.
    Range,
}

/// A condition of WHERE or ON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// What is limited.
    pub column: Column,
    /// To which values it is limited.
    pub relation: Relation,
    /// Whether the values are those of another column.
    pub joins: bool,
}

/// What a placeholder is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Compared with a column, or the new value of one.
    Compared(Column),
    Inserted(Column),
    /// The number of rows after LIMIT.
    Limit,
    /// The number of rows that are left out.
    Offset,
    /// Added to something, or the length of an INTERVAL.
    Step,
    /// Anything else, which has no known values.
    Unknown,
}

/// Tables, conditions and placeholders of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Tables after FROM, JOIN, INTO and UPDATE.
    pub sources: Vec<Source>,
    /// Conditions of WHERE and ON.
    pub conditions: Vec<Condition>,
    /// The column that all rows are sorted by; `None` where there are several, or groups.
    pub order: Option<Column>,
    pub has_limit: bool,
    /// What each placeholder is for.
    pub roles: Vec<Role>,
    /// Whether a condition need not hold, since the text has OR or NOT.
    pub has_or: bool,
}

impl Shape {
    /// The tables that a column may be of.
    pub fn tables_of(&self, column: &Column) -> Vec<&str> {
        let is_called = |source: &&Source, name: &str| {
            let is_own = source.table.eq_ignore_ascii_case(name)
                || last_part(&source.table).eq_ignore_ascii_case(name);
            source.alias.eq_ignore_ascii_case(name) || source.alias.is_empty() && is_own
        };
        let of = |source: &&Source| column.of.as_ref().is_none_or(|name| is_called(source, name));
        self.sources.iter().filter(of).map(|source| source.table.as_str()).collect()
    }
}

/// A name without its database or table.
pub fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// A word, a name without its quotes, a text, or a sign.
struct Lexeme {
    text: String,
    /// In capitals; empty for a quoted name, which is no keyword.
    word: String,
    is_name: bool,
}

impl Lexeme {
    fn column(&self) -> Option<Column> {
        let (of, name) = match self.text.rsplit_once('.') {
            Some((of, name)) => (Some(of.to_owned()), name),
            None => (None, self.text.as_str()),
        };
        (self.is_name && !is_among(&self.word, KEYWORDS)).then(|| Column { of, name: name.to_owned() })
    }
}

/// Words that are no name of a table, an alias or a column.
const KEYWORDS: &str = "AS WHERE SET ON USING GROUP ORDER HAVING LIMIT VALUES SELECT LEFT RIGHT INNER CROSS OUTER NATURAL JOIN STRAIGHT_JOIN FORCE USE \
     IGNORE FOR UNION LOCK PARTITION WINDOW OFFSET AND OR NOT NULL TRUE FALSE DEFAULT BETWEEN IN LIKE INTERVAL IS";
const COMPARES: [&str; 8] = ["=", "<", ">", "<=", ">=", "<>", "!=", "<=>"];
const COUNTS: [&str; 5] = ["+", "-", "*", "/", "INTERVAL"];

fn lexemes(text: &str) -> Vec<Lexeme> {
    let mut all: Vec<Lexeme> = Vec::new();
    let mut is_close = false;
    for (kind, piece) in tokens(text) {
        let is_number = piece.starts_with(|sign: char| sign.is_ascii_digit());
        let is_name = kind == Kind::QuotedName || kind == Kind::Word && !is_number;
        let text = piece.trim_matches('`').replace("``", "`");
        let last = all.last_mut().filter(|_| is_close);
        is_close = kind != Kind::Space;
        match (kind, last) {
            (Kind::Space, _) => {}
            // `shop`.`orders`, shop.`orders`, and the two signs of <=.
            (_, Some(last)) if last.is_name && (piece == "." || is_name && last.text.ends_with('.')) => {
                last.text.push_str(&text);
                last.word.clear();
            }
            (_, Some(last)) if COMPARES.contains(&format!("{}{piece}", last.text).as_str()) => {
                last.text.push_str(piece);
                last.word.push_str(piece);
            }
            (kind, _) => {
                let word = match kind {
                    Kind::QuotedName => String::new(),
                    Kind::Placeholder(_) => "?".to_owned(),
                    _ => piece.to_ascii_uppercase(),
                };
                all.push(Lexeme { text, word, is_name });
            }
        }
    }
    all
}

pub fn shape(text: &str) -> Shape {
    let all = Lexemes(lexemes(text));
    let inserted = inserted(&all.0);
    let mut shape = Shape { sources: sources(&all.0), order: all.order(), ..Shape::default() };
    let (mut clause, mut list, mut depth, mut place) = (String::new(), None, 0_u32, 0);
    for at in 0..all.0.len() {
        let word = all.word(at);
        match word {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            "VALUES" => depth = 0,
            _ => {}
        }
        // Within a row of VALUES, and in no function there.
        let is_value = clause == "VALUES" && depth == 1;
        if matches!(clause.as_str(), "WHERE" | "ON") {
            shape.has_or |= matches!(word, "OR" | "NOT" | "XOR") && all.word(at + 1) != "NULL";
            shape.conditions.extend(all.conditions(at));
        }
        shape.has_limit |= word == "LIMIT";
        match word {
            "WHERE" | "ON" | "SET" | "HAVING" | "SELECT" | "GROUP" | "ORDER" | "FROM" | "LIMIT"
            | "VALUES" | "UNION" => word.clone_into(&mut clause),
            "(" if is_value => place = 0,
            "(" if all.back(at, 1) == "IN" => list = all.limited(at - 1),
            ")" => list = None,
            "," if is_value => place += 1,
            "?" => {
                let own = if is_value { inserted.get(place) } else { None };
                shape.roles.push(all.role(at, &clause, list.as_ref(), own));
            }
            _ => {}
        }
    }
    shape
}

struct Lexemes(Vec<Lexeme>);

impl Lexemes {
    fn word(&self, at: usize) -> &str {
        self.0.get(at).map_or("", |lexeme| lexeme.word.as_str())
    }

    fn back(&self, at: usize, by: usize) -> &str {
        at.checked_sub(by).map_or("", |at| self.word(at))
    }

    fn column(&self, at: usize) -> Option<Column> {
        self.0.get(at).and_then(Lexeme::column).filter(|_| self.word(at + 1) != "(")
    }

    fn column_back(&self, at: usize, by: usize) -> Option<Column> {
        at.checked_sub(by).and_then(|at| self.column(at))
    }

    /// The column before BETWEEN, IN or LIKE at this place, perhaps with NOT between them.
    fn limited(&self, at: usize) -> Option<Column> {
        self.column_back(at, if self.back(at, 1) == "NOT" { 2 } else { 1 })
    }

    fn order(&self) -> Option<Column> {
        let has = |words: &str| self.0.iter().any(|lexeme| is_among(&lexeme.word, words));
        let at = self.0.iter().position(|lexeme| lexeme.word == "ORDER").filter(|_| !has("GROUP UNION"))?;
        let end = if matches!(self.word(at + 3), "ASC" | "DESC") { at + 4 } else { at + 3 };
        self.column(at + 2).filter(|_| matches!(self.word(end), "" | "LIMIT"))
    }

    /// What the word at this place of WHERE or ON limits.
    fn conditions(&self, at: usize) -> Vec<Condition> {
        let one = |column: Option<Column>, relation, joins| {
            column.map(|column| Condition { column, relation, joins }).into_iter().collect::<Vec<_>>()
        };
        match self.word(at) {
            "IN" => one(self.limited(at), Relation::OneOf, false),
            "LIKE" if self.is_prefix(at + 1) => one(self.limited(at), Relation::Range, false),
            "IS" if self.word(at + 1) == "NULL" => one(self.limited(at), Relation::Equal, false),
            "BETWEEN" => one(self.limited(at), Relation::Range, false),
            sign @ ("=" | "<=>" | "<" | ">" | "<=" | ">=") => {
                let is_equal = matches!(sign, "=" | "<=>");
                let relation = if is_equal { Relation::Equal } else { Relation::Range };
                let (left, right) = (self.column_back(at, 1), self.column(at + 1));
                let joins = left.is_some() && right.is_some();
                let left = left.filter(|_| !COUNTS.contains(&self.back(at, 2)));
                let right = right.filter(|_| !COUNTS.contains(&self.word(at + 2)));
                [one(left, relation, joins), one(right, relation, joins)].concat()
            }
            _ => Vec::new(),
        }
    }

    /// Whether a pattern begins with what it looks for.
    fn is_prefix(&self, at: usize) -> bool {
        let pattern = self.0.get(at).map_or("", |lexeme| lexeme.text.as_str());
        pattern.len() > 2
            && pattern.starts_with('\'')
            && !pattern.starts_with("'%")
            && !pattern.starts_with("'_")
    }

    /// What the placeholder at this place is for; `list` is the column before the IN around it, `own` that of its place in a row
    /// of VALUES.
    fn role(&self, at: usize, clause: &str, list: Option<&Column>, own: Option<&Column>) -> Role {
        let compared = |column: Option<Column>| column.map_or(Role::Unknown, Role::Compared);
        match (self.back(at, 1), self.word(at + 1)) {
            ("OFFSET", _) | ("LIMIT", ",") => Role::Offset,
            ("LIMIT", _) => Role::Limit,
            (",", _) if clause == "LIMIT" => Role::Limit,
            ("(" | ",", "," | ")") if own.is_some() => own.cloned().map_or(Role::Unknown, Role::Inserted),
            ("(" | ",", _) if list.is_some() => compared(list.cloned()),
            ("LIKE" | "BETWEEN", _) => compared(self.limited(at - 1)),
            ("AND", _) if self.back(at, 3) == "BETWEEN" => compared(self.limited(at - 3)),
            (sign, next) if COMPARES.contains(&sign) && !COUNTS.contains(&next) => {
                compared(self.column_back(at, 2))
            }
            (_, sign) if COMPARES.contains(&sign) => compared(self.column(at + 2)),
            (sign, _) if COUNTS.contains(&sign) => Role::Step,
            _ => Role::Unknown,
        }
    }
}

/// Tables with their aliases.
fn sources(all: &[Lexeme]) -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    let (mut expected, mut listed) = (false, false);
    for (at, lexeme) in all.iter().enumerate() {
        let leads = match lexeme.word.as_str() {
            "FROM" | "JOIN" | "STRAIGHT_JOIN" | "INTO" => true,
            // Elsewhere it is FOR UPDATE, or the UPDATE of ON DUPLICATE KEY.
            "UPDATE" => at == 0,
            "IGNORE" | "LOW_PRIORITY" => expected,
            "," => listed,
            _ => false,
        };
        if leads {
            (expected, listed) = (true, false);
        } else if expected && lexeme.is_name {
            sources.push(Source { table: lexeme.text.clone(), alias: String::new() });
            (expected, listed) = (false, true);
        } else if listed && lexeme.column().is_some() {
            if let Some(last) = sources.last_mut() {
                last.alias.clone_from(&lexeme.text);
            }
        } else {
            (expected, listed) = (false, listed && lexeme.word == "AS");
        }
    }
    sources
}

/// The columns that an INSERT names, in their order.
fn inserted(all: &[Lexeme]) -> Vec<Column> {
    let words = all.iter().map(|lexeme| lexeme.word.as_str()).collect::<Vec<_>>();
    if !matches!(words.first(), Some(&"INSERT" | &"REPLACE")) {
        return Vec::new();
    }
    let Some(open) = words.iter().position(|word| *word == "(") else { return Vec::new() };
    let Some(table) = all[..open].last().filter(|lexeme| lexeme.is_name && lexeme.word != "VALUES") else {
        return Vec::new();
    };
    let names = all[open + 1..].iter().take_while(|lexeme| lexeme.word != ")");
    let of = Some(table.text.clone());
    names
        .filter(|lexeme| lexeme.is_name)
        .map(|lexeme| Column { of: of.clone(), name: lexeme.text.clone() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `table.column` of what each placeholder is compared with, or the role's own word.
    fn roles(text: &str) -> Vec<String> {
        let shape = shape(text);
        let of = |column: &Column| format!("{}.{}", shape.tables_of(column).join("|"), column.name);
        let role = |role: &Role| match role {
            Role::Compared(column) => of(column),
            Role::Inserted(column) => format!("new {}", of(column)),
            other => format!("{other:?}"),
        };
        shape.roles.iter().map(role).collect()
    }

    #[test]
    fn placeholders_are_known_by_what_they_are_compared_with() {
        for (text, expected) in [
            (
                "SELECT a FROM t WHERE b = ? AND c IN (?, ?) LIMIT ?, ?",
                &["t.b", "t.c", "t.c", "Offset", "Limit"][..],
            ),
            (
                "SELECT o.a FROM `shop`.`orders` AS o, item i WHERE o.`id` = :x AND :y < i.d",
                &["shop.orders.id", "item.d"],
            ),
            (
                "SELECT a FROM t JOIN u USING (a) WHERE b NOT BETWEEN ? AND ? OR b LIKE ? LIMIT ? OFFSET ?",
                &["t|u.b", "t|u.b", "t|u.b", "Limit", "Offset"],
            ),
            ("UPDATE t SET a = a + ?, b = ? WHERE c >= ?", &["Step", "t.b", "t.c"]),
            (
                "INSERT INTO t (a, `b`) VALUES (?, ?), (?, NOW()), (LOWER(?), ?)",
                &["new t.a", "new t.b", "new t.a", "Unknown", "new t.b"],
            ),
            (
                "SELECT ?, f(?) FROM t WHERE DATE(a) = ? AND a > ? - INTERVAL ? DAY",
                &["Unknown", "Unknown", "Unknown", "Unknown", "Step"],
            ),
        ] {
            assert_eq!(roles(text), expected, "{text}");
        }
    }

    #[test]
    fn conditions_are_those_that_an_index_may_serve() {
        let found = |text: &str| -> Vec<(String, Relation, bool)> {
            shape(text).conditions.into_iter().map(|one| (one.column.name, one.relation, one.joins)).collect()
        };
        let text = "SELECT a = 1 FROM t JOIN u ON t.x = u.y WHERE b = 'z' AND c > 5 AND DATE(d) = ? AND e * 2 < 3 \
                    AND f IS NULL AND g LIKE '%x' AND i LIKE 'x%' AND j IN (1, 2) GROUP BY h HAVING h > 4";
        let (equal, range) = (Relation::Equal, Relation::Range);
        let expected = [
            ("x", equal, true),
            ("y", equal, true),
            ("b", equal, false),
            ("c", range, false),
            ("f", equal, false),
            ("i", range, false),
            ("j", Relation::OneOf, false),
        ];
        assert_eq!(found(text), expected.map(|(name, relation, joins)| (name.to_owned(), relation, joins)));
        assert!(shape("SELECT a FROM t WHERE a = 1 OR b = 2").has_or);
    }
}
