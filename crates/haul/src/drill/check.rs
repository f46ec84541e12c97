//! What makes a recovery or a failover unsafe, each risk with its fix.

use super::rows::OWN;
use crate::HaulError;
use evenkeel_site::server::{Cell, Control, Flavor, TargetError, has_privilege, quoted};
use serde::Serialize;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Things of a kind that are named.
const NAMED: usize = 20;

/// Something that makes a recovery or a failover unsafe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Risk {
    /// What is found, and what it leads to.
    pub risk: String,
    /// A statement, or a setting for the server's option file.
    pub fix: String,
}

fn risk(risk: impl Into<String>, fix: impl Into<String>) -> Risk {
    Risk { risk: risk.into(), fix: fix.into() }
}

/// Looks at a server; changes nothing.
/// Errors: it does not answer.
pub fn check(control: &mut Control, backup_every_s: u64) -> Result<Vec<Risk>, HaulError> {
    let variables = Variables(control.variables()?);
    let mut found = variables.of_logs(backup_every_s);
    found.extend(of_sight(control)?);
    found.extend(variables.of_semi_sync());
    found.extend(of_packets(control, &variables)?);
    found.extend(of_tables(control)?);
    found.extend(of_accounts(control)?);
    Ok(found)
}

struct Variables(BTreeMap<String, String>);

impl Variables {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.get(name).is_some_and(|found| found.eq_ignore_ascii_case(value))
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.parse().ok()
    }

    fn of_logs(&self, backup_every_s: u64) -> Vec<Risk> {
        if self.is("log_bin", "OFF") {
            let what = "there is no binary log: what is written after a backup is lost with the server";
            return vec![risk(what, "log_bin = /another/volume/bin (option file, restart)")];
        }
        let mut found = Vec::new();
        for (name, safe, leads_to) in [
            ("sync_binlog", "1", "a power cut loses commits that a replica or a recovery needs"),
            ("innodb_flush_log_at_trx_commit", "1", "a power cut loses the last second of commits"),
            ("gtid_strict_mode", "ON", "a replica that was written to goes on replicating"),
        ] {
            if let Some(value) = self.get(name).filter(|value| !value.eq_ignore_ascii_case(safe)) {
                let what = format!("{name} = {value}: {leads_to}");
                found.push(risk(what, format!("SET GLOBAL {name} = {safe}")));
            }
        }
        found.extend(self.of_volume());
        found.extend(self.of_expiry(backup_every_s));
        found
    }

    /// Logs that go with the data.
    fn of_volume(&self) -> Option<Risk> {
        let (data, logs) = (self.get("datadir")?, self.get("log_bin_basename")?);
        let is_inside = Path::new(logs).starts_with(data);
        // Where both can be seen from here.
        let device = |path: &Path| path.metadata().ok().map(|found| found.dev());
        let same = device(Path::new(data))
            .is_some_and(|data| Path::new(logs).parent().and_then(device) == Some(data));
        let what = match is_inside {
            true => format!("the binary logs are in the data directory ({data}): a lost volume takes both"),
            false => {
                format!("the binary logs ({logs}) are on the volume of the data: a lost volume takes both")
            }
        };
        (is_inside || same).then(|| risk(what, "log_bin = /another/volume/bin (option file, restart)"))
    }

    /// Logs that are removed before the next backup, each kept for a day more than that takes.
    fn of_expiry(&self, backup_every_s: u64) -> Option<Risk> {
        let seconds = self.number("binlog_expire_logs_seconds");
        let days = self.number("expire_logs_days").map(|days| days * 86_400.0);
        let kept = seconds.into_iter().chain(days).fold(0.0, f64::max);
        let wanted = backup_every_s + 86_400;
        let is_short = kept > 0.0 && kept < wanted as f64;
        let hours = |seconds: f64| (seconds / 3_600.0).round();
        let what = format!(
            "binary logs are kept for {} h; backups are {} h apart, so keep them for at least {} h",
            hours(kept),
            hours(backup_every_s as f64),
            hours(wanted as f64)
        );
        is_short.then(|| risk(what, format!("SET GLOBAL binlog_expire_logs_seconds = {wanted}")))
    }

    fn of_semi_sync(&self) -> Option<Risk> {
        let names = ["rpl_semi_sync_master", "rpl_semi_sync_source"];
        let name = names.into_iter().find(|name| self.is(&format!("{name}_enabled"), "ON"))?;
        let point = format!("{name}_wait_point");
        let what = format!("{point} = AFTER_COMMIT: clients may see a commit that a failover loses");
        self.is(&point, "AFTER_COMMIT").then(|| risk(what, format!("SET GLOBAL {point} = AFTER_SYNC")))
    }
}

/// Newest events of the logs that are looked at.
const EVENTS: usize = 100_000;

/// Events that `mariadb-binlog | mariadb` cannot apply: in base64 they are longer than a packet may be.
fn of_packets(control: &mut Control, variables: &Variables) -> Result<Option<Risk>, HaulError> {
    let Some(packet) = variables.number("max_allowed_packet") else { return Ok(None) };
    let Ok(largest) = largest_event(control) else {
        let what = "this account may not read the binary logs: their largest event is not known";
        let right = match control.version().flavor {
            Flavor::MariaDb => "BINLOG MONITOR",
            Flavor::MySql => "REPLICATION CLIENT, REPLICATION SLAVE",
        };
        return Ok(Some(risk(what, format!("GRANT {right} ON *.* to it, or check as an administrator"))));
    };
    let needed = largest as f64 * 4.0 / 3.0;
    Ok((needed > packet).then(|| {
        let what = format!(
            "an event of {largest} bytes, and max_allowed_packet = {packet}: mariadb-binlog | mariadb cannot apply it"
        );
        let enough = (needed as u64).next_multiple_of(1 << 20);
        risk(what, format!("SET GLOBAL max_allowed_packet = {enough}, and --max-allowed-packet for the client"))
    }))
}

/// In bytes, among the newest.
fn largest_event(control: &mut Control) -> Result<u64, TargetError> {
    let (mut largest, mut left) = (0, EVENTS);
    let number = |cell: &Cell| std::str::from_utf8(cell.as_deref()?).ok()?.parse::<u64>().ok();
    for log in control.query("SHOW BINARY LOGS")?.rows.iter().rev().filter_map(|row| row.first()?.as_deref())
    {
        if left > 0 {
            let sql = format!("SHOW BINLOG EVENTS IN '{log}' LIMIT {left}");
            left -= control.for_each_row(&sql, &mut |row| {
                let size = number(&row[4]).zip(number(&row[1])).map(|(end, at)| end.saturating_sub(at));
                largest = largest.max(size.unwrap_or_default());
                Ok(())
            })? as usize;
        }
    }
    Ok(largest)
}

/// What the account cannot see is not there for it.
fn of_sight(control: &mut Control) -> Result<Option<Risk>, HaulError> {
    let sees = has_privilege(control, "SELECT", "mysql")?;
    let what = "this account cannot see all tables and accounts: some risks may be missed";
    Ok((!sees).then(|| risk(what, "GRANT SELECT ON *.* to it, or check as an administrator")))
}

/// A risk for each of the first rows of an answer, and one for the rest.
fn listed(
    control: &mut Control,
    (sql, kind): (&str, &str),
    each: impl Fn(&[String]) -> Risk,
) -> Result<Vec<Risk>, HaulError> {
    let rows = control.query(sql)?.rows;
    let more = rows.len().saturating_sub(NAMED);
    let words = |row: Vec<Option<String>>| row.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>();
    let mut found: Vec<Risk> = rows.into_iter().take(NAMED).map(|row| each(&words(row))).collect();
    if more > 0 {
        found.push(risk(format!("{more} more {kind}"), "repeat it for each"));
    }
    Ok(found)
}

fn of_tables(control: &mut Control) -> Result<Vec<Risk>, HaulError> {
    let tables =
        format!("information_schema.TABLES t WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN {OWN}");
    let keyless = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM {tables} AND NOT EXISTS (SELECT 1 FROM information_schema.STATISTICS s WHERE \
         s.TABLE_SCHEMA = t.TABLE_SCHEMA AND s.TABLE_NAME = t.TABLE_NAME AND s.INDEX_NAME = 'PRIMARY') ORDER BY 1, 2"
    );
    let mut found = listed(control, (&keyless, "tables without a primary key"), |row| {
        let what = format!(
            "{}.{} has no primary key: a row applied twice stays twice, and replicas are slow",
            row[0], row[1]
        );
        let name = format!("{}.{}", quoted(&row[0]), quoted(&row[1]));
        risk(what, format!("ALTER TABLE {name} ADD COLUMN id BIGINT AUTO_INCREMENT PRIMARY KEY"))
    })?;
    let others = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE FROM {tables} \
         AND ENGINE IN ('MyISAM', 'Aria', 'MEMORY', 'CSV', 'ARCHIVE', 'MRG_MyISAM') ORDER BY 1, 2"
    );
    found.extend(listed(control, (&others, "tables without transactions"), |row| {
        let what = format!(
            "{}.{} is {}: a crash can lose or damage rows, and --single-transaction does not dump it consistently",
            row[0], row[1], row[2]
        );
        risk(what, format!("ALTER TABLE {}.{} ENGINE = InnoDB", quoted(&row[0]), quoted(&row[1])))
    })?);
    Ok(found)
}

/// Accounts that write to a server although it is read only; the servers' own and root are meant to.
fn of_accounts(control: &mut Control) -> Result<Vec<Risk>, HaulError> {
    // From 10.11 on SUPER of MariaDB does not include it.
    let version = control.version();
    let is_apart = version.flavor == Flavor::MariaDb && (version.numbers.0, version.numbers.1) >= (10, 11);
    let privileges = if is_apart { "" } else { "'SUPER', " };
    let sql = format!(
        "SELECT GRANTEE, GROUP_CONCAT(PRIVILEGE_TYPE ORDER BY PRIVILEGE_TYPE SEPARATOR ', ') \
         FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE IN ({privileges}'READ_ONLY ADMIN', 'READ ONLY ADMIN', \
         'CONNECTION_ADMIN') AND GRANTEE NOT LIKE '''root''@%' AND GRANTEE NOT LIKE '''mariadb.sys''@%' \
         AND GRANTEE NOT LIKE '''mysql.%' GROUP BY GRANTEE ORDER BY 1"
    );
    listed(control, (&sql, "accounts that bypass read_only"), |row| {
        let what = format!("{} may write to a replica that is read_only ({})", row[0], row[1]);
        risk(what, format!("REVOKE {} ON *.* FROM {}", row[1], row[0]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Variables {
        Variables(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    fn fixes(variables: &Variables) -> Vec<String> {
        variables.of_logs(86_400).into_iter().chain(variables.of_semi_sync()).map(|risk| risk.fix).collect()
    }

    #[test]
    fn settings_that_lose_are_found_with_their_fixes() {
        let good = [
            ("log_bin", "ON"),
            ("sync_binlog", "1"),
            ("innodb_flush_log_at_trx_commit", "1"),
            ("binlog_format", "ROW"),
            ("gtid_strict_mode", "ON"),
            ("datadir", "/var/lib/mysql/"),
            ("log_bin_basename", "/logs/bin"),
            ("binlog_expire_logs_seconds", "864000"),
            ("rpl_semi_sync_master_enabled", "ON"),
            ("rpl_semi_sync_master_wait_point", "AFTER_SYNC"),
        ];
        assert!(fixes(&of(&good)).is_empty());
        for (name, value, fix) in [
            ("sync_binlog", "0", "SET GLOBAL sync_binlog = 1"),
            ("innodb_flush_log_at_trx_commit", "2", "SET GLOBAL innodb_flush_log_at_trx_commit = 1"),
            ("gtid_strict_mode", "OFF", "SET GLOBAL gtid_strict_mode = ON"),
            (
                "log_bin_basename",
                "/var/lib/mysql/bin",
                "log_bin = /another/volume/bin (option file, restart)",
            ),
            ("binlog_expire_logs_seconds", "86400", "SET GLOBAL binlog_expire_logs_seconds = 172800"),
            (
                "rpl_semi_sync_master_wait_point",
                "AFTER_COMMIT",
                "SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC",
            ),
            ("log_bin", "OFF", "log_bin = /another/volume/bin (option file, restart)"),
        ] {
            let mut bad = of(&good);
            bad.0.insert(name.to_owned(), value.to_owned());
            assert_eq!(fixes(&bad), [fix], "{name}");
        }
    }

    #[test]
    fn logs_that_are_kept_for_ever_are_kept_long_enough() {
        assert!(of(&[("log_bin", "ON"), ("binlog_expire_logs_seconds", "0")]).of_expiry(86_400).is_none());
    }
}
