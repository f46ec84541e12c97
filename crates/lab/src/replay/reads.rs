//! Which statements change nothing.

/// Whether it only reads.
pub fn reads_only(sql: &[u8]) -> bool {
    let word = sql.trim_ascii_start().split(|byte| !byte.is_ascii_alphabetic()).next().unwrap_or_default();
    [&b"SELECT"[..], b"SHOW", b"USE", b"BEGIN", b"COMMIT", b"ROLLBACK"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known))
}
