//! The sandbox's my.cnf has our defaults, and the user's settings over them.

use super::SandboxError;
use super::paths::{Paths, write_private};
use crate::server::Flavor;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Defaults that can be replaced, each with its reason.
const DEFAULTS: [(&str, &str); 12] = [
    // It costs several percent of the throughput that is to be measured.
    ("performance_schema", "OFF"),
    // A restart is cold: that is what it is for.
    ("innodb_buffer_pool_dump_at_shutdown", "OFF"),
    ("innodb_buffer_pool_load_at_startup", "OFF"),
    // An open load needs as many connections as requests pile up; the published profiles used 2000.
    ("max_connections", "2000"),
    ("back_log", "2000"),
    ("table_open_cache", "4000"),
    // Every session prepares every statement.
    ("max_prepared_stmt_count", "1000000"),
    ("local_infile", "ON"),
    // One file for each table: space comes back, and the layout of one table can be repaired.
    ("innodb_file_per_table", "ON"),
    // Large enough that checkpoints do not dominate minutes of writes, small enough to create in no time.
    ("innodb_log_file_size", "128M"),
    // What Debian's packages and current MariaDB and MySQL choose, so that key lengths and sort costs are
    // those of the servers that people run.
    ("character_set_server", "utf8mb4"),
    ("collation_server", "utf8mb4_general_ci"),
];

/// Those that MariaDB alone has.
const OF_MARIADB: [(&str, &str); 3] = [
    // The published profiles were measured without it, and a cached answer measures nothing.
    ("query_cache_type", "0"),
    ("query_cache_size", "0"),
    // One warning for each connection that a per-request load closes would fill the log.
    ("log_warnings", "1"),
];

/// The redo log's size, and what MySQL calls it.
const LOG_SIZE: (&str, &str) = ("innodb_log_file_size", "innodb_redo_log_capacity");

pub(super) struct Config<'a> {
    pub paths: &'a Paths,
    pub socket: &'a Path,
    pub bind: Ipv4Addr,
    pub port: u16,
    pub flavor: Flavor,
    pub base_dir: Option<&'a Path>,
    pub plugin_dir: Option<&'a Path>,
    pub settings: &'a BTreeMap<String, String>,
}

impl Config<'_> {
    pub(super) fn write(&self) -> Result<(), SandboxError> {
        let path = self.paths.my_cnf();
        write_private(&path, self.text()?.as_bytes()).map_err(SandboxError::io("write", &path))
    }

    fn text(&self) -> Result<String, SandboxError> {
        let own: &[_] = if self.flavor == Flavor::MariaDb { &OF_MARIADB } else { &[] };
        let defaults = DEFAULTS.iter().chain(own);
        let mut lines: BTreeMap<String, String> =
            defaults.map(|(name, value)| ((*name).into(), (*value).into())).collect();
        if takes_direct_io(self.paths.data().parent().unwrap_or(&self.paths.dir)) {
            lines.insert("innodb_flush_method".into(), "O_DIRECT".into());
        }
        lines.extend(checked(self.settings)?);
        if let Some(depth) = lru_scan_depth(lines.get("innodb_buffer_pool_size").map(String::as_str)) {
            lines.entry("innodb_lru_scan_depth".into()).or_insert(depth.to_string());
        }
        if let Some(size) = lines.remove(LOG_SIZE.0) {
            let name = if self.flavor == Flavor::MariaDb { LOG_SIZE.0 } else { LOG_SIZE.1 };
            lines.entry(name.into()).or_insert(size);
        }
        // Temporary files may lie on another volume than those of the sandbox.
        let tmpdir = lines.remove("tmpdir");
        lines.extend(self.ours());
        lines.extend(tmpdir.map(|folder| ("tmpdir".to_owned(), folder)));
        let mut text =
            String::from("# Written by evenkeel at each start; changes are lost.\n[mysqld]\nskip_log_bin\n");
        for (name, value) in &lines {
            let _ = match value.is_empty() {
                true => writeln!(text, "{name}"),
                false => writeln!(text, "{name} = {}", quoted(value)),
            };
        }
        Ok(text)
    }

    fn ours(&self) -> Vec<(String, String)> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let mut ours = vec![
            ("bind_address".into(), self.bind.to_string()),
            // A name server must not be part of a connection's response time either.
            ("skip_name_resolve".into(), "ON".into()),
            ("port".into(), self.port.to_string()),
            ("socket".into(), path(self.socket)),
            ("datadir".into(), path(&self.paths.data())),
            ("tmpdir".into(), path(&self.paths.tmp())),
            ("pid_file".into(), path(&self.paths.pid_file())),
        ];
        // MySQL has its login by socket there.
        let plugins = self.plugin_dir.filter(|_| self.flavor == Flavor::MariaDb);
        ours.extend(plugins.map(|folder| ("plugin_dir".into(), path(folder))));
        if self.flavor == Flavor::MySql {
            // Its other protocol would listen to everybody.
            ours.push(("mysqlx".into(), "OFF".into()));
            // A folder of the system's server, without which it does not start.
            ours.push(("secure_file_priv".into(), path(&self.paths.tmp())));
        }
        ours.extend(self.base_dir.map(|base| ("basedir".into(), path(base))));
        ours
    }
}

/// The user's settings with their names in one spelling (`max_connections`), or what is wrong with them.
/// Whether the server knows them, it says itself.
pub(super) fn checked(settings: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, SandboxError> {
    let mut checked = BTreeMap::new();
    for (name, value) in settings {
        let fail = |reason: &str| SandboxError::Setting { name: name.clone(), reason: reason.into() };
        let plain = plain(name);
        if plain.is_empty() || !plain.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(fail("a name consists of letters, digits, '-' and '_'"));
        }
        match taken_for(&plain) {
            Some(own) if own == plain => return Err(fail("the sandbox chooses it")),
            Some(own) => {
                return Err(fail(&format!("the server reads it as {own}, and the sandbox sets that itself")));
            }
            None => {}
        }
        if value.contains(['\n', '\r', '\0', '"']) {
            return Err(fail("the value contains a line end or a quote"));
        }
        checked.insert(plain, value.trim().into());
    }
    Ok(checked)
}

pub(super) fn redo_log_bytes(settings: &BTreeMap<String, String>) -> u64 {
    let default = DEFAULTS.iter().find(|(name, _)| *name == LOG_SIZE.0).map_or("0", |(_, value)| value);
    let own = [LOG_SIZE.1, LOG_SIZE.0].into_iter().find_map(|name| settings.get(name));
    own.and_then(|text| bytes(text)).or_else(|| bytes(default)).unwrap_or(0)
}

/// Pages that the page cleaner keeps free, where the server's own default is too many for the pool.
///
/// The default of 1536 pages (24 MiB) empties a small pool all the time, used or not: of 16 MiB no more
/// than 2 held data. An eighth of the pool leaves it what it is meant to be; from 192 MiB on the default
/// is less than that and stays.
fn lru_scan_depth(buffer_pool_size: Option<&str>) -> Option<u64> {
    const DEFAULT: u64 = 1536;
    const LEAST: u64 = 100;
    const PAGE: u64 = 16 << 10;
    let depth = (bytes(buffer_pool_size.unwrap_or("128M"))? / PAGE / 8).max(LEAST);
    (depth < DEFAULT).then_some(depth)
}

/// A size as the server reads it: `64M`.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// In option files '#' begins a comment and a backslash an escape.
fn quoted(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:,=%+@".contains(&byte);
    match value.bytes().all(plain) {
        true => value.into(),
        false => format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

/// Whether files in a directory can be opened past the page cache; on tmpfs and some network file systems
/// they cannot, and the server would not start.
fn takes_direct_io(dir: &Path) -> bool {
    let probe = dir.join("direct-io.probe");
    let mut options = OpenOptions::new();
    let opened =
        options.create(true).truncate(true).write(true).mode(0o600).custom_flags(libc::O_DIRECT).open(&probe);
    let _ = std::fs::remove_file(&probe);
    opened.is_ok()
}

/// Settings that make the sandbox what it is, and those that let strangers or their code in. With names, whoever of this machine
/// comes by TCP is `localhost`, and that is root's.
const OURS: &str = "admin_address basedir bind_address bootstrap chroot daemonize datadir defaults_extra_file \
    defaults_file defaults_group_suffix init_file initialize_insecure log_error mysqlx \
    no_defaults pid_file plugin_dir plugin_load plugin_load_add port skip_grant_tables \
    skip_name_resolve skip_networking socket unix_socket user wsrep_provider";

/// What the server takes away in front of a name that it does not know.
const PREFIXES: [&str; 6] = ["autoset_", "disable_", "enable_", "loose_", "maximum_", "skip_"];

/// The name in the sandbox's spelling: small letters and `_`.
pub fn plain(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace('-', "_")
}

/// The setting of a sandbox's own that the server could take this plain name for.
///
/// The server takes `-` and `_` for the same, prefixes in front of any name (`loose_`, `skip_`), and in place of a name
/// its beginning where no other one begins so. A name that is refused is refused in each of these forms; where a form is
/// ambiguous the server would refuse it too.
pub fn taken_for(plain: &str) -> Option<&'static str> {
    let own = |name: &str| OURS.split(' ').find(|own| !name.is_empty() && own.starts_with(name));
    own(plain).or_else(|| {
        let mut rests = PREFIXES.into_iter().filter_map(|prefix| plain.strip_prefix(prefix));
        rests.find_map(taken_for)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    fn text(pairs: &[(&str, &str)]) -> Result<String, SandboxError> {
        text_for(Flavor::MariaDb, pairs)
    }

    fn text_for(flavor: Flavor, pairs: &[(&str, &str)]) -> Result<String, SandboxError> {
        let paths = Paths::new(Path::new("/h h"), "a").unwrap();
        let settings = settings(pairs);
        let socket = Path::new("/h h/s");
        let bind = Ipv4Addr::LOCALHOST;
        let plugin_dir = Some(Path::new("/plugins"));
        let settings = &settings;
        Config { paths: &paths, socket, bind, port: 4000, flavor, base_dir: None, plugin_dir, settings }
            .text()
    }

    #[test]
    fn a_setting_replaces_the_default_in_any_spelling() {
        let text =
            text(&[("Max-Connections", "7"), ("sql_mode", "A,B"), ("init_connect", "SET x=1 # y")]).unwrap();
        assert!(text.contains("\nmax_connections = 7\n") && !text.contains("2000\nmax_c"), "{text}");
        assert!(text.contains("\ninit_connect = \"SET x=1 # y\"\n"));
        assert!(text.contains("\nsocket = \"/h h/s\"\n") && text.contains("\nport = 4000\n"));
        assert_eq!(text.matches("max_connections").count(), 1);
    }

    #[test]
    fn each_line_of_servers_gets_the_settings_that_it_knows() {
        let own = [("query_cache_size", "0"), ("log_warnings", "1"), ("innodb_log_file_size", "48M")];
        let has = |text: &str, (name, value): (&str, &str)| text.contains(&format!("\n{name} = {value}\n"));
        let text = text_for(Flavor::MariaDb, &own[2..]).unwrap();
        assert!(own.iter().all(|pair| has(&text, *pair)) && !text.contains("mysqlx"), "{text}");
        assert!(has(&text, ("plugin_dir", "/plugins")), "{text}");
        let text = text_for(Flavor::MySql, &own[2..]).unwrap();
        assert!(!own.iter().any(|pair| has(&text, *pair)) && !text.contains("plugin_dir"), "{text}");
        assert!(has(&text, ("innodb_redo_log_capacity", "48M")) && has(&text, ("mysqlx", "OFF")), "{text}");
    }

    #[test]
    fn settings_that_are_the_sandboxs_own_are_refused() {
        for (name, value) in [
            ("PID-FILE", "/x"),
            ("loose_skip_grant_tables", ""),
            ("data-dir/..", "x"),
            ("x", "1\ny=2"),
            ("", "1"),
        ] {
            let error = text(&[(name, value)]).unwrap_err();
            assert!(matches!(error, SandboxError::Setting { .. }), "{name}: {error}");
        }
    }

    #[test]
    fn a_small_pool_is_not_emptied_by_the_page_cleaner() {
        for (size, depth) in [
            (None, Some(1024)),
            (Some("16M"), Some(128)),
            (Some("6291456"), Some(100)),
            (Some("192M"), None),
            (Some("x"), None),
        ] {
            assert_eq!(lru_scan_depth(size), depth, "{size:?}");
        }
        let own = text(&[("innodb_buffer_pool_size", "16M"), ("innodb-lru-scan-depth", "200")]).unwrap();
        assert!(own.contains("innodb_lru_scan_depth = 200\n"), "{own}");
    }

    #[test]
    fn what_is_the_sandboxs_own_is_known_in_every_form_that_the_server_reads() {
        for (own, forms) in [
            ("port", "port"),
            ("skip_name_resolve", "Skip-Name-Resolve skip_skip_name_resolve disable_skip_name_resolve"),
            ("skip_name_resolve", "loose_maximum_skip_name_res"),
            ("skip_grant_tables", "loose_skip_grant_tables loose-skip_grant-tables LOOSE_LOOSE_SKIP_GRANT"),
            ("skip_grant_tables", "skip_grant enable_skip_grant_tables"),
            ("bind_address", "loose_bind_address bind"),
            ("datadir", "autoset_datadir"),
            ("user", "loose_user"),
            ("init_file", "loose_init_file init_f"),
            ("plugin_load_add", "loose_plugin_load_add"),
            ("plugin_load", "plugin_l"),
            ("unix_socket", "skip_unix_socket"),
            ("skip_networking", "skip_net"),
        ] {
            for form in forms.split(' ') {
                assert_eq!(taken_for(&plain(form)), Some(own), "{form}");
            }
        }
    }

    #[test]
    fn what_the_server_takes_for_nothing_of_these_is_the_users() {
        let names = "max_connections loose_innodb_buffer_pool_size skip_slave_start skip_log_bin init_connect extra_port \
                     plugin_maturity port_open_timeout tmp_table_size user_variables secure_file_priv disable_log_bin";
        for name in names.split(' ') {
            assert_eq!(taken_for(name), None, "{name}");
        }
    }
}
