//! Writing parameters without allocating.

use super::{Parameters, Value};

/// Writes the parameters of one statement over those of the statement before: a text takes over the buffer
/// of the text that stood in its place. What was there beyond the last one written is cut off at the end.
#[derive(Debug)]
pub struct Fill<'a> {
    parameters: &'a mut Parameters,
    written: usize,
}

impl<'a> Fill<'a> {
    pub fn over(parameters: &'a mut Parameters) -> Self {
        Self { parameters, written: 0 }
    }

    /// The next parameter, holding whatever stood there before.
    pub fn slot(&mut self) -> &mut Value {
        if self.written == self.parameters.len() {
            self.parameters.push(Value::Null);
        }
        self.written += 1;
        &mut self.parameters[self.written - 1]
    }

    pub fn int(&mut self, number: i64) -> &mut Self {
        *self.slot() = Value::Int(number);
        self
    }

    /// Ids are those of INT columns, so that the bound is never met.
    pub fn ints<const COUNT: usize>(&mut self, numbers: [u64; COUNT]) {
        for number in numbers {
            self.int(i64::try_from(number).unwrap_or(i64::MAX));
        }
    }

    pub fn double(&mut self, number: f64) -> &mut Self {
        *self.slot() = Value::Double(number);
        self
    }

    /// A text that `write` appends to an empty buffer.
    pub fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        set_text(self.slot(), write);
        self
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.text(|buffer| buffer.extend_from_slice(bytes))
    }

    pub fn again(&mut self, place: usize) {
        self.slot();
        let (before, here) = self.parameters.split_at_mut(self.written - 1);
        set_value(&mut here[0], &before[place]);
    }
}

impl Drop for Fill<'_> {
    fn drop(&mut self) {
        self.parameters.truncate(self.written);
    }
}

/// Makes `slot` the text that `write` appends, in the buffer that is there.
pub(super) fn set_text(slot: &mut Value, write: impl FnOnce(&mut Vec<u8>)) {
    if let Value::Text(buffer) = slot {
        buffer.clear();
        write(buffer);
    } else {
        let mut buffer = Vec::new();
        write(&mut buffer);
        *slot = Value::Text(buffer);
    }
}

/// Makes `slot` a copy of `value`, a text in the buffer that is there.
pub(super) fn set_value(slot: &mut Value, value: &Value) {
    match value {
        Value::Text(text) => set_text(slot, |buffer| buffer.extend_from_slice(text)),
        Value::Int(number) => *slot = Value::Int(*number),
        Value::Double(number) => *slot = Value::Double(*number),
        Value::Null => *slot = Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_takes_over_the_buffer_in_its_place() {
        let mut parameters = vec![Value::Int(1), Value::Text(Vec::with_capacity(64)), Value::Null];
        let Value::Text(before) = &parameters[1] else { unreachable!() };
        let address = before.as_ptr();
        Fill::over(&mut parameters).int(2).bytes(b"two");
        assert_eq!(parameters, [Value::Int(2), Value::Text(b"two".to_vec())]);
        let Value::Text(after) = &parameters[1] else { unreachable!() };
        assert_eq!(after.as_ptr(), address);
    }

    #[test]
    fn an_empty_list_grows_and_a_long_one_is_cut() {
        let mut parameters = Parameters::new();
        Fill::over(&mut parameters).int(1).double(0.5).slot();
        assert_eq!(parameters, [Value::Int(1), Value::Double(0.5), Value::Null]);
        drop(Fill::over(&mut parameters));
        assert!(parameters.is_empty());
    }
}
