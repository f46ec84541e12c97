//! The command line as other users of the machine see it: without passwords.

use std::fs;

/// Takes the passwords of URLs out of this process's command line. Whoever looked in the moment before has seen them: a
/// password belongs into the environment or an option file.
///
/// Call it after the arguments were read, and before there is another thread. Where the system does not say where they
/// are, nothing is changed.
pub fn hide_passwords() {
    let Some((start, length)) = place() else { return };
    // SAFETY: the kernel says that the arguments of this process stand there. It has one thread, which holds no reference
    // into them: what was read is a copy. They stay as long as they were, with all their zeroes.
    #[allow(unsafe_code)]
    let arguments = unsafe { std::slice::from_raw_parts_mut(start as *mut u8, length) };
    arguments.split_mut(|byte| *byte == 0).for_each(hide);
}

/// Where the arguments begin, and how many bytes they are: fields 48 and 49 of proc(5), stat.
fn place() -> Option<(usize, usize)> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, is field 2 and may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(48 - 3);
    let start: usize = fields.next()?.parse().ok()?;
    let end: usize = fields.next()?.parse().ok()?;
    (start > 0 && end > start).then_some((start, end - start))
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
