//! What is wrong with a record or a value.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The bytes that tell the type are not those of any.
    UnknownType,
    /// Fewer bytes than the layout has.
    Short {
        found: usize,
        expected: usize,
    },
    /// More of them.
    Long {
        found: usize,
        expected: usize,
    },
    Nul,
    /// Another control character.
    Control(u8),
    Charset,
    Integer,
    Decimal,
    /// No instant, or none that the calendar has.
    Time,
    /// One that a TIMESTAMP does not hold.
    Timestamp,
    /// A number outside of the bounds.
    Bounds,
    NotListed,
    /// Nothing but blanks where there must be a value.
    Blank,
    /// A backslash with nothing behind it.
    Escape,
    /// More bytes than a value of this field may have.
    Wide(usize),
    /// A quote that does not end, or has something but a delimiter behind it.
    Quote,
}

impl What {
    pub(super) fn explain(self) -> String {
        match self {
            Self::UnknownType => "no record type has these letters".to_owned(),
            Self::Short { found, expected } => format!("too short: {found} of {expected}"),
            Self::Long { found, expected } => format!("too long: {found} of {expected}"),
            Self::Nul => "a NUL byte".to_owned(),
            Self::Control(byte) => format!("control character 0x{byte:02x}"),
            Self::Charset => "bytes outside the character set".to_owned(),
            Self::Integer => "not an integer".to_owned(),
            Self::Decimal => "not a decimal number".to_owned(),
            Self::Time => "not a time".to_owned(),
            Self::Timestamp => "before or after what a TIMESTAMP column holds".to_owned(),
            Self::Bounds => "out of bounds".to_owned(),
            Self::NotListed => "not one of the values listed".to_owned(),
            Self::Blank => "blank, and a value is required".to_owned(),
            Self::Escape => "a backslash at the end".to_owned(),
            Self::Wide(most) => format!("more than {most} bytes"),
            Self::Quote => "a quote that does not end, or ends before the value does".to_owned(),
        }
    }
}
