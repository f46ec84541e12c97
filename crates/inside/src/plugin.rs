//! What the server calls.

use crate::abi::{
    self, Connection, General, MariaAudit, MariaPlugin, MysqlAudit, MysqlGeneral, MysqlPlugin, MysqlQuery,
    Shared,
};
use crate::installed::{BROKEN, INSTALLED, Installed, guarded};
use crate::options::{Mode, Options};
use crate::server::{Server, Thd};
use crate::sessions::{Sessions, Statement};
use crate::variables;
use crate::watcher::{INITIAL, Stop, Watcher};
use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

fn install(plugin: *mut c_void) -> Option<Installed> {
    let (server, options) = (Server::find(plugin)?, Options::default());
    if let Err(why) = variables::read(&options, &server) {
        server.warn(&why);
        return None;
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let short = match options.mode() {
        Mode::Fixed(limit) => limit,
        _ => INITIAL,
    };
    let sessions = Arc::new(Sessions::new(server, options, [short as usize, cpus]));
    let stop = Arc::new(Stop::default());
    let (watcher, stopped) = (Watcher::new(Arc::clone(&sessions)), Arc::clone(&stop));
    let thread = without_signals(|| spawn(Box::new(Work { watcher, stopped })))?;
    Some(Installed { sessions, stop, thread })
}

struct Work {
    watcher: Watcher,
    stopped: Arc<Stop>,
}

/// A thread that works. Not one of the standard library: that leaves values with destructors in the thread that makes it, here a
/// session's, and they would keep this library loaded after UNINSTALL.
fn spawn(work: Box<Work>) -> Option<libc::pthread_t> {
    extern "C" fn run(work: *mut c_void) -> *mut c_void {
        // SAFETY: it comes from below, once.
        let Work { watcher, stopped } = *unsafe { Box::from_raw(work.cast::<Work>()) };
        let _ = catch_unwind(AssertUnwindSafe(|| watcher.run(&stopped)));
        null_mut()
    }
    let work = Box::into_raw(work);
    let mut thread = 0;
    // SAFETY: the thread is its own until it is joined in `deinit`.
    let failed = unsafe { libc::pthread_create(&raw mut thread, null(), run, work.cast()) };
    if failed != 0 {
        // SAFETY: no thread has it.
        drop(unsafe { Box::from_raw(work) });
        return None;
    }
    // For `top -H` and its like.
    // SAFETY: the thread lives until it is joined.
    unsafe { libc::pthread_setname_np(thread, c"evenkeel".as_ptr()) };
    Some(thread)
}

/// A thread begins with the signals that its maker blocks, and the server's signals are its own.
fn without_signals<R>(make: impl FnOnce() -> R) -> R {
    // SAFETY: the sets are filled before they are read.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let made = make();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, null_mut());
        made
    }
}

extern "C" fn init(plugin: *mut c_void) -> c_int {
    BROKEN.store(false, SeqCst);
    let installed = catch_unwind(|| install(plugin)).ok().flatten();
    let Some(installed) = installed else { return 1 };
    INSTALLED.store(Box::into_raw(Box::new(installed)), SeqCst);
    0
}

extern "C" fn deinit(_: *mut c_void) -> c_int {
    let installed = INSTALLED.swap(null_mut(), SeqCst);
    if !installed.is_null() {
        // SAFETY: it was made by `init`, and no session is inside the plugin any more.
        let installed = unsafe { Box::from_raw(installed) };
        installed.sessions.open();
        installed.stop.stop();
        // SAFETY: it is joined once.
        unsafe { libc::pthread_join(installed.thread, null_mut()) };
    }
    0
}

/// Text of the server.
///
/// # Safety
///
/// So many bytes have to be there, for as long as the result is used.
unsafe fn bytes<'a>(text: *const c_char, length: usize) -> &'a [u8] {
    if text.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(text.cast(), length) } }
}

/// `root` of `root[root] @ localhost []`.
fn user(account: &[u8]) -> &[u8] {
    account.split(|byte| *byte == b'[').next().unwrap_or_default()
}

extern "C" fn maria_notify(thd: *mut c_void, class: c_uint, event: *const c_void) {
    guarded((), |installed| match class {
        // SAFETY: the class says what the event is.
        abi::GENERAL => general(installed, Thd(thd), unsafe { &*event.cast::<General>() }),
        abi::CONNECTION => {
            let connection = unsafe { &*event.cast::<Connection>() };
            if matches!(connection.subclass, abi::DISCONNECT | abi::CHANGE_USER) {
                installed.sessions.parts(connection.thread);
            }
        }
        _ => {}
    });
}

fn general(installed: &Installed, thd: Thd, event: &General) {
    // SAFETY: the server says how long its texts are, and keeps them during the call.
    let (account, text, database) = unsafe {
        (
            bytes(event.user, event.user_length as usize),
            bytes(event.query, event.query_length as usize),
            bytes(event.database.text, event.database.length),
        )
    };
    match event.subclass {
        abi::GENERAL_LOG => {
            let statement = Statement { thread: event.thread, user: user(account), database, text };
            installed.sessions.begins(thd, &statement);
        }
        abi::GENERAL_STATUS => {
            let error = event.error.try_into().unwrap_or(u16::MAX);
            installed.sessions.ends(thd, event.thread, (error, text));
        }
        _ => {}
    }
}

extern "C" fn mysql_notify(thd: *mut c_void, class: c_uint, event: *const c_void) -> c_int {
    let goes_on = guarded(true, |installed| match class {
        // SAFETY: the class says what the event is.
        abi::GENERAL => {
            let event = unsafe { &*event.cast::<MysqlGeneral>() };
            // SAFETY: the server keeps its texts during the call.
            let user = user(unsafe { bytes(event.user.text, event.user.length) });
            let text = unsafe { bytes(event.query.text, event.query.length) };
            installed.sessions.meet(Thd(thd), event.thread, user);
            if event.subclass == abi::MYSQL_GENERAL_STATUS {
                let error = event.error.try_into().unwrap_or(u16::MAX);
                installed.sessions.ends(Thd(thd), event.thread, (error, text));
            } else {
                installed.sessions.begins_inner(event.thread, text);
            }
            true
        }
        abi::CONNECTION => {
            installed.sessions.parts(unsafe { &*event.cast::<Connection>() }.thread);
            true
        }
        abi::MYSQL_QUERY => {
            let event = unsafe { &*event.cast::<MysqlQuery>() };
            let text = unsafe { bytes(event.query.text, event.query.length) };
            // One that is not known yet is a thread of the server's own.
            let Some(user) = installed.sessions.user(event.thread) else { return true };
            let user = user.as_bytes();
            installed
                .sessions
                .begins(Thd(thd), &Statement { thread: event.thread, user, database: &[], text })
        }
        _ => true,
    });
    c_int::from(!goes_on)
}

const fn mysql_classes() -> [c_ulong; abi::MYSQL_CLASSES] {
    let mut classes = [0; abi::MYSQL_CLASSES];
    classes[abi::GENERAL as usize] = (abi::MYSQL_GENERAL_LOG | abi::MYSQL_GENERAL_STATUS) as c_ulong;
    classes[abi::CONNECTION as usize] = (abi::MYSQL_DISCONNECT | abi::MYSQL_CHANGE_USER) as c_ulong;
    classes[abi::MYSQL_QUERY as usize] = abi::MYSQL_QUERY_START as c_ulong;
    classes
}

static MYSQL_AUDIT: Shared<MysqlAudit> = Shared::new(MysqlAudit {
    interface: abi::MYSQL_AUDIT,
    release: None,
    notify: Some(mysql_notify),
    classes: mysql_classes(),
});

static MARIA_AUDIT: Shared<MariaAudit> = Shared::new(MariaAudit {
    interface: abi::MARIADB_AUDIT,
    release: None,
    notify: Some(maria_notify),
    classes: [1 << abi::GENERAL | 1 << abi::CONNECTION],
});

const NAME: *const c_char = c"evenkeel".as_ptr();
const AUTHOR: *const c_char = c"Evenkeel".as_ptr();
const DESCRIPTION: *const c_char =
    c"Limits concurrent transactions to what gives the best throughput".as_ptr();

#[unsafe(no_mangle)]
pub static _maria_plugin_interface_version_: c_int = abi::MARIADB_INTERFACE;
#[unsafe(no_mangle)]
pub static _maria_sizeof_struct_st_plugin_: c_int = size_of::<MariaPlugin>() as c_int;
#[unsafe(no_mangle)]
pub static _maria_plugin_declarations_: Shared<[MariaPlugin; 2]> = Shared::new([
    MariaPlugin {
        kind: abi::AUDIT_PLUGIN,
        info: MARIA_AUDIT.pointer(),
        name: NAME,
        author: AUTHOR,
        description: DESCRIPTION,
        license: abi::LICENSE_BSD,
        init: Some(init),
        deinit: Some(deinit),
        version: 0x0001,
        status: variables::STATUS.pointer(),
        variables: variables::ALL.pointer(),
        version_text: c"0.1".as_ptr(),
        maturity: abi::GAMMA,
    },
    MariaPlugin {
        kind: 0,
        info: null(),
        name: null(),
        author: null(),
        description: null(),
        license: 0,
        init: None,
        deinit: None,
        version: 0,
        status: null(),
        variables: null(),
        version_text: null(),
        maturity: 0,
    },
]);

#[unsafe(no_mangle)]
pub static _mysql_plugin_interface_version_: c_int = abi::MYSQL_INTERFACE;
#[unsafe(no_mangle)]
pub static _mysql_sizeof_struct_st_plugin_: c_int = size_of::<MysqlPlugin>() as c_int;
#[unsafe(no_mangle)]
pub static _mysql_plugin_declarations_: Shared<[MysqlPlugin; 2]> = Shared::new([
    MysqlPlugin {
        kind: abi::AUDIT_PLUGIN,
        info: MYSQL_AUDIT.pointer(),
        name: NAME,
        author: AUTHOR,
        description: DESCRIPTION,
        license: abi::LICENSE_BSD,
        init: Some(init),
        check_uninstall: None,
        deinit: Some(deinit),
        version: 0x0001,
        status: variables::STATUS.pointer(),
        variables: variables::ALL.pointer(),
        reserved: null(),
        flags: 0,
    },
    MysqlPlugin {
        kind: 0,
        info: null(),
        name: null(),
        author: null(),
        description: null(),
        license: 0,
        init: None,
        check_uninstall: None,
        deinit: None,
        version: 0,
        status: null(),
        variables: null(),
        reserved: null(),
        flags: 0,
    },
]);
