//! What the server offers a plugin: its functions, found by name when the plugin starts, so that one file loads in all servers.

use std::ffi::{CStr, CString, c_char, c_int, c_longlong, c_uint, c_ulong, c_void};
use std::mem::transmute_copy;
use std::ptr::null_mut;

/// A session of the server. It is valid while the server calls the plugin for it, and while it waits in such a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thd(pub *mut c_void);

// Other threads than its own only ask for flags that the server itself reads from everywhere.
unsafe impl Send for Thd {}
unsafe impl Sync for Thd {}

const NOT_AUTOCOMMIT: c_longlong = 1 << 19;
const BEGIN: c_longlong = 1 << 20;
/// MariaDB's number for KILL QUERY among its states of being killed.
const KILL_QUERY: c_int = 4;

type OfThd<R> = unsafe extern "C" fn(*mut c_void) -> R;

/// Functions of the server. What is optional differs between servers.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    test_options: unsafe extern "C" fn(*mut c_void, c_longlong) -> c_longlong,
    killed: OfThd<c_int>,
    set_info: unsafe extern "C" fn(
        *mut c_void,
        *const c_char,
        *const c_char,
        *const c_char,
        c_uint,
    ) -> *const c_char,
    is_connected: Option<OfThd<u8>>,
    is_replica: Option<OfThd<u8>>,
    command: Option<OfThd<c_int>>,
    locks_tables: Option<OfThd<c_int>>,
    locks_context: Option<OfThd<*mut c_void>>,
    has_explicit_locks: Option<OfThd<bool>>,
    set_killed: Option<unsafe extern "C" fn(*mut c_void, c_int, c_int, *const c_char)>,
    print_error: Option<unsafe extern "C" fn(c_uint, *const c_char, c_int, ...)>,
    log: Option<unsafe extern "C" fn(*const c_char, ...)>,
    log_of_plugin: Option<unsafe extern "C" fn(*mut c_void, c_int, *const c_char, ...)>,
    /// By which MySQL knows this plugin.
    plugin: Thd,
    sql: Option<Sql>,
}

/// MariaDB's way for a plugin to say SQL, from a thread that is no session's.
#[derive(Clone, Copy, Debug)]
struct Sql {
    thread_begins: unsafe extern "C" fn() -> c_char,
    thread_ends: unsafe extern "C" fn(),
    init: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    connect: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    query: unsafe extern "C" fn(*mut c_void, *const c_char, c_ulong) -> c_int,
    close: unsafe extern "C" fn(*mut c_void),
}

/// A connection to the server itself, with all rights. It is for one thread.
pub struct Connection(Sql, *mut c_void);

impl Sql {
    fn find() -> Option<Self> {
        Some(Self {
            thread_begins: find(c"my_thread_init")?,
            thread_ends: find(c"my_thread_end")?,
            init: find(c"server_mysql_init")?,
            connect: find(c"mysql_real_connect_local")?,
            query: find(c"server_mysql_real_query")?,
            close: find(c"server_mysql_close")?,
        })
    }
}

impl Connection {
    /// Whether the server did it.
    pub fn say(&self, sql: &str) -> bool {
        unsafe { (self.0.query)(self.1, sql.as_ptr().cast(), sql.len() as c_ulong) == 0 }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        unsafe {
            if !self.1.is_null() {
                (self.0.close)(self.1);
            }
            (self.0.thread_ends)();
        }
    }
}

fn find<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the name ends with a zero; F is a function pointer of the same size, which the name stands for.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then(|| unsafe { transmute_copy(&found) })
}

impl Server {
    /// The functions of the server that loaded this plugin; `None` where one that is needed is not there.
    pub fn find(plugin: *mut c_void) -> Option<Self> {
        Some(Self {
            test_options: find(c"thd_test_options")?,
            killed: find(c"thd_killed")?,
            set_info: find(c"set_thd_proc_info")?,
            is_connected: find(c"thd_is_connected"),
            is_replica: find(c"thd_is_slave"),
            command: find(c"thd_current_command"),
            locks_tables: find(c"thd_in_lock_tables"),
            locks_context: find(c"thd_mdl_context"),
            has_explicit_locks: find(c"_ZN11MDL_context18has_explicit_locksEv"),
            set_killed: find(c"_ZN3THD10set_killedE12killed_stateiPKc"),
            print_error: find(c"my_printf_error").or_else(|| find(c"_Z15my_printf_errorjPKciz")),
            log: find(c"_Z17sql_print_warningPKcz"),
            log_of_plugin: find(c"_Z21my_plugin_log_messagePPv16plugin_log_levelPKcz"),
            plugin: Thd(plugin),
            sql: Sql::find(),
        })
    }

    /// BEGIN, or what does as much, is in force.
    pub fn has_begun(&self, thd: Thd) -> bool {
        unsafe { (self.test_options)(thd.0, BEGIN) != 0 }
    }

    pub fn commits_by_itself(&self, thd: Thd) -> bool {
        unsafe { (self.test_options)(thd.0, NOT_AUTOCOMMIT) == 0 }
    }

    pub fn is_killed(&self, thd: Thd) -> bool {
        unsafe { (self.killed)(thd.0) != 0 }
    }

    /// Whether the server ends the statement of a killed session by itself, right after the plugin.
    pub fn ends_killed(&self) -> bool {
        self.set_killed.is_some()
    }

    /// Whether its client is gone. Only by the session's own thread.
    pub fn is_gone(&self, thd: Thd) -> bool {
        self.is_connected.is_some_and(|is_connected| unsafe { is_connected(thd.0) == 0 })
    }

    /// Whether a client's query is at hand, and not a statement of replication or of an event.
    pub fn is_client(&self, thd: Thd) -> bool {
        // COM_QUERY, COM_STMT_EXECUTE, COM_STMT_BULK_EXECUTE.
        let queries = self.command.is_none_or(|command| matches!(unsafe { command(thd.0) }, 3 | 23 | 250));
        queries && self.is_replica.is_none_or(|is_replica| unsafe { is_replica(thd.0) == 0 })
    }

    /// Whether the server says what a session locks beside rows.
    pub fn tells_locks(&self) -> bool {
        self.locks_context.is_some() && self.has_explicit_locks.is_some()
    }

    /// Whether a statement comes with the session's default database: not in MySQL.
    pub fn shows_databases(&self) -> bool {
        self.ends_killed()
    }

    /// Whether it holds locks beside those of its transaction: LOCK TABLES, named locks, HANDLER, global ones. `None` where the
    /// server does not say.
    pub fn holds_locks(&self, thd: Thd) -> Option<bool> {
        let (context, explicit) = (self.locks_context?, self.has_explicit_locks?);
        let tables = self.locks_tables.is_some_and(|locks| unsafe { locks(thd.0) != 0 });
        Some(tables || unsafe { explicit(context(thd.0)) })
    }

    /// What SHOW PROCESSLIST says of it; what it said before. The text has to live as long as it is shown.
    pub fn set_info(&self, thd: Thd, info: *const c_char) -> *const c_char {
        unsafe { (self.set_info)(thd.0, info, c"".as_ptr(), c"".as_ptr(), 0) }
    }

    /// Ends the statement that the session is about to begin, as KILL QUERY does, with this error. Only by the session's own
    /// thread. Whether the server can do that.
    pub fn refuse(&self, thd: Thd, error: u16, text: &CStr) -> bool {
        match (self.set_killed, self.print_error) {
            (Some(set_killed), _) => {
                unsafe { set_killed(thd.0, KILL_QUERY, error.into(), text.as_ptr()) };
                true
            }
            // MySQL: the answer of the notification ends it, and this is the error that the client gets.
            (None, Some(_)) => {
                self.tell_client(error, text);
                true
            }
            _ => false,
        }
    }

    /// The error that the statement at hand ends with. Only by the session's own thread.
    pub fn tell_client(&self, error: u16, text: &CStr) {
        if let Some(print_error) = self.print_error {
            unsafe { print_error(error.into(), c"%s".as_ptr(), 0, text.as_ptr()) };
        }
    }

    /// A line in the server's error log.
    pub fn warn(&self, text: &str) {
        const WARNING: c_int = 1;
        let text = CString::new(format!("evenkeel: {text}")).unwrap_or_default();
        match (self.log, self.log_of_plugin) {
            (Some(log), _) => unsafe { log(c"%s".as_ptr(), text.as_ptr()) },
            (None, Some(log)) => {
                // It wants the place of the pointer.
                let mut plugin = self.plugin.0;
                unsafe { log((&raw mut plugin).cast(), WARNING, c"%s".as_ptr(), text.as_ptr()) };
            }
            _ => {}
        }
    }

    /// Whether [`Server::connect`] can be.
    pub fn has_sql(&self) -> bool {
        self.sql.is_some()
    }

    /// A connection to the server itself. Only by a thread that is no session's.
    pub fn connect(&self) -> Option<Connection> {
        let sql = self.sql?;
        unsafe {
            if (sql.thread_begins)() != 0 {
                return None;
            }
            let connection = Connection(sql, (sql.init)(null_mut()));
            (!connection.1.is_null() && !(sql.connect)(connection.1).is_null()).then_some(connection)
        }
    }
}
