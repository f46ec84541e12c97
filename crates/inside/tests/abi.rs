//! The layouts of `abi` are those of MariaDB's headers, which the package libmariadbd-dev has.

use evenkeel_inside::abi::{
    Connection, General, MariaAudit, MariaPlugin, NumberVariable, StatusVariable, TextVariable, Value,
};
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

#[path = "../../../tests/left_out.rs"]
mod left_out;

const INCLUDE: &str = "/usr/include/mariadb/server";

/// Each place as C sees it, and as we have it.
fn places() -> Vec<(&'static str, usize)> {
    vec![
        ("offsetof(struct st_maria_plugin, info)", offset_of!(MariaPlugin, info)),
        ("offsetof(struct st_maria_plugin, license)", offset_of!(MariaPlugin, license)),
        ("offsetof(struct st_maria_plugin, init)", offset_of!(MariaPlugin, init)),
        ("offsetof(struct st_maria_plugin, deinit)", offset_of!(MariaPlugin, deinit)),
        ("offsetof(struct st_maria_plugin, version)", offset_of!(MariaPlugin, version)),
        ("offsetof(struct st_maria_plugin, status_vars)", offset_of!(MariaPlugin, status)),
        ("offsetof(struct st_maria_plugin, system_vars)", offset_of!(MariaPlugin, variables)),
        ("offsetof(struct st_maria_plugin, version_info)", offset_of!(MariaPlugin, version_text)),
        ("offsetof(struct st_maria_plugin, maturity)", offset_of!(MariaPlugin, maturity)),
        ("sizeof(struct st_maria_plugin)", size_of::<MariaPlugin>()),
        ("offsetof(struct st_mysql_audit, release_thd)", offset_of!(MariaAudit, release)),
        ("offsetof(struct st_mysql_audit, event_notify)", offset_of!(MariaAudit, notify)),
        ("offsetof(struct st_mysql_audit, class_mask)", offset_of!(MariaAudit, classes)),
        ("sizeof(struct st_mysql_audit)", size_of::<MariaAudit>()),
        ("offsetof(struct mysql_event_general, general_error_code)", offset_of!(General, error)),
        ("offsetof(struct mysql_event_general, general_thread_id)", offset_of!(General, thread)),
        ("offsetof(struct mysql_event_general, general_user)", offset_of!(General, user)),
        ("offsetof(struct mysql_event_general, general_user_length)", offset_of!(General, user_length)),
        ("offsetof(struct mysql_event_general, general_query)", offset_of!(General, query)),
        ("offsetof(struct mysql_event_general, general_query_length)", offset_of!(General, query_length)),
        ("offsetof(struct mysql_event_general, database)", offset_of!(General, database)),
        ("sizeof(struct mysql_event_general)", size_of::<General>()),
        ("offsetof(struct mysql_event_connection, thread_id)", offset_of!(Connection, thread)),
        ("offsetof(struct st_mysql_show_var, value)", offset_of!(StatusVariable, value)),
        ("offsetof(struct st_mysql_show_var, type)", offset_of!(StatusVariable, kind)),
        ("sizeof(struct st_mysql_show_var)", size_of::<StatusVariable>()),
        ("offsetof(struct st_mysql_value, val_str)", offset_of!(Value, text)),
        ("offsetof(struct st_mysql_value, val_int)", offset_of!(Value, int)),
        ("offsetof(text_variable, value)", offset_of!(TextVariable, value)),
        ("offsetof(text_variable, def_val)", offset_of!(TextVariable, default)),
        ("offsetof(number_variable, value)", offset_of!(NumberVariable, value)),
        ("offsetof(number_variable, min_val)", offset_of!(NumberVariable, least)),
        ("sizeof(number_variable)", size_of::<NumberVariable>()),
    ]
}

#[test]
fn the_layouts_are_those_of_the_servers_headers() {
    if !Path::new(INCLUDE).join("mysql/plugin_audit.h").exists() {
        return left_out::left_out("libmariadbd-dev is missing");
    }
    let folder = std::env::temp_dir().join(format!("evenkeel-abi-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let asserts = places()
        .iter()
        .map(|(place, ours)| format!("_Static_assert({place} == {ours}, \"{place}\");\n"))
        .collect::<String>();
    let source = format!(
        "#include <stddef.h>\n#include <mysql/plugin_audit.h>\n\
         DECLARE_MYSQL_SYSVAR_BASIC(text, char *);\ntypedef __typeof__(mysql_sysvar_text) text_variable;\n\
         DECLARE_MYSQL_SYSVAR_SIMPLE(number, unsigned long long);\ntypedef __typeof__(mysql_sysvar_number) number_variable;\n{asserts}"
    );
    let file = folder.join("layouts.c");
    std::fs::write(&file, source).expect("a file");
    let compiled = Command::new("cc").args(["-fsyntax-only", "-I", INCLUDE]).arg(&file).output().expect("cc");
    let _ = std::fs::remove_dir_all(&folder);
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
}
