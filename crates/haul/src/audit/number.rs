//! A number in the one form that all ways to write it have in common.

/// Appends a number as sign, digits without zeroes at either end, and a power of ten: `-1.50` is `-15e-1`. What is no number
/// appends nothing and is `false`.
pub(super) fn put(text: &[u8], out: &mut Vec<u8>) -> bool {
    let text = text.trim_ascii();
    let (negative, text) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let Some((mantissa, power)) = split_power(text) else { return false };
    let point = memchr::memchr(b'.', mantissa);
    let (whole, behind) = point.map_or((mantissa, &[][..]), |at| (&mantissa[..at], &mantissa[at + 1..]));
    if whole.is_empty() && behind.is_empty() || !whole.iter().chain(behind).all(u8::is_ascii_digit) {
        return false;
    }
    let before = out.len();
    if negative {
        out.push(b'-');
    }
    let digits = out.len();
    out.extend(whole.iter().chain(behind).skip_while(|digit| **digit == b'0'));
    let with_zeroes = out.len();
    while out.len() > digits && out.last() == Some(&b'0') {
        out.pop();
    }
    if out.len() == digits {
        // Zero has no sign.
        out.truncate(before);
        out.push(b'0');
        return true;
    }
    let power = power - behind.len() as i64 + (with_zeroes - out.len()) as i64;
    out.push(b'e');
    out.extend_from_slice(power.to_string().as_bytes());
    true
}

/// What stands before an `e`, and the power of ten behind it.
fn split_power(text: &[u8]) -> Option<(&[u8], i64)> {
    let Some(at) = text.iter().position(|byte| matches!(byte, b'e' | b'E')) else { return Some((text, 0)) };
    let power = std::str::from_utf8(&text[at + 1..]).ok()?.parse::<i32>().ok()?;
    Some((&text[..at], power.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<String> {
        let mut out = Vec::new();
        put(text.as_bytes(), &mut out).then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn all_ways_to_write_a_number_have_one_form() {
        for alike in [
            &["1.5", "+1.50", "01.5", "15e-1", ".15E1", " 1.5 "][..],
            &["0", "-0", "-0.00", "000", ".0", "0e7"],
            &["1200", "1.2e3", "+0001200.000"],
            &["-7", "-07.0"],
        ] {
            let forms: std::collections::BTreeSet<_> = alike.iter().map(|text| of(text).unwrap()).collect();
            assert_eq!(forms.len(), 1, "{alike:?}: {forms:?}");
        }
        assert_ne!(of("1.5"), of("1.49"));
        assert_ne!(of("15"), of("150"));
        for none in ["", "-", ".", "1.2.3", "a", "1e", "0x10", "--1"] {
            assert_eq!(of(none), None, "{none}");
        }
    }
}
