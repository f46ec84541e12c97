//! Passwords of servers' URLs are taken out of what is shown or kept of a file.

use anyhow::{Error, anyhow};
use evenkeel_site::server::without_password;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// What the URL of a server begins with.
const SCHEMES: [&str; 2] = ["mysql://", "mariadb://"];

/// A text of TOML as it is kept: without the passwords of URLs, wherever they stand, also in comments.
pub fn kept(text: &str) -> String {
    let mut found = Vec::new();
    if let Ok(table) = DeTable::parse(text) {
        table.get_ref().values().for_each(|value| search(value.get_ref(), value.span(), &mut found));
    }
    // A text of JSON is one of TOML too. From the end, so that the places before stay where they are.
    found.sort_by_key(|(place, _): &(Range<usize>, String)| std::cmp::Reverse(place.start));
    let mut text = text.to_owned();
    for (place, url) in found {
        text.replace_range(place, &serde_json::Value::String(url).to_string());
    }
    shown(&text)
}

/// Every text that is a URL with a password, where it stands, and as it is without.
fn search(value: &DeValue<'_>, place: Range<usize>, found: &mut Vec<(Range<usize>, String)>) {
    match value {
        DeValue::String(text) if SCHEMES.iter().any(|scheme| text.contains(scheme)) => {
            let masked = shown_url(text);
            if masked != text.as_ref() {
                found.push((place, masked));
            }
        }
        DeValue::Array(values) => {
            values.iter().for_each(|value| search(value.get_ref(), value.span(), found));
        }
        DeValue::Table(table) => {
            table.values().for_each(|value| search(value.get_ref(), value.span(), found));
        }
        _ => {}
    }
}

/// A value that is a URL as a whole may have blanks and quotes in its password; what has one in it may not.
fn shown_url(text: &str) -> String {
    match SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
        true => without_password(text),
        false => shown(text),
    }
}

/// A text without the passwords of the URLs in it: a URL ends at a blank or a quote.
pub fn shown(text: &str) -> String {
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(colon) = rest.find("://") {
        let begin = rest[..colon]
            .rfind(|c: char| !c.is_ascii_alphanumeric())
            .map_or(0, |at| at + rest[at..].chars().next().map_or(0, char::len_utf8));
        let is_end = |sign: char| sign.is_whitespace() || "\"'`".contains(sign);
        let end = rest[colon..].find(is_end).map_or(rest.len(), |length| colon + length);
        let url = &rest[begin..end];
        shown.push_str(&rest[..begin]);
        match url.contains('@') || SCHEMES.iter().any(|scheme| url.starts_with(scheme)) {
            true => shown.push_str(&without_password(url)),
            false => shown.push_str(url),
        }
        rest = &rest[end..];
    }
    shown + rest
}

/// Where a text is no TOML, and why. The parser shows the line; one that may hold a login is left out.
pub fn no_toml(error: &toml::de::Error) -> Error {
    let told = error.to_string();
    if !told.contains('@') && !told.contains("://") {
        return anyhow!("{told}");
    }
    let place = told.lines().next().unwrap_or("TOML parse error");
    anyhow!("{place} (it is not shown, since it may hold a password): {}", shown(error.message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_taken_out_of_values_and_comments_and_all_else_stays() {
        let text = "# old: mysql://a:PW1@h/d\n[profile]\nurl = [\"mysql://b:P W'2@h/d?tls=required\", 'sandbox:x']\n\
            rate = '5' # five\n[[factor.level]]\nurl = \"mysql://c:PW\\u0033@h/d\"\nurls = { url = 'mariadb://d@h' }\n";
        let kept = kept(text);
        assert!(!kept.contains("PW") && !kept.contains("P W"), "{kept}");
        assert!(kept.contains("# old: mysql://a@h/d\n") && kept.contains("rate = '5' # five\n"), "{kept}");
        let table: toml::Table = kept.parse().unwrap();
        assert_eq!(table["profile"]["url"][0].as_str(), Some("mysql://b@h/d?tls=required"));
        assert_eq!(table["factor"]["level"][0]["url"].as_str(), Some("mysql://c@h/d"));
        assert_eq!(table["factor"]["level"][0]["urls"]["url"].as_str(), Some("mariadb://d@h"));
        let plain = "name = 'a'\nurl = 'mysql://u@h/d?defaults-file=/etc/my.cnf'\n";
        assert_eq!(super::kept(plain), plain);
    }

    #[test]
    fn a_torn_line_with_a_login_is_not_shown() {
        let told = |text: &str| no_toml(&text.parse::<toml::Table>().unwrap_err()).to_string();
        for text in ["url = \"mysql://u:PW1@h", "url = 'mysql:/u:PW1@h' x", "url = mysql://u:PW1@h/d"] {
            let told = told(text);
            assert!(told.contains("TOML parse error at line 1") && !told.contains("PW1"), "{told}");
        }
        assert!(told("rate = ").contains("rate ="), "any other line is shown");
    }
}
