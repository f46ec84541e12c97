//! Commands, appended to a buffer that the caller uses again and again.
//!
//! A command that is answered gives the sequence number of the first packet of its answer: it follows that
//! of the last packet of the command, of which a long one has several.

use crate::packet;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Parameter<'a> {
    Null,
    Int(i64),
    Double(f64),
    /// Text or bytes; the server converts.
    Text(&'a [u8]),
}

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_PING: u8 = 0x0e;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;
const COM_RESET_CONNECTION: u8 = 0x1f;

const TYPE_DOUBLE: u8 = 0x05;
const TYPE_NULL: u8 = 0x06;
const TYPE_LONGLONG: u8 = 0x08;
const TYPE_VAR_STRING: u8 = 0xfd;

/// The sequence number after that of its last packet.
fn put(out: &mut Vec<u8>, command: u8, write: impl FnOnce(&mut Vec<u8>)) -> u8 {
    let mut sequence = 0;
    packet::put(out, &mut sequence, |out| {
        out.push(command);
        write(out);
    });
    sequence
}

/// A command as a client sent it, its number first.
pub fn recorded(out: &mut Vec<u8>, command: &[u8]) -> u8 {
    let mut sequence = 0;
    packet::put(out, &mut sequence, |out| out.extend_from_slice(command));
    sequence
}

pub fn quit(out: &mut Vec<u8>) {
    put(out, COM_QUIT, |_| ());
}

pub fn ping(out: &mut Vec<u8>) -> u8 {
    put(out, COM_PING, |_| ())
}

pub fn reset(out: &mut Vec<u8>) -> u8 {
    put(out, COM_RESET_CONNECTION, |_| ())
}

pub fn query(out: &mut Vec<u8>, sql: &[u8]) -> u8 {
    query_with(out, |out| out.extend_from_slice(sql))
}

pub fn query_with(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> u8 {
    put(out, COM_QUERY, write)
}

pub fn prepare(out: &mut Vec<u8>, sql: &[u8]) -> u8 {
    put(out, COM_STMT_PREPARE, |out| out.extend_from_slice(sql))
}

pub fn close(out: &mut Vec<u8>, statement: u32) {
    put(out, COM_STMT_CLOSE, |out| out.extend_from_slice(&statement.to_le_bytes()));
}

/// Runs a prepared statement without a cursor. Types travel every time, so that a parameter may change its
/// type between two executions; that costs two bytes each.
pub fn execute<'a>(
    out: &mut Vec<u8>,
    statement: u32,
    parameters: impl ExactSizeIterator<Item = Parameter<'a>> + Clone,
) -> u8 {
    put(out, COM_STMT_EXECUTE, |out| {
        out.extend_from_slice(&statement.to_le_bytes());
        // No cursor, one iteration.
        out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if parameters.len() > 0 {
            put_nulls(out, parameters.clone());
            out.push(1);
            for parameter in parameters.clone() {
                out.extend_from_slice(&[type_of(parameter), 0]);
            }
            for parameter in parameters {
                put_value(out, parameter);
            }
        }
    })
}

fn put_nulls<'a>(out: &mut Vec<u8>, parameters: impl ExactSizeIterator<Item = Parameter<'a>>) {
    let start = out.len();
    out.resize(start + parameters.len().div_ceil(8), 0);
    for (index, parameter) in parameters.enumerate() {
        if parameter == Parameter::Null {
            out[start + index / 8] |= 1 << (index % 8);
        }
    }
}

fn type_of(parameter: Parameter<'_>) -> u8 {
    match parameter {
        Parameter::Null => TYPE_NULL,
        Parameter::Int(_) => TYPE_LONGLONG,
        Parameter::Double(_) => TYPE_DOUBLE,
        Parameter::Text(_) => TYPE_VAR_STRING,
    }
}

fn put_value(out: &mut Vec<u8>, parameter: Parameter<'_>) {
    match parameter {
        Parameter::Null => {}
        Parameter::Int(number) => out.extend_from_slice(&number.to_le_bytes()),
        Parameter::Double(number) => out.extend_from_slice(&number.to_le_bytes()),
        Parameter::Text(text) => crate::bytes::put_string(out, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_execute_has_the_published_layout() {
        let mut out = Vec::new();
        let parameters = [Parameter::Int(258), Parameter::Null, Parameter::Text(b"ab")];
        execute(&mut out, 7, parameters.iter().copied());
        let expected = [
            &[30, 0, 0, 0, COM_STMT_EXECUTE, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0b010, 1][..],
            &[TYPE_LONGLONG, 0, TYPE_NULL, 0, TYPE_VAR_STRING, 0][..],
            &[2, 1, 0, 0, 0, 0, 0, 0, 2, b'a', b'b'][..],
        ]
        .concat();
        assert_eq!(out[4..], expected[4..]);
        assert_eq!(usize::from(out[0]), out.len() - 4);
    }

    #[test]
    fn the_answer_to_a_command_is_numbered_after_its_last_packet() {
        let mut out = Vec::new();
        assert_eq!(ping(&mut out), 1);
        // The command itself takes a byte; a full packet is followed by another.
        for (length, answer) in [(packet::PAYLOAD_MAX - 2, 1), (packet::PAYLOAD_MAX - 1, 2)] {
            out.clear();
            assert_eq!(query(&mut out, &vec![b'x'; length]), answer);
        }
        out.clear();
        let text = vec![b'x'; 2 * packet::PAYLOAD_MAX];
        assert_eq!(execute(&mut out, 7, [Parameter::Text(&text)].iter().copied()), 3);
    }

    #[test]
    fn commands_follow_one_another_in_one_buffer() {
        let mut out = Vec::new();
        ping(&mut out);
        query(&mut out, b"DO 1");
        assert_eq!(out, [&[1, 0, 0, 0, COM_PING, 5, 0, 0, 0, COM_QUERY][..], b"DO 1"].concat());
    }
}
