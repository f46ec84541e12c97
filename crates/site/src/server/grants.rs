//! SHOW GRANTS lists what an account may do, and is read here.

#[derive(Default, Debug)]
pub(super) struct Grants {
    grants: Vec<Grant>,
    /// A role was granted; what it brings may not be in the list.
    pub has_role: bool,
}

#[derive(Debug)]
struct Grant {
    privileges: Vec<String>,
    /// Database pattern as the server prints it: `*`, or a name with `%`, `_` and `\_`.
    database: String,
}

impl Grants {
    pub(super) fn all() -> Self {
        Self::parse(["GRANT ALL PRIVILEGES ON *.* TO everybody"].into_iter())
    }

    pub(super) fn parse<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut grants = Self::default();
        for line in lines {
            match parse_line(line) {
                Some(grant) => grants.grants.push(grant),
                None => grants.has_role |= line.starts_with("GRANT ") && !line.contains(" ON "),
            }
        }
        grants
    }

    /// Whether a privilege holds on a database, or on a part of it; `None` asks for every database.
    pub(super) fn allow(&self, privilege: &str, database: Option<&str>) -> bool {
        self.grants.iter().any(|grant| {
            let named = grant.privileges.iter().any(|held| held == privilege || held == "ALL PRIVILEGES");
            named && (grant.database == "*" || database.is_some_and(|name| matches(&grant.database, name)))
        })
    }
}

/// `GRANT SELECT, INSERT (c) ON [TABLE] db.table TO ...`
fn parse_line(line: &str) -> Option<Grant> {
    let (privileges, rest) = line.strip_prefix("GRANT ")?.split_once(" ON ")?;
    let object = rest.strip_prefix("TABLE ").unwrap_or(rest);
    let privileges = split_outside_parentheses(privileges)
        .map(|privilege| privilege.split('(').next().unwrap_or_default().trim().to_ascii_uppercase())
        .collect();
    Some(Grant { privileges, database: database_of(object) })
}

fn split_outside_parentheses(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    text.split(move |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
}

/// The part before the dot, unquoted.
fn database_of(object: &str) -> String {
    let Some(quote) = object.chars().next().filter(|c| matches!(c, '`' | '"')) else {
        return object.split('.').next().unwrap_or_default().into();
    };
    let mut name = String::new();
    let mut rest = object[1..].chars().peekable();
    while let Some(c) = rest.next() {
        if c == quote && rest.next_if_eq(&quote).is_none() {
            break;
        }
        name.push(c);
    }
    name
}

/// `%` stands for any text, `_` for any character, a backslash takes the next one as it is. The work is that of pattern times name
/// at most, whatever a server says that it granted.
fn matches(pattern: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    // Which beginnings of the name fit what was read of the pattern.
    let mut fits = vec![false; name.len() + 1];
    fits[0] = true;
    let mut signs = pattern.chars();
    while let Some(sign) = signs.next() {
        let literal = match sign {
            '%' => {
                let first = fits.iter().position(|fits| *fits).unwrap_or(fits.len());
                fits[first..].fill(true);
                continue;
            }
            '_' => None,
            '\\' => Some(signs.next().unwrap_or('\\')),
            plain => Some(plain),
        };
        for at in (0..name.len()).rev() {
            fits[at + 1] = fits[at] && literal.is_none_or(|sign| sign == name[at]);
        }
        fits[0] = false;
    }
    fits[name.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(lines: &[&str]) -> Grants {
        Grants::parse(lines.iter().copied())
    }

    #[test]
    fn privileges_hold_where_they_were_granted() {
        let grants = grants(&[
            "GRANT USAGE ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*X'",
            "GRANT SELECT, INSERT (`a`, `b`), UPDATE ON `shop\\_1`.* TO `u`@`%`",
            "GRANT SELECT ON `test%`.* TO `u`@`%`",
            "GRANT DELETE ON `o``dd`.`t` TO `u`@`%`",
        ]);
        for (privilege, database, allowed) in [
            ("SELECT", "shop_1", true),
            ("INSERT", "shop_1", true),
            ("UPDATE", "shop_1", true),
            ("DELETE", "shop_1", false),
            ("SELECT", "shopX1", false),
            ("SELECT", "test_x", true),
            ("DELETE", "o`dd", true),
        ] {
            assert_eq!(grants.allow(privilege, Some(database)), allowed, "{privilege} on {database}");
        }
        assert!(!grants.allow("SELECT", None));
        assert!(!grants.has_role);
        let grants = self::grants(&["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"]);
        assert!(grants.allow("SELECT", Some("x")) && grants.allow("SUPER", None));
        assert!(self::grants(&["GRANT `reader` TO `u`@`%`"]).has_role);
    }

    #[test]
    fn a_pattern_that_a_server_made_up_costs_no_more_than_its_length() {
        assert!(matches(&"%".repeat(400_000), "d"));
        assert!(!matches(&("%a".repeat(24) + "%b"), &"a".repeat(40)));
        assert!(!matches(&("%_".repeat(100_000) + "b"), &"a".repeat(64)));
    }

    #[test]
    fn a_pattern_takes_all_of_a_name_or_does_not_match() {
        for (pattern, name, fits) in [
            ("", "", true),
            ("", "a", false),
            ("%", "", true),
            ("a%", "a", true),
            ("a_%", "a", false),
            ("%ab%b", "aabab", true),
            ("%ab", "abab", true),
            ("a\\%", "a%", true),
            ("a\\%", "ab", false),
            ("a\\", "a\\", true),
            ("s_hop", "sühop", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
