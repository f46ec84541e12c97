//! Values that travel to the server and back.

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Double(f64),
    /// Text or bytes; dates and decimals travel as text.
    Text(Vec<u8>),
}

impl Value {
    /// As a whole number, also from text: text statements bring numbers back as text. `None` for what is no
    /// whole number.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Double(number) if number.fract() == 0.0 && number.abs() < 9e15 => Some(*number as i64),
            Self::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
            Self::Null | Self::Double(_) => None,
        }
    }

    /// As an id or a count, of which none is negative.
    pub fn as_id(&self) -> Option<u64> {
        u64::try_from(self.as_int()?).ok()
    }

    /// As a floating-point number, also from text; `None` for what is no number.
    pub fn as_double(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::Double(number) => Some(*number),
            Self::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
            Self::Null => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_either_protocol() {
        let text = |text: &str| Value::Text(text.into());
        for (value, int, double) in [
            (Value::Int(-3), Some(-3), Some(-3.0)),
            (Value::Double(2.0), Some(2), Some(2.0)),
            (Value::Double(2.5), None, Some(2.5)),
            (text("17"), Some(17), Some(17.0)),
            (text("0.25"), None, Some(0.25)),
            (text("x"), None, None),
            (Value::Null, None, None),
        ] {
            assert_eq!((value.as_int(), value.as_double()), (int, double), "{value:?}");
        }
    }
}
