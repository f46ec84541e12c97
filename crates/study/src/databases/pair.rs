//! Two hosts with a database each, up for one run: disks on the arrays, mounted, and servers on them.

use super::record::{Images, SANDBOX, Setting, spec};
use super::{NAMES, SHARES, THRESHOLD_S};
use crate::published::{At, DiskFile, Host, HostFile, Result, Scratch, While, WindowFile};
use evenkeel_core::share::ArrayPlan;
use evenkeel_core::share::experiment::{ARRAY, Treatment};
use evenkeel_lab::data::dvdstore;
use evenkeel_share::backing::simulated;
use evenkeel_site::sandbox::Sandbox;
use evenkeel_site::server::Target;
use std::fs;
use std::path::{Path, PathBuf};

/// As large an array as the published one of this table, but slower, so that it and not this machine is what both wait for.
const DATA: ArrayPlan = ArrayPlan { spindles: 6, mean_s: 0.0057, ..ARRAY };
/// The window that laws begin with.
const INITIAL: f64 = 16.0;
/// That of the redo logs: nothing bounds them.
const FREE: f64 = 64.0;
const KINDS: [&str; 2] = ["data", "logs"];
/// Of the measured servers: a pool that holds a part of the data, and commits that wait for the disk.
const SETTINGS: [(&str, &str); 4] = [
    ("innodb_buffer_pool_size", "24M"),
    // Fewer free pages than the pool has: else every read waits for a page to be freed.
    ("innodb_lru_scan_depth", "128"),
    ("innodb_flush_log_at_trx_commit", "1"),
    ("innodb_write_io_threads", "8"),
];

/// Both, in the order in which they come down: servers, then disks with their mounts, then the folder.
pub struct Pair {
    servers: Vec<Sandbox>,
    data: Vec<Box<dyn Host>>,
    logs: Vec<Box<dyn Host>>,
    scratch: Scratch,
}

/// What tells a run from the others of the study.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub way: Treatment,
    pub most: u32,
}

impl Pair {
    /// Puts both up in a folder of their own, on copies of the images.
    pub fn up(at: &At<'_, Setting>, scratch: Scratch, images: &Images, key: Key) -> Result<Self> {
        let mut pair = Self { servers: vec![], data: vec![], logs: vec![], scratch };
        for (name, plan) in [("data.sim", &DATA), ("logs.sim", &ARRAY)] {
            simulated::create(&pair.path(name), plan).doing(|| format!("making {name}"))?;
        }
        for (host, name) in NAMES.iter().enumerate() {
            let (home, logs) = (pair.path(name), pair.path(&format!("logs-{name}")));
            let mount = |kind: usize, on: &Path| {
                let config = pair.path(&format!("{}-{name}.toml", KINDS[kind]));
                let file = pair.file((kind, host), at.setting.period_s, key);
                images.copy(kind, &file.disks[0].backing)?;
                fs::create_dir_all(on).doing(|| format!("making {}", on.display()))?;
                file.write(&config)?;
                let doing = || format!("mounting the {} of host {name}", KINDS[kind]);
                at.workplace.program.mount(&config, on).doing(doing)
            };
            let on_data = mount(0, &home.join("sandboxes").join(SANDBOX))?;
            let on_logs = mount(1, &logs)?;
            pair.data.push(on_data);
            pair.logs.push(on_logs);
            let server = Sandbox::up(&spec(&home, &logs, &SETTINGS), at.workplace.stop, &mut |_| {})?;
            pair.servers.push(server);
        }
        Ok(pair)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// A host with its disk of this kind; its slot file is where hosts speak with each other.
    fn file(&self, (kind, host): (usize, usize), period_s: f64, key: Key) -> HostFile {
        let (name, most) = (NAMES[host], f64::from(key.most));
        let (law, initial, most) = match (kind, key.way) {
            (0, Treatment::Uncontrolled) => ("fixed", most, most),
            (0, way) => (way.name(), INITIAL.min(most), most),
            _ => ("fixed", FREE, FREE),
        };
        let disk = DiskFile {
            name: KINDS[kind].to_owned(),
            backing: self.path(&format!("{}-{name}.img", KINDS[kind])),
            size: None,
            share: if kind == 0 { SHARES[host] } else { 1.0 },
            array: self.path(&format!("{}.sim", KINDS[kind])),
        };
        let window = WindowFile { law, threshold_s: THRESHOLD_S, period_s, initial, most };
        let slots = (law != "fixed").then(|| self.path("slots"));
        HostFile { name: name.to_owned(), nbd: None, window, slots, disks: vec![disk] }
    }

    /// The hosts of the data disks, by place.
    pub fn hosts(&self) -> &[Box<dyn Host>] {
        &self.data
    }

    pub fn store(&self, host: usize) -> Target {
        Target { database: Some(dvdstore::NAME.to_owned()), ..self.servers[host].tcp_target() }
    }

    pub fn check(&self) -> Result<()> {
        self.data.iter().chain(&self.logs).try_for_each(|host| host.check())?;
        Ok(self.servers.iter().try_for_each(Sandbox::check)?)
    }

    /// Takes all down, and removes what the run wrote.
    pub fn down(self) -> Result<()> {
        let Self { servers, data, logs, scratch } = self;
        drop(servers);
        let stopped: Vec<Result<()>> = data.into_iter().chain(logs).map(|host| host.stop()).collect();
        drop(scratch);
        stopped.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(way: Treatment, most: u32) -> HostFile {
        let scratch = Scratch::nowhere("/no/such folder");
        let pair = Pair { servers: vec![], data: vec![], logs: vec![], scratch };
        pair.file((0, 1), 0.5, Key { way, most })
    }

    #[test]
    fn laws_begin_small_and_tell_each_other_what_they_measure() {
        let file = file(Treatment::Parda, 64);
        assert_eq!((file.window.law, file.window.initial, file.window.most), ("parda", 16.0, 64.0));
        assert_eq!(file.slots.as_deref(), Some(Path::new("/no/such folder/slots")));
        assert_eq!((file.window.threshold_s, file.window.period_s), (0.015, 0.5));
    }

    #[test]
    fn uncontrolled_is_the_most_window_all_the_time() {
        let file = file(Treatment::Uncontrolled, 32);
        assert_eq!((file.window.law, file.window.initial, file.slots), ("fixed", 32.0, None));
    }
}
