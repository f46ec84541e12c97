//! Which server it is, so that a replay does not write to the one that was recorded.

use evenkeel_site::server::{Control, TargetError};
use serde_json::Value;
use std::collections::BTreeMap;

/// Names by which the three servers tell themselves from others, with their values.
const SQL: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
                   ('hostname', 'port', 'server_id', 'server_uuid', 'server_uid', 'version')";

pub fn identity(control: &mut Control) -> Result<BTreeMap<String, String>, TargetError> {
    let rows = control.query(SQL)?.rows.into_iter();
    Ok(rows
        .filter_map(|row| row.into_iter().flatten().collect::<Vec<_>>().try_into().ok())
        .map(|[name, value]: [String; 2]| (name, value))
        .collect())
}

/// Whether a recording's `server` is this one: by what it says of itself, else by host and port.
pub fn is_same(server: &Value, own: &BTreeMap<String, String>) -> bool {
    let get = |name: &str| own.get(name).map(String::as_str).filter(|value| !value.is_empty());
    for name in ["server_uuid", "server_uid"] {
        if let (Some(recorded), Some(own)) = (server[name].as_str(), get(name)) {
            return recorded == own;
        }
    }
    let host = server["hostname"].as_str().or(server["host"].as_str());
    host.is_some()
        && host == get("hostname")
        && server["port"].as_u64() == get("port").and_then(|port| port.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_server_is_known_by_what_it_says_or_by_where_it_is() {
        let own = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let here = own(&[("hostname", "db1"), ("port", "3306"), ("server_uuid", "a-b")]);
        assert!(is_same(&json!({"server_uuid": "a-b", "host": "10.0.0.1", "port": 1}), &here));
        assert!(!is_same(&json!({"server_uuid": "c-d", "hostname": "db1", "port": 3306}), &here));
        assert!(is_same(&json!({"hostname": "db1", "port": 3306}), &here));
        assert!(!is_same(&json!({"host": "127.0.0.1", "port": 3306}), &here), "that may be any machine");
        assert!(!is_same(&json!({"hostname": "db1", "port": 3307}), &here));
        assert!(!is_same(&json!({}), &own(&[])));
    }
}
