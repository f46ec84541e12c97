//! SET GLOBAL and SHOW STATUS.

use crate::abi::{
    self, NumberVariable, SHOW_BYTES, Shared, StatusVariable, TextVariable, VARIABLE_LONGLONG, VARIABLE_TEXT,
    VARIABLE_UNSIGNED, Value,
};
use crate::installed::guarded;
use crate::options::{Mode, Options, Shown};
use crate::server::Server;
use crate::session::lock;
use evenkeel_core::gate::Rules;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{addr_of_mut, null};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const FAILED: &str = "failed, not limiting: see the server's error log, then uninstall the plugin";

/// Values of variables, which the server sets from its options before the plugin begins, and after that by the functions here.
static mut MODE: *const c_char = null();
static mut ADMINISTRATORS: *const c_char = null();
static mut MAX_WAIT: u64 = 0;
static mut ASIDE_MAX: u64 = 64;
static mut REFUSAL: u64 = 1040;
static mut LONG_LIMIT: u64 = 0;
static mut LANES: *const c_char = null();
static mut RUNAWAY: *const c_char = null();
static mut RUNAWAY_MS: u64 = 0;

/// ER_WRONG_VALUE_FOR_VAR.
const WRONG_VALUE: u16 = 1231;

/// Takes in what the server's options say.
/// Errors: in words, what is none of its values.
pub fn read(options: &Options, server: &Server) -> Result<(), String> {
    // SAFETY: the server has set them, and changes them only by `update`.
    unsafe {
        let text = |value, otherwise: &str| of(value).unwrap_or_else(|| otherwise.to_owned());
        options.set_mode(mode(&text(MODE, "watch"))?);
        options.set_rules(rules(&text(LANES, ""), server)?);
        options.kills.store(kills(&text(RUNAWAY, "warn"), server)?, Relaxed);
        options.runaway_ms.store(RUNAWAY_MS, Relaxed);
        if let Some(names) = of(ADMINISTRATORS) {
            options.set_administrators(&names);
        }
        options.max_wait_ms.store(MAX_WAIT, Relaxed);
        options.aside_max.store(ASIDE_MAX, Relaxed);
        options.refusal.store(REFUSAL as u32, Relaxed);
        options.long_limit.store(LONG_LIMIT, Relaxed);
        Ok(())
    }
}

fn mode(text: &str) -> Result<Mode, String> {
    let wrong =
        || format!("evenkeel_mode is \"{text}\", and must be off, watch, auto or a number from 1 to 100000");
    Mode::parse(text).ok_or_else(wrong)
}

fn rules(text: &str, server: &Server) -> Result<Rules, String> {
    let rules: Rules = text.parse().map_err(|error| format!("evenkeel_lanes: {error}"))?;
    if rules.name_databases() && !server.shows_databases() {
        return Err(
            "evenkeel_lanes: MySQL does not tell plugins the default database; use user= or digest=".into()
        );
    }
    Ok(rules)
}

/// Whether runaways are killed.
fn kills(text: &str, server: &Server) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "warn" => Ok(false),
        "kill" if server.has_sql() => Ok(true),
        "kill" => Err(
            "evenkeel_runaway: this server gives plugins no way to end a statement; use max_execution_time"
                .into(),
        ),
        _ => Err(format!("evenkeel_runaway: \"{text}\" is neither warn nor kill")),
    }
}

/// # Safety
///
/// A text that ends with a zero, or null.
unsafe fn of(text: *const c_char) -> Option<String> {
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// What SET GLOBAL was given, as text that outlives the call: an administrator's act, a few bytes each time.
///
/// # Safety
///
/// `value` and `save` are the server's.
unsafe fn given<T>(
    value: *mut Value,
    save: *mut c_void,
    fits: impl Fn(&str, &Server) -> Result<T, String>,
) -> c_int {
    let mut buffer = [0; SHOW_BYTES];
    let mut length = SHOW_BYTES as c_int;
    let text = unsafe { ((*value).text)(value, buffer.as_mut_ptr(), &raw mut length) };
    if text.is_null() {
        return 1;
    }
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length.max(0) as usize) };
    let text = String::from_utf8_lossy(bytes).into_owned();
    let wrong = guarded(None, |installed| {
        let server = &installed.sessions.server;
        fits(&text, server)
            .err()
            .map(|why| server.tell_client(WRONG_VALUE, &CString::new(why).unwrap_or_default()))
    });
    match CString::new(text) {
        Ok(kept) if wrong.is_none() => {
            unsafe { *save.cast::<*const c_char>() = kept.into_raw() };
            0
        }
        // Where nothing was told the server says that the value is wrong.
        _ => 1,
    }
}

extern "C" fn check_mode(_: *mut c_void, _: *mut c_void, save: *mut c_void, value: *mut Value) -> c_int {
    unsafe { given(value, save, |text, _| mode(text)) }
}

extern "C" fn check_names(_: *mut c_void, _: *mut c_void, save: *mut c_void, value: *mut Value) -> c_int {
    unsafe { given(value, save, |_, _| Ok(())) }
}

extern "C" fn check_lanes(_: *mut c_void, _: *mut c_void, save: *mut c_void, value: *mut Value) -> c_int {
    unsafe { given(value, save, rules) }
}

extern "C" fn check_runaway(_: *mut c_void, _: *mut c_void, save: *mut c_void, value: *mut Value) -> c_int {
    unsafe { given(value, save, kills) }
}

/// What was set has been checked.
fn read_again() {
    guarded((), |installed| drop(read(&installed.sessions.options, &installed.sessions.server)));
}

extern "C" fn update_text(_: *mut c_void, _: *mut c_void, place: *mut c_void, save: *const c_void) {
    unsafe { *place.cast::<*const c_char>() = *save.cast::<*const c_char>() };
    read_again();
}

extern "C" fn update_number(_: *mut c_void, _: *mut c_void, place: *mut c_void, save: *const c_void) {
    unsafe { *place.cast::<u64>() = *save.cast::<u64>() };
    read_again();
}

const TEXT: TextVariable = TextVariable {
    flags: VARIABLE_TEXT,
    name: null(),
    comment: null(),
    check: Some(check_names),
    update: Some(update_text),
    value: std::ptr::null_mut(),
    default: null(),
};

static MODE_VARIABLE: Shared<TextVariable> = Shared::new(TextVariable {
    name: c"mode".as_ptr(),
    comment:
        c"off, watch (count only), auto (find the limit), or a fixed limit of concurrent short transactions"
            .as_ptr(),
    check: Some(check_mode),
    value: addr_of_mut!(MODE),
    default: c"watch".as_ptr(),
    ..TEXT
});
static ADMINISTRATORS_VARIABLE: Shared<TextVariable> = Shared::new(TextVariable {
    name: c"administrators".as_ptr(),
    comment: c"comma-separated names of users who never wait (the host does not matter)".as_ptr(),
    value: addr_of_mut!(ADMINISTRATORS),
    default: c"root,mysql,mariadb.sys,mysql.session".as_ptr(),
    ..TEXT
});
static LANES_VARIABLE: Shared<TextVariable> = Shared::new(TextVariable {
    name: c"lanes".as_ptr(),
    comment:
        c"lanes by rules, the first that fits: user=NAME long, database=NAME long, digest=16 HEX DIGITS short"
            .as_ptr(),
    check: Some(check_lanes),
    value: addr_of_mut!(LANES),
    default: c"".as_ptr(),
    ..TEXT
});
static RUNAWAY_VARIABLE: Shared<TextVariable> = Shared::new(TextVariable {
    name: c"runaway".as_ptr(),
    comment: c"what a statement gets that runs for longer than evenkeel_runaway_ms: warn (a line in the error log) or kill (KILL QUERY)"
        .as_ptr(),
    check: Some(check_runaway),
    value: addr_of_mut!(RUNAWAY),
    default: c"warn".as_ptr(),
    ..TEXT
});

const NUMBER: NumberVariable = NumberVariable {
    flags: VARIABLE_LONGLONG | VARIABLE_UNSIGNED,
    name: null(),
    comment: null(),
    check: None,
    update: Some(update_number),
    value: std::ptr::null_mut(),
    default: 0,
    least: 0,
    most: 86_400_000,
    block: 0,
};

static MAX_WAIT_VARIABLE: Shared<NumberVariable> = Shared::new(NumberVariable {
    name: c"max_wait_ms".as_ptr(),
    comment: c"longest wait for a place, in milliseconds, after which a statement is refused; 0: none"
        .as_ptr(),
    value: addr_of_mut!(MAX_WAIT),
    ..NUMBER
});
static ASIDE_VARIABLE: Shared<NumberVariable> = Shared::new(NumberVariable {
    name: c"aside_max".as_ptr(),
    comment: c"how many statements that wait for a lock or sleep may be left out of the limits".as_ptr(),
    value: addr_of_mut!(ASIDE_MAX),
    default: 64,
    most: 100_000,
    ..NUMBER
});
static REFUSAL_VARIABLE: Shared<NumberVariable> = Shared::new(NumberVariable {
    name: c"refusal".as_ptr(),
    comment: c"error code of a statement that is refused".as_ptr(),
    value: addr_of_mut!(REFUSAL),
    default: 1040,
    least: 1000,
    most: 9999,
    ..NUMBER
});

static LONG_VARIABLE: Shared<NumberVariable> = Shared::new(NumberVariable {
    name: c"long_limit".as_ptr(),
    comment: c"the highest number of long transactions at a time; 0: found by the plugin".as_ptr(),
    value: addr_of_mut!(LONG_LIMIT),
    most: 100_000,
    ..NUMBER
});
static RUNAWAY_MS_VARIABLE: Shared<NumberVariable> = Shared::new(NumberVariable {
    name: c"runaway_ms".as_ptr(),
    comment: c"a statement that runs for more milliseconds than this is a runaway; 0: never".as_ptr(),
    value: addr_of_mut!(RUNAWAY_MS),
    ..NUMBER
});

pub static ALL: Shared<[*const c_void; 10]> = Shared::new([
    MODE_VARIABLE.pointer(),
    ADMINISTRATORS_VARIABLE.pointer(),
    MAX_WAIT_VARIABLE.pointer(),
    ASIDE_VARIABLE.pointer(),
    REFUSAL_VARIABLE.pointer(),
    LONG_VARIABLE.pointer(),
    LANES_VARIABLE.pointer(),
    RUNAWAY_VARIABLE.pointer(),
    RUNAWAY_MS_VARIABLE.pointer(),
    null(),
]);

/// Puts a figure where SHOW STATUS reads it: into the bytes that the server lends.
///
/// # Safety
///
/// `variable` and `room` are the server's.
unsafe fn put_number(
    variable: *mut StatusVariable,
    room: *mut c_void,
    number: impl Fn(&Shown) -> &AtomicU64,
) {
    let value = guarded(0, |installed| number(&installed.sessions.options.shown).load(Relaxed));
    unsafe {
        room.cast::<u64>().write_unaligned(value);
        (*variable).kind = abi::SHOW_ULONGLONG;
        (*variable).value = room;
    }
}

/// The same for a text.
///
/// # Safety
///
/// `variable` and `room` are the server's.
unsafe fn put_text(variable: *mut StatusVariable, room: *mut c_void, text: impl Fn(&Shown) -> String) {
    let mut text = guarded(String::new(), |installed| text(&installed.sessions.options.shown)).into_bytes();
    text.truncate(SHOW_BYTES - 1);
    text.push(0);
    unsafe {
        room.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
        (*variable).kind = abi::SHOW_CHAR;
        (*variable).value = room;
    }
}

fn state() -> String {
    guarded(FAILED.to_owned(), |installed| match installed.sessions.has_failed() {
        true => FAILED.to_owned(),
        false => lock(&installed.sessions.options.shown.state).clone(),
    })
}

macro_rules! status {
    ($count:literal; $($name:literal $put:ident $get:expr;)+) => {
        /// Status variables.
        pub static STATUS: Shared<[StatusVariable; $count + 1]> = Shared::new([
            $(StatusVariable { name: concat!($name, "\0").as_ptr().cast(), value: {
                extern "C" fn show(_: *mut c_void, variable: *mut StatusVariable, room: *mut c_void) -> c_int {
                    unsafe { $put(variable, room, $get) };
                    0
                }
                show as *const c_void
            }, kind: abi::SHOW_FUNC, scope: abi::SCOPE_GLOBAL },)+
            StatusVariable { name: null(), value: null(), kind: 0, scope: 0 },
        ]);
    };
}

status! { 21;
    "evenkeel_state" put_text |_| state();
    "evenkeel_short_limit" put_number |shown| &shown.limit[0];
    "evenkeel_short_running" put_number |shown| &shown.running[0];
    "evenkeel_short_waiting" put_number |shown| &shown.waiting[0];
    "evenkeel_short_reason" put_text |shown| lock(&shown.reasons[0]).clone();
    "evenkeel_long_limit" put_number |shown| &shown.limit[1];
    "evenkeel_long_running" put_number |shown| &shown.running[1];
    "evenkeel_long_waiting" put_number |shown| &shown.waiting[1];
    "evenkeel_long_reason" put_text |shown| lock(&shown.reasons[1]).clone();
    "evenkeel_long_from_ms" put_number |shown| &shown.long_from_ms;
    "evenkeel_aside" put_number |shown| &shown.aside;
    "evenkeel_completed" put_number |shown| &shown.completed;
    "evenkeel_rolled_back" put_number |shown| &shown.rolled_back;
    "evenkeel_would_wait" put_number |shown| &shown.would_wait;
    "evenkeel_waits" put_number |shown| &shown.waits;
    "evenkeel_waited_ms" put_number |shown| &shown.waited_ms;
    "evenkeel_refused" put_number |shown| &shown.refused;
    "evenkeel_runaways" put_number |shown| &shown.runaways;
    "evenkeel_liveness" put_number |shown| &shown.liveness;
    "evenkeel_oldest_ms" put_number |shown| &shown.oldest_ms;
    "evenkeel_oldest_digest" put_text |shown| lock(&shown.oldest).clone();
}
