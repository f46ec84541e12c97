//! The declarations by which a server knows the plugin, as its headers have them: MariaDB's `plugin.h` and `plugin_audit.h` of 10.11 and
//! 11.8, and MySQL's of 9.7. `tests/abi.rs` checks the layouts against MariaDB's headers.

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_longlong, c_uint, c_ulong, c_void};

/// What the server is given to keep, and to write to: it fills gaps of what it finds.
#[repr(transparent)]
pub struct Shared<T>(pub UnsafeCell<T>);

// SAFETY: only the server uses these, under its own locks.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    pub const fn pointer<P>(&self) -> *const P {
        self.0.get().cast_const().cast()
    }
}

pub const AUDIT_PLUGIN: c_int = 5;
pub const LICENSE_BSD: c_int = 2;
pub const GAMMA: c_uint = 4;
pub const MARIADB_INTERFACE: c_int = 0x010f;
pub const MARIADB_AUDIT: c_int = 0x0302;
pub const MYSQL_INTERFACE: c_int = 0x010b;
pub const MYSQL_AUDIT: c_int = 0x0401;

#[repr(C)]
pub struct MariaPlugin {
    pub kind: c_int,
    pub info: *const c_void,
    pub name: *const c_char,
    pub author: *const c_char,
    pub description: *const c_char,
    pub license: c_int,
    pub init: Option<extern "C" fn(*mut c_void) -> c_int>,
    pub deinit: Option<extern "C" fn(*mut c_void) -> c_int>,
    pub version: c_uint,
    pub status: *const c_void,
    pub variables: *const *const c_void,
    pub version_text: *const c_char,
    pub maturity: c_uint,
}

#[repr(C)]
pub struct MysqlPlugin {
    pub kind: c_int,
    pub info: *const c_void,
    pub name: *const c_char,
    pub author: *const c_char,
    pub description: *const c_char,
    pub license: c_int,
    pub init: Option<extern "C" fn(*mut c_void) -> c_int>,
    pub check_uninstall: Option<extern "C" fn(*mut c_void) -> c_int>,
    pub deinit: Option<extern "C" fn(*mut c_void) -> c_int>,
    pub version: c_uint,
    pub status: *const c_void,
    pub variables: *const *const c_void,
    pub reserved: *const c_void,
    pub flags: c_ulong,
}

#[repr(C)]
pub struct MariaAudit {
    pub interface: c_int,
    pub release: Option<extern "C" fn(*mut c_void)>,
    pub notify: Option<extern "C" fn(*mut c_void, c_uint, *const c_void)>,
    pub classes: [c_ulong; 1],
}

pub const MYSQL_CLASSES: usize = 13;

#[repr(C)]
pub struct MysqlAudit {
    pub interface: c_int,
    pub release: Option<extern "C" fn(*mut c_void)>,
    pub notify: Option<extern "C" fn(*mut c_void, c_uint, *const c_void) -> c_int>,
    pub classes: [c_ulong; MYSQL_CLASSES],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    pub text: *const c_char,
    pub length: usize,
}

/// MariaDB's event of class GENERAL.
#[repr(C)]
pub struct General {
    pub subclass: c_uint,
    pub error: c_int,
    pub thread: c_ulong,
    pub user: *const c_char,
    pub user_length: c_uint,
    pub command: *const c_char,
    pub command_length: c_uint,
    pub query: *const c_char,
    pub query_length: c_uint,
    pub charset: *const c_void,
    pub time: u64,
    pub rows: u64,
    pub query_id: u64,
    pub database: Text,
}

pub const GENERAL: c_uint = 0;
pub const GENERAL_LOG: c_uint = 0;
pub const GENERAL_STATUS: c_uint = 3;
pub const CONNECTION: c_uint = 1;
pub const DISCONNECT: c_uint = 1;
pub const CHANGE_USER: c_uint = 2;

/// The start of MySQL's event of class GENERAL.
#[repr(C)]
pub struct MysqlGeneral {
    pub subclass: c_uint,
    pub error: c_int,
    pub thread: c_ulong,
    pub user: Text,
    pub command: Text,
    pub query: Text,
}

/// MySQL's event of class QUERY.
#[repr(C)]
pub struct MysqlQuery {
    pub subclass: c_uint,
    pub status: c_int,
    pub thread: c_ulong,
    pub command: c_int,
    pub query: Text,
}

pub const MYSQL_GENERAL_LOG: c_uint = 1;
pub const MYSQL_GENERAL_STATUS: c_uint = 8;
pub const MYSQL_DISCONNECT: c_uint = 2;
pub const MYSQL_CHANGE_USER: c_uint = 4;
pub const MYSQL_QUERY: c_uint = 9;
pub const MYSQL_QUERY_START: c_uint = 1;

/// The start of the event of class CONNECTION, in both servers.
#[repr(C)]
pub struct Connection {
    pub subclass: c_uint,
    pub status: c_int,
    pub thread: c_ulong,
}

/// A status variable; MySQL's has a scope behind the type, in what is padding for MariaDB.
#[repr(C)]
pub struct StatusVariable {
    pub name: *const c_char,
    pub value: *const c_void,
    pub kind: c_uint,
    pub scope: c_uint,
}

pub const SHOW_ULONGLONG: c_uint = 4;
pub const SHOW_CHAR: c_uint = 5;
pub const SHOW_FUNC: c_uint = 8;
pub const SCOPE_GLOBAL: c_uint = 1;
/// Bytes that the server lends for the value of a function.
pub const SHOW_BYTES: usize = 256;

pub const VARIABLE_LONGLONG: c_int = 0x0004;
pub const VARIABLE_TEXT: c_int = 0x0005;
pub const VARIABLE_UNSIGNED: c_int = 0x0080;

pub type Check = extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *mut Value) -> c_int;
pub type Update = extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *const c_void);

#[repr(C)]
pub struct TextVariable {
    pub flags: c_int,
    pub name: *const c_char,
    pub comment: *const c_char,
    pub check: Option<Check>,
    pub update: Option<Update>,
    pub value: *mut *const c_char,
    pub default: *const c_char,
}

#[repr(C)]
pub struct NumberVariable {
    pub flags: c_int,
    pub name: *const c_char,
    pub comment: *const c_char,
    pub check: Option<Check>,
    pub update: Option<Update>,
    pub value: *mut u64,
    pub default: u64,
    pub least: u64,
    pub most: u64,
    pub block: u64,
}

/// A value of SET GLOBAL.
#[repr(C)]
pub struct Value {
    pub kind: extern "C" fn(*mut Self) -> c_int,
    pub text: extern "C" fn(*mut Self, *mut c_char, *mut c_int) -> *const c_char,
    pub real: extern "C" fn(*mut Self, *mut f64) -> c_int,
    pub int: extern "C" fn(*mut Self, *mut c_longlong) -> c_int,
    pub is_unsigned: extern "C" fn(*mut Self) -> c_int,
}
