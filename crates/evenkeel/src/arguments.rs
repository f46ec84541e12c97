//! The command line as other users of the machine see it: without passwords.

use evenkeel_os::change_arguments;

/// Takes the passwords of URLs out of this process's command line. Whoever looked in the moment before has seen them: a
/// password belongs into the environment or an option file.
///
/// Call it after the arguments were read, and before there is another thread. Where the system does not say where they
/// are, nothing is changed.
pub fn hide_passwords() {
    change_arguments(|arguments| arguments.split_mut(|byte| *byte == 0).for_each(hide));
}

/// Overwrites the password of a URL, which may stand behind a flag's name and `=`.
fn hide(argument: &mut [u8]) {
    let Some(scheme) = argument.windows(3).position(|three| three == b"://") else { return };
    let rest = &mut argument[scheme + 3..];
    let end = rest.iter().position(|byte| b"/?#".contains(byte)).unwrap_or(rest.len());
    let Some(user_end) = rest[..end].iter().rposition(|byte| *byte == b'@') else { return };
    if let Some(colon) = rest[..user_end].iter().position(|byte| *byte == b':') {
        rest[colon + 1..user_end].fill(b'x');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_url_only_the_password_is_overwritten() {
        for (given, shown) in [
            ("mysql://watch:s3cret@db1:3306/shop", "mysql://watch:xxxxxx@db1:3306/shop"),
            ("--monitor=mysql://watch:a@b@db1", "--monitor=mysql://watch:xxx@db1"),
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
