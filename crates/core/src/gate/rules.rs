//! Which lane a transaction begins in where somebody has said so: the operator by rules, the client by a comment.

use super::Lane;
use std::str::FromStr;

/// They are read from the first to the last at each transaction.
pub const RULES_MAX: usize = 64;
const EXPECTED: &str = "user=NAME, database=NAME or digest=16 HEX DIGITS, and behind it long or short";

#[derive(Clone, Debug, PartialEq, Eq)]
enum Whose {
    User(String),
    Database(String),
    Digest(u64),
}

/// The operator's rules, as `user=reports long, digest=9f3c0a1b2c3d4e5f short`. The first that fits holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(Vec<(Whose, Lane)>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    #[error("{0} rules, and {RULES_MAX} is the most")]
    TooMany(usize),
    #[error("rule {number} is \"{rule}\", and must be {EXPECTED}")]
    Rule { number: usize, rule: String },
}

impl FromStr for Rules {
    type Err = RulesError;

    fn from_str(text: &str) -> Result<Self, RulesError> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let count = text.split(',').count();
        if count > RULES_MAX {
            return Err(RulesError::TooMany(count));
        }
        let wrong = |index, rule: &str| RulesError::Rule { number: index + 1, rule: rule.trim().to_owned() };
        let rules = text.split(',').enumerate();
        rules
            .map(|(index, rule)| read(rule).ok_or_else(|| wrong(index, rule)))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

fn read(rule: &str) -> Option<(Whose, Lane)> {
    let (whose, lane) = rule.trim().rsplit_once(char::is_whitespace)?;
    let (key, name) = whose.split_once('=')?;
    let (key, name) = (key.trim(), name.trim());
    let is_digest = name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let whose = match key {
        "user" if !name.is_empty() => Whose::User(name.to_owned()),
        "database" if !name.is_empty() => Whose::Database(name.to_owned()),
        "digest" if is_digest => Whose::Digest(u64::from_str_radix(name, 16).ok()?),
        _ => return None,
    };
    let lane = match lane {
        "long" => Lane::Long,
        "short" => Lane::Short,
        _ => return None,
    };
    Some((whose, lane))
}

impl Rules {
    /// The lane for a transaction of this user, with this default database, whose first statement has this digest.
    pub fn lane(&self, user: &[u8], database: &[u8], digest: u64) -> Option<Lane> {
        let fits = |whose: &Whose| match whose {
            Whose::User(name) => name.as_bytes() == user,
            Whose::Database(name) => name.as_bytes() == database,
            Whose::Digest(known) => *known == digest,
        };
        self.0.iter().find(|(whose, _)| fits(whose)).map(|(_, lane)| *lane)
    }

    /// Whether a database matters.
    pub fn name_databases(&self) -> bool {
        self.0.iter().any(|(whose, _)| matches!(whose, Whose::Database(_)))
    }
}

/// The lane of a comment at the beginning or the end of a statement: `/* evenkeel: lane=long */`.
pub fn lane_of_comment(text: &[u8]) -> Option<Lane> {
    const ROOM: usize = 64;
    let text = text.trim_ascii();
    let comment = if text.starts_with(b"/*") {
        &text[..text.len().min(ROOM)]
    } else if text.ends_with(b"*/") {
        &text[text.len().saturating_sub(ROOM)..]
    } else {
        return None;
    };
    let says = |words: &[u8]| comment.windows(words.len()).any(|window| window.eq_ignore_ascii_case(words));
    match () {
        () if says(b"evenkeel: lane=long") => Some(Lane::Long),
        () if says(b"evenkeel: lane=short") => Some(Lane::Short),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Rules {
        text.parse().expect(text)
    }

    #[test]
    fn the_first_rule_that_fits_by_user_database_or_digest_holds() {
        let rules = rules(
            "digest=9F3c0a1b2c3d4e5f short, user = reports long,database=dwh long , user=reports short",
        );
        for (user, database, digest, lane) in [
            ("reports", "shop", 1, Some(Lane::Long)),
            ("app", "dwh", 1, Some(Lane::Long)),
            ("reports", "dwh", 0x9f3c_0a1b_2c3d_4e5f, Some(Lane::Short)),
            ("app", "shop", 1, None),
            ("Reports", "DWH", 0, None),
            ("dwh", "reports", 0, None),
        ] {
            assert_eq!(rules.lane(user.as_bytes(), database.as_bytes(), digest), lane, "{user} {database}");
        }
        assert!(rules.name_databases() && !self::rules("user=database long").name_databases());
    }

    #[test]
    fn no_text_is_no_rule() {
        for text in ["", "  "] {
            assert_eq!(rules(text), Rules::default());
        }
        assert_eq!(Rules::default().lane(b"", b"", 0), None);
    }

    #[test]
    fn an_error_says_which_rule_is_wrong_and_what_is_expected() {
        for wrong in [
            "user=a",
            "user=a medium",
            "user= long",
            "host=a long",
            "a long",
            "digest=12 long",
            "digest=zzzzzzzzzzzzzzzz long",
            "digest=+f3c0a1b2c3d4e5f long",
            "long",
            "=",
            "",
        ] {
            let error = format!("user=a long, {wrong}").parse::<Rules>().expect_err(wrong).to_string();
            assert!(
                error.starts_with(&format!("rule 2 is \"{wrong}\"")) && error.contains(EXPECTED),
                "{error}"
            );
        }
    }

    #[test]
    fn their_number_is_bounded() {
        let of = |count: usize| vec!["user=a long"; count].join(",").parse::<Rules>();
        assert!(of(RULES_MAX).is_ok());
        assert_eq!(of(RULES_MAX + 1), Err(RulesError::TooMany(RULES_MAX + 1)));
    }

    #[test]
    fn a_comment_at_either_end_says_the_lane() {
        for (text, lane) in [
            ("/* evenkeel: lane=long */ SELECT 1", Some(Lane::Long)),
            ("SELECT 1 /* Evenkeel: lane=SHORT */ ", Some(Lane::Short)),
            ("SELECT '/* evenkeel: lane=long */' AS a", None),
            ("/* other */ SELECT 1", None),
            ("/*", None),
            ("", None),
        ] {
            assert_eq!(lane_of_comment(text.as_bytes()), lane, "{text}");
        }
    }
}
