//! Numbers as people read them: three significant digits, and all digits of whole numbers from 1,000.

/// Rounded to the nearest, for an estimate.
pub fn nearest(value: f64) -> String {
    rounded(value, f64::round)
}

/// Rounded down, so that a lower bound stays one.
pub fn floor(value: f64) -> String {
    rounded(value, f64::floor)
}

/// Rounded up, so that an upper bound stays one.
pub fn ceiling(value: f64) -> String {
    rounded(value, f64::ceil)
}

/// `3.08 to 3.31`, rounded away from the middle.
pub fn between(low: f64, high: f64) -> String {
    format!("{} to {}", floor(low), ceiling(high))
}

fn rounded(value: f64, to_whole: fn(f64) -> f64) -> String {
    let places = match value.abs() {
        x if x >= 100.0 => 0,
        x if x >= 10.0 => 1,
        x if x >= 1.0 => 2,
        _ => 3,
    };
    let unit = 10_f64.powi(places);
    // What is such a number but for its last bit stays that number.
    let scaled = value * unit;
    let near = scaled.round();
    let whole = if (scaled - near).abs() < 1e-9 * scaled.abs() { near } else { to_whole(scaled) };
    format!("{:.*}", usize::try_from(places).unwrap_or(0), whole / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_rounded_away_from_what_they_hold() {
        assert_eq!((floor(430.9), ceiling(430.1)), ("430".to_owned(), "431".to_owned()));
        assert_eq!((floor(3.119), ceiling(3.111)), ("3.11".to_owned(), "3.12".to_owned()));
        assert_eq!((floor(0.3), ceiling(0.1 + 0.2)), ("0.300".to_owned(), "0.300".to_owned()));
        assert_eq!(between(3.081, 3.302), "3.08 to 3.31");
        assert_eq!((ceiling(1234.2), nearest(1234.2)), ("1235".to_owned(), "1234".to_owned()));
    }
}
