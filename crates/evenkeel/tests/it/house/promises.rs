//! What the head of each crate promises, as far as text shows it.

use super::source::{Source, of_crate};

/// A crate, what stands in none of its code, and what it promises by that.
struct Promise {
    of: &'static str,
    never: &'static [&'static str],
    because: &'static str,
    /// Whether a word counts in any case and within others, as `Mysql` in `is_mysql`.
    any_case: bool,
}

const PROMISES: [Promise; 6] = [
    Promise {
        of: "core",
        never: &[
            "std::fs",
            "std::net",
            "std::thread",
            "std::process",
            "std::env",
            "serde",
            "Instant",
            "SystemTime",
            "async ",
        ],
        because: "core is numbers in, numbers out",
        any_case: false,
    },
    Promise {
        of: "wire",
        never: &[
            "TcpStream",
            "TcpListener",
            "UnixStream",
            "UnixListener",
            "UdpSocket",
            "evenkeel_os",
            "libc::",
            "std::fs",
            "std::thread",
            "Instant",
            "set_nonblocking",
        ],
        because: "wire owns no socket, no file and no clock",
        any_case: false,
    },
    Promise {
        of: "sense",
        never: &[
            "fs::write",
            "fs::remove",
            "fs::create",
            "fs::rename",
            "fs::copy",
            "fs::hard_link",
            "fs::set_permissions",
            "File::create",
            "OpenOptions",
            "create_dir",
            "remove_file",
            "remove_dir",
            "symlink(",
            "set_len",
            "write_all",
            "kill",
            "setpriority",
            "sched_set",
            "setrlimit",
            "SET GLOBAL",
            "FLUSH ",
            "evenkeel_os::replace",
        ],
        because: "sense reads and changes nothing",
        any_case: false,
    },
    Promise {
        of: "os",
        never: &["mysql", "mariadb", "sql", "innodb", "tpcw", "evenkeel_wire"],
        because: "os knows nothing of databases",
        any_case: true,
    },
    Promise {
        of: "guard",
        never: &[
            "evenkeel_share",
            "evenkeel_lab",
            "evenkeel_site",
            "evenkeel_bus",
            "core::share",
            "nbd",
            "fuser::",
        ],
        because: "guard knows neither shared storage nor the generator",
        any_case: true,
    },
    Promise {
        of: "share",
        never: &[
            "evenkeel_guard",
            "evenkeel_lab",
            "evenkeel_site",
            "core::control",
            "mysql",
            "mariadb",
            "transaction",
        ],
        because: "share knows neither the guard nor databases",
        any_case: true,
    },
];

impl Promise {
    /// Where it is broken.
    fn broken(&self, source: &Source) -> Vec<String> {
        let mut found = Vec::new();
        for (number, line) in source.code() {
            let seen = if self.any_case { line.to_lowercase() } else { line };
            for word in self.never.iter().filter(|word| seen.contains(**word)) {
                found.push(format!("{}:{number}: {word}; {}", source.path.display(), self.because));
            }
        }
        found
    }
}

#[test]
fn crates_keep_what_their_heads_promise() {
    for promise in &PROMISES {
        let sources = of_crate(promise.of);
        assert!(sources.len() > 5, "only {} sources of {} found", sources.len(), promise.of);
        let broken: Vec<String> = sources.iter().flat_map(|source| promise.broken(source)).collect();
        assert_eq!(broken, [""; 0]);
    }
}

#[test]
fn a_broken_promise_is_seen_in_code_and_in_text_and_not_in_tests() {
    let text = "// mysql\nfn one() {}\n#[cfg(test)]\nmod tests {\n    fn mysql() {}\n}\nfn two() {\n    \"MySQL\";\n}\n";
    let source = Source { path: "a.rs".into(), text: text.to_owned() };
    let os = PROMISES.iter().find(|promise| promise.of == "os").expect("a promise of os");
    let broken = os.broken(&source);
    assert!(broken.len() == 2 && broken.iter().all(|text| text.starts_with("a.rs:8: ")), "{broken:?}");
}
