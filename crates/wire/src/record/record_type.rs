//! One type of record: its fields, what tells it, and what names a record.

use super::Field;

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

    /// Appends the key of a record: each value without its padding, and its length, so that no two keys run into one. Of a field within
    /// which the record ends, what there is.
    pub fn key_of(&self, record: &[u8], out: &mut Vec<u8>) {
        for field in self.key.iter().filter_map(|index| self.fields.get(*index)) {
            let value = field.value(record);
            out.extend_from_slice(&(value.len() as u32).to_be_bytes());
            out.extend_from_slice(value);
        }
    }
}
