//! Bytes of the MySQL protocol: bytes in, packets out and back.
//!
//! Owns no socket, reads no clock; memory is bounded by the limits given to it.
#![forbid(unsafe_code)]
