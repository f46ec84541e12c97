//! Settings have names as the server reads them, and a sandbox keeps some of them for itself.
//!
//! The server takes `-` and `_` for the same, prefixes in front of any name (`loose_`, `skip_`), and in place of a name
//! its beginning where no other one begins so. A name that is refused is refused in each of these forms; where a form is
//! ambiguous the server would refuse it too.

/// Settings that make the sandbox what it is, and those that let strangers or their code in.
const OURS: [&str; 28] = [
    "admin_address",
    "basedir",
    "bind_address",
    "bootstrap",
    "chroot",
    "daemonize",
    "datadir",
    "defaults_extra_file",
    "defaults_file",
    "defaults_group_suffix",
    "init_file",
    "initialize_insecure",
    "log_error",
    "mysqlx",
    "no_defaults",
    "pid_file",
    "plugin_dir",
    "plugin_load",
    "plugin_load_add",
    "port",
    "skip_grant_tables",
    // With names, whoever of this machine comes by TCP is `localhost`, and that is root's.
    "skip_name_resolve",
    "skip_networking",
    "socket",
    "tmpdir",
    "unix_socket",
    "user",
    "wsrep_provider",
];

/// What the server takes away in front of a name that it does not know.
const PREFIXES: [&str; 6] = ["autoset_", "disable_", "enable_", "loose_", "maximum_", "skip_"];

/// The name in the sandbox's spelling: small letters and `_`.
pub fn plain(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace('-', "_")
}

/// The setting of a sandbox's own that the server could take this plain name for.
pub fn taken_for(plain: &str) -> Option<&'static str> {
    let own = |name: &str| OURS.into_iter().find(|own| !name.is_empty() && own.starts_with(name));
    own(plain).or_else(|| {
        let mut rests = PREFIXES.into_iter().filter_map(|prefix| plain.strip_prefix(prefix));
        rests.find_map(taken_for)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_sandboxs_own_is_known_in_every_form_that_the_server_reads() {
        for (form, own) in [
            ("port", "port"),
            ("Skip-Name-Resolve", "skip_name_resolve"),
            ("loose_skip_grant_tables", "skip_grant_tables"),
            ("loose-skip_grant-tables", "skip_grant_tables"),
            ("LOOSE_LOOSE_SKIP_GRANT", "skip_grant_tables"),
            ("skip_grant", "skip_grant_tables"),
            ("enable_skip_grant_tables", "skip_grant_tables"),
            ("skip_skip_name_resolve", "skip_name_resolve"),
            ("disable_skip_name_resolve", "skip_name_resolve"),
            ("loose_maximum_skip_name_res", "skip_name_resolve"),
            ("loose_bind_address", "bind_address"),
            ("bind", "bind_address"),
            ("autoset_datadir", "datadir"),
            ("loose_user", "user"),
            ("loose_init_file", "init_file"),
            ("init_f", "init_file"),
            ("loose_plugin_load_add", "plugin_load_add"),
            ("plugin_l", "plugin_load"),
            ("skip_unix_socket", "unix_socket"),
            ("skip_net", "skip_networking"),
        ] {
            assert_eq!(taken_for(&plain(form)), Some(own), "{form}");
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
