//! A record type made ready: for each field what it needs and nothing else, sixteen bytes at a time.
//!
//! A [`Plan`] knows the way of records that have nothing odd: printable ASCII, as long as their type, each value as its field wants it.
//! It says no to every other one, which [`Layout::delimit`](super::Layout::delimit) then looks at byte by byte: whatever is
//! refused is refused there, with its reason.

use super::field::trimmed;
use super::word::BLANKS;
use super::{Blank, Check, Field, Kind, Trim, word};

/// Bytes of a field that are looked at together.
const WORD: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    steps: Vec<Step>,
    length: usize,
    /// Bytes of its longest line, and room for a whole word behind it.
    most: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    start: usize,
    width: usize,
    /// All bits of its bytes; none where it has more than a word.
    mask: u128,
    trims_left: bool,
    trims_right: bool,
    blank: Blank,
    judge: Judge,
    /// A field of more than a word, or of a value that becomes longer.
    long: Option<Box<Field>>,
}

/// How a value is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Judge {
    Nothing,
    Integer,
    /// An integer within these bounds.
    Within(i64, i64),
    Decimal,
    Time,
    OneOf(Vec<u128>),
    /// What this plan does not judge: the slow path does.
    Elsewhere,
}

impl Plan {
    pub fn new(of: &RecordType) -> Self {
        let steps: Vec<Step> = of.fields.iter().filter(|field| field.kept).map(Step::new).collect();
        // NULL has two bytes, whatever the width of its field, and every field one that parts it from the next.
        let most = steps.iter().map(|step| step.width.max(2) + 1).sum::<usize>() + WORD;
        Self { steps, length: of.length(), most }
    }

    /// Appends the line of a record; false, with nothing appended, where the record needs a closer look.
    pub fn line(&self, record: &[u8], delimiter: u8, out: &mut Vec<u8>) -> bool {
        if record.len() != self.length || !word::is_plain(record, delimiter) {
            return false;
        }
        let begin = out.len();
        out.resize(begin + self.most, 0);
        match self.fill(record, delimiter, &mut out[begin..]) {
            Some(end) => out.truncate(begin + end),
            None => out.truncate(begin),
        }
        out.len() > begin
    }

    /// Lays the line into bytes that have room for it, and says how many it has.
    fn fill(&self, record: &[u8], delimiter: u8, line: &mut [u8]) -> Option<usize> {
        let mut at = 0;
        for step in &self.steps {
            at += match &step.long {
                None => step.put(record, line.get_mut(at..)?.first_chunk_mut()?)?,
                Some(field) => put_long(field, record, &mut line[at..])?,
            };
            *line.get_mut(at)? = delimiter;
            at += 1;
        }
        // The delimiter behind the last field is where the line ends.
        *line.get_mut(at - 1)? = b'\n';
        Some(at)
    }
}

impl Step {
    fn new(field: &Field) -> Self {
        // A point, and zeroes before it, want more room than the field has.
        let more = if let Kind::Scaled(scale) = field.kind { scale as usize + 2 } else { 0 };
        let is_long = more > 0 || field.width > WORD;
        Self {
            start: field.start,
            width: field.width + more,
            mask: if is_long { 0 } else { word::first(field.width) },
            trims_left: matches!(field.trim, Trim::Both | Trim::Left),
            trims_right: matches!(field.trim, Trim::Both | Trim::Right),
            blank: field.blank,
            judge: Judge::of(field),
            long: is_long.then(|| Box::new(field.clone())),
        }
    }

    /// Lays the value into the first bytes of a word and says how many it has; `None` where it does not fit or is not known here.
    #[inline]
    fn put(&self, record: &[u8], into: &mut [u8; WORD]) -> Option<usize> {
        match self.width {
            ..=8 => self.put_narrow(word::load_half(record, self.start), into),
            _ => self.put_wide(word::load(record, self.start), into),
        }
    }

    /// Of at most eight bytes, which one register holds.
    #[inline]
    fn put_narrow(&self, bytes: u64, into: &mut [u8; WORD]) -> Option<usize> {
        let letters = (bytes ^ BLANKS as u64) & self.mask as u64;
        if letters == 0 {
            return put_blank(self.blank, into);
        }
        let before = if self.trims_left { letters.trailing_zeros() / 8 } else { 0 };
        let end = if self.trims_right { 8 - letters.leading_zeros() / 8 } else { self.width as u32 };
        let length = (end - before) as usize;
        let value = (bytes >> (8 * before)) & word::first(length) as u64;
        into[..8].copy_from_slice(&value.to_le_bytes());
        self.judge.takes_narrow(value, length).then_some(length)
    }

    #[inline]
    fn put_wide(&self, bytes: u128, into: &mut [u8; WORD]) -> Option<usize> {
        let letters = (bytes ^ BLANKS) & self.mask;
        if letters == 0 {
            return put_blank(self.blank, into);
        }
        let end = if self.trims_right { 16 - letters.leading_zeros() / 8 } else { self.width as u32 };
        let (mut value, mut length) = (bytes, end as usize);
        // Most wide fields stand to the left, and a shift of two registers costs more than to see that there is none.
        if self.trims_left && letters & 0xff == 0 {
            let before = letters.trailing_zeros() / 8;
            (value, length) = (value >> (8 * before), length - before as usize);
        }
        value &= word::first(length);
        into.copy_from_slice(&value.to_le_bytes());
        self.judge.takes(value, length).then_some(length)
    }
}

/// The same of a field that is longer than a word.
fn put_long(field: &Field, record: &[u8], into: &mut [u8]) -> Option<usize> {
    let value = trimmed(record.get(field.start..field.end())?, field.trim);
    if value.iter().all(|byte| *byte == b' ') {
        return put_blank(field.blank, into);
    }
    field.judge(value).ok()?;
    let value = field.kind.pointed(value);
    into.get_mut(..value.len())?.copy_from_slice(&value);
    Some(value.len())
}

#[inline]
fn put_blank(blank: Blank, into: &mut [u8]) -> Option<usize> {
    match blank {
        Blank::Null => {
            into.get_mut(..2)?.copy_from_slice(b"\\N");
            Some(2)
        }
        Blank::Empty => Some(0),
        Blank::Refuse => None,
    }
}

impl Judge {
    fn of(field: &Field) -> Self {
        match (field.kind, &field.check) {
            (Kind::Text, Check::None) => Self::Nothing,
            (Kind::Integer, Check::None) => Self::Integer,
            (Kind::Decimal, Check::None) => Self::Decimal,
            (Kind::Time, Check::None) if field.pattern.is_none() => Self::Time,
            (Kind::Integer, Check::Within(least, most)) => Self::Within(*least, *most),
            (Kind::Text, Check::OneOf(values)) => {
                // A byte of zero is in no plain record, and would be taken for the end of a value.
                let fits = |value: &&Vec<u8>| value.len() <= WORD && !value.contains(&0);
                Self::OneOf(values.iter().filter(fits).map(|value| word::load(value, 0)).collect())
            }
            _ => Self::Elsewhere,
        }
    }

    /// Whether a value of at most eight bytes, zeros behind them, is certainly what it should be.
    #[inline]
    fn takes_narrow(&self, value: u64, length: usize) -> bool {
        match self {
            Self::Nothing => true,
            Self::Integer => word::is_digits_half(value, length),
            Self::Within(least, most) => {
                let number = word::number(value, length);
                number.is_some_and(|number| (*least..=*most).contains(&number))
            }
            other => other.takes(u128::from(value), length),
        }
    }

    /// Whether a value of so many bytes, zeros behind them, is certainly what it should be.
    #[inline(always)]
    fn takes(&self, value: u128, length: usize) -> bool {
        match self {
            Self::Nothing => true,
            Self::Integer => word::is_digits(value, length),
            Self::Within(least, most) => {
                let number = if length > 8 { None } else { word::number(value as u64, length) };
                number.is_some_and(|number| (*least..=*most).contains(&number))
            }
            Self::Decimal => word::is_decimal(value, length),
            Self::Time => word::is_time(value, length),
            Self::OneOf(values) => values.contains(&value),
            Self::Elsewhere => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordType {
    /// Its name; that of the table or file that it goes to.
    pub name: String,
    /// The bytes that tell it, each as many as the layout looks at; empty where it is the only type.
    pub is: Vec<Vec<u8>>,
    /// Its fields in the order of their places; what lies between them is filler.
    pub fields: Vec<Field>,
    /// Indexes of the fields that name a record; empty where nothing does.
    pub key: Vec<usize>,
}

impl RecordType {
    /// Bytes of a record, without its line end.
    pub fn length(&self) -> usize {
        self.fields.last().map_or(0, Field::end)
    }
}
