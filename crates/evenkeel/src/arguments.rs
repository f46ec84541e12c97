//! The command line as other users of the machine see it: without passwords.

use crate::config::masked;
use evenkeel_os::change_arguments;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// Takes the passwords of URLs out of this process's command line. Whoever looked in the moment before has seen them: a
/// password belongs into the environment or an option file.
///
/// Call it after the arguments were read, and before there is another thread. Where the system does not say where they
/// are, nothing is changed.
pub fn hide_passwords() {
    // What this process was given is read before it is gone.
    LazyLock::force(&GIVEN);
    change_arguments(|arguments| arguments.split_mut(|byte| *byte == 0).for_each(hide));
}

/// Overwrites the passwords of URLs, which may stand behind a flag's name and `=`, and one behind the other with commas.
fn hide(argument: &mut [u8]) {
    let (first, rest) = argument.split_at_mut(first(argument));
    if let Some(place) = password(first) {
        first[place].fill(b'x');
    }
    if !rest.is_empty() {
        hide(rest);
    }
}

/// Bytes of the first URL, with the comma behind it.
fn first(argument: &[u8]) -> usize {
    let next = argument.windows(8).position(|part| part == b",mysql:/");
    next.map_or(argument.len(), |comma| comma + 1)
}

/// Where the password of a URL is. Of one that cannot be read it ends at the last `@`.
fn password(argument: &[u8]) -> Option<Range<usize>> {
    let sign = |text: &[u8]| argument.windows(text.len()).position(|part| part == text);
    // One slash is a slip of the finger.
    let (scheme, begin) = match (sign(b"://"), sign(b"mysql:/")) {
        (Some(scheme), _) => (scheme, scheme + 3),
        (None, scheme) => (scheme? + 5, scheme? + 7),
    };
    let rest = &argument[begin..];
    let end = rest.iter().position(|byte| b"/?#".contains(byte)).unwrap_or(rest.len());
    let is_server = [&b"mysql"[..], b"mariadb"].iter().any(|name| argument[..scheme].ends_with(name));
    let last = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'@');
    let user_end = last(&rest[..end]).or_else(|| last(rest).filter(|_| is_server))?;
    let colon = rest[..user_end].iter().position(|byte| *byte == b':')?;
    Some(begin + colon + 1..begin + user_end)
}

/// Passwords on this process's command line, each as it stands in its URL: `:password@`.
static GIVEN: LazyLock<Vec<String>> = LazyLock::new(|| {
    let arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    arguments.flat_map(|argument| given(&argument)).collect()
});

fn given(argument: &str) -> Vec<String> {
    let (one, rest) = argument.split_at(first(argument.as_bytes()));
    let found =
        password(one.as_bytes()).and_then(|place| one.get(place.start - 1..=place.end)).map(str::to_owned);
    let mut all: Vec<String> = found.into_iter().collect();
    if !rest.is_empty() {
        all.extend(given(rest));
    }
    all
}

/// A text without passwords of URLs: neither of such in the text nor of those on the command line, which may have blanks.
pub fn masked(text: Cow<'_, str>) -> Cow<'_, str> {
    let mut text = text;
    for given in GIVEN.iter().flat_map(|given| [given.clone(), given.escape_debug().to_string()]) {
        if text.contains(&given) {
            text = text.replace(&given, "@").into();
        }
    }
    if text.contains("://") { masked::shown(&text).into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_url_only_the_password_is_overwritten() {
        for (given, shown) in [
            ("mysql://watch:s3cret@db1:3306/shop", "mysql://watch:xxxxxx@db1:3306/shop"),
            ("--backend=mysql://watch:a@b@db1", "--backend=mysql://watch:xxx@db1"),
            ("mysql:/watch:ab@db1", "mysql:/watch:xx@db1"),
            ("mysql://watch:a/b c@db1", "mysql://watch:xxxxx@db1"),
            ("--servers=mysql://a:ab@h/d,mysql://b:c,d@h/d", "--servers=mysql://a:xx@h/d,mysql://b:xxx@h/d"),
            ("mysql://watch@db1:3306", "mysql://watch@db1:3306"),
            ("nats://db1:4222/a:b@c", "nats://db1:4222/a:b@c"),
            ("user:s3cret@db1", "user:s3cret@db1"),
            ("://:@", "://:@"),
            ("", ""),
        ] {
            let mut argument = given.as_bytes().to_vec();
            hide(&mut argument);
            assert_eq!(String::from_utf8_lossy(&argument), shown);
        }
    }
}
