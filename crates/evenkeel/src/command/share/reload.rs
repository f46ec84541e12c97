//! Which changes of its configuration a host can take over while it serves, and which it cannot.

use crate::config::share::{DiskConfig, ShareConfig};

/// Names of the keys that differ and hold only after a restart.
pub fn ignored(old: &ShareConfig, new: &ShareConfig) -> Vec<String> {
    let keys = [
        ("name", old.name != new.name),
        ("nbd", old.nbd != new.nbd),
        ("socket_mode", old.socket.mode != new.socket.mode),
        ("socket_group", old.socket.group != new.socket.group),
        ("tls", old.tls != new.tls),
        ("metrics", old.metrics != new.metrics),
        ("memory", old.memory != new.memory),
        ("log", old.log != new.log),
        ("bus", old.bus != new.bus),
    ];
    let mut found: Vec<String> =
        keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key.to_owned()).collect();
    for disk in &old.disks {
        match new.disks.iter().find(|other| other.name == disk.name) {
            None => found.push(format!("disk `{}` is gone", disk.name)),
            Some(other) if DiskConfig { share: disk.share, ..other.clone() } != *disk => {
                found.push(format!("disk `{}`", disk.name));
            }
            Some(_) => {}
        }
    }
    let is_new = |disk: &&DiskConfig| old.disks.iter().all(|other| other.name != disk.name);
    found.extend(new.disks.iter().filter(is_new).map(|disk| format!("disk `{}` is new", disk.name)));
    found
}

/// Writes the changes that hold at once into the configuration that the host would start with again.
pub fn heed(old: &mut ShareConfig, new: &ShareConfig) {
    (old.law, old.latency, old.period) = (new.law.clone(), new.latency, new.period);
    (old.max_window, old.costs) = (new.max_window, new.costs.clone());
    for disk in &mut old.disks {
        let share = new.disks.iter().find(|other| other.name == disk.name).map(|other| other.share);
        disk.share = share.unwrap_or(disk.share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_a_restart_is_named_and_the_rest_is_not() {
        let disk = |name: &str| DiskConfig::new(name, format!("/dev/{name}"));
        let old = ShareConfig::new("web1", vec![disk("a"), disk("b")]);
        let mut new = old.clone();
        (new.disks[0].share, new.law) = (7.0, "parda".to_owned());
        assert_eq!(ignored(&old, &new), Vec::<String>::new());
        new.disks[1].read_only = true;
        new.disks.push(disk("c"));
        new.disks.remove(0);
        (new.memory, new.bus.array) = (1 << 20, "other".to_owned());
        assert_eq!(ignored(&old, &new), ["memory", "bus", "disk `a` is gone", "disk `b`", "disk `c` is new"]);
        let mut heeded = old.clone();
        heed(&mut heeded, &new);
        assert_eq!((heeded.disks[0].share, heeded.law.as_str()), (1.0, "parda"), "it is not in the new one");
        assert_eq!(ignored(&heeded, &new), ignored(&old, &new), "the rest stays as it was");
    }
}
