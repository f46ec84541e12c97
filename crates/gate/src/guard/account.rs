//! How an account authenticates.
//!
//! On a unix-socket backend the server sees the guard's own system user. An account that authenticates by it
//! would be open to every client of the guard, and nothing in the login shows that: the server asks its kernel
//! and says OK. So the server is asked, by a question that every account may ask about itself.

/// What the server is asked.
pub const QUESTION: &[u8] = b"SHOW CREATE USER CURRENT_USER()";

/// Whether `SHOW CREATE USER` names a plugin that asks the system who is at the other end of a socket.
pub fn names_socket_plugin(answer: &[u8]) -> bool {
    let lower = answer.to_ascii_lowercase();
    let words: [&[u8]; 6] = [
        b"via unix_socket",
        b" or unix_socket",
        b"with 'auth_socket'",
        b"with `auth_socket`",
        b"with auth_socket",
        b"with 'unix_socket'",
    ];
    words.iter().any(|word| lower.windows(word.len()).any(|found| found == *word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_of_a_socket_are_known_by_their_plugin_and_not_by_their_name() {
        for answer in [
            "CREATE USER `root`@`localhost` IDENTIFIED VIA mysql_native_password USING 'invalid' OR unix_socket",
            "CREATE USER `a`@`%` IDENTIFIED VIA unix_socket",
            "CREATE USER `a`@`%` IDENTIFIED WITH 'auth_socket' REQUIRE NONE",
        ] {
            assert!(names_socket_plugin(answer.as_bytes()), "{answer}");
        }
        let password = "CREATE USER `unix_socket`@`%` IDENTIFIED BY PASSWORD '*94BDCEBE19083CE2A1F959FD02F964C7AF4CFC29'";
        assert!(!names_socket_plugin(password.as_bytes()));
    }
}
