//! Two hosts with a database each, up for one run: disks on the arrays, mounted, and servers on them.

use super::images::{Images, SANDBOX, spec};
use super::record::{Key, Setting};
use super::{NAMES, SHARES, THRESHOLD_S};
use crate::published::{DiskFile, Host, HostFile, Result, Scratch, While, WindowFile, Workplace};
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

/// How a window is set, and the slot file of who does not keep it to itself.
type WindowSetup = (WindowFile, Option<PathBuf>);

/// Both, in the order in which they come down: servers, then disks with their mounts, then the folder.
pub struct Pair {
    servers: Vec<Sandbox>,
    data: Vec<Box<dyn Host>>,
    logs: Vec<Box<dyn Host>>,
    scratch: Scratch,
}

impl Pair {
    /// Puts both up in a folder of their own, on copies of the images.
    pub fn up(
        workplace: &Workplace<'_>,
        scratch: Scratch,
        images: &Images,
        setting: &Setting,
        key: Key,
    ) -> Result<Self> {
        let mut pair = Self { servers: vec![], data: vec![], logs: vec![], scratch };
        for (name, plan) in [("data.sim", &DATA), ("logs.sim", &ARRAY)] {
            simulated::create(&pair.path(name), plan).doing(|| format!("making {name}"))?;
        }
        for (host, name) in NAMES.iter().enumerate() {
            let (home, logs) = (pair.path(name), pair.path(&format!("logs-{name}")));
            let data = home.join("sandboxes").join(SANDBOX);
            let up = pair.disk(workplace, images, (0, host), &data, pair.data_window(setting, key))?;
            pair.data.push(up);
            let up = pair.disk(
                workplace,
                images,
                (1, host),
                &logs,
                (window("fixed", FREE, FREE, setting.period_s), None),
            )?;
            pair.logs.push(up);
            let server = Sandbox::up(&spec(&home, &logs, &SETTINGS), workplace.stop, &mut |_| {})?;
            pair.servers.push(server);
        }
        Ok(pair)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// How the window of the data is set, and where hosts speak with each other.
    fn data_window(&self, setting: &Setting, key: Key) -> WindowSetup {
        let most = f64::from(key.most);
        match key.way {
            Treatment::Uncontrolled => (window("fixed", most, most, setting.period_s), None),
            way => {
                let initial = INITIAL.min(most);
                (window(way.name(), initial, most, setting.period_s), Some(self.path("slots")))
            }
        }
    }

    /// Copies image `kind` for a host, and mounts it.
    fn disk(
        &self,
        workplace: &Workplace<'_>,
        images: &Images,
        (kind, host): (usize, usize),
        at: &Path,
        told: WindowSetup,
    ) -> Result<Box<dyn Host>> {
        let name = NAMES[host];
        let config = self.path(&format!("{}-{name}.toml", KINDS[kind]));
        let file = self.file(kind, host, told);
        images.copy(kind, &file.disks[0].backing)?;
        fs::create_dir_all(at).doing(|| format!("making {}", at.display()))?;
        file.write(&config)?;
        workplace.program.mount(&config, at).doing(|| format!("mounting the {} of host {name}", KINDS[kind]))
    }

    fn file(&self, kind: usize, host: usize, (window, slots): WindowSetup) -> HostFile {
        let name = NAMES[host];
        let disk = DiskFile {
            name: KINDS[kind].to_owned(),
            backing: self.path(&format!("{}-{name}.img", KINDS[kind])),
            size: None,
            share: if kind == 0 { SHARES[host] } else { 1.0 },
            array: self.path(&format!("{}.sim", KINDS[kind])),
        };
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

fn window(law: &'static str, initial: f64, most: f64, period_s: f64) -> WindowFile {
    WindowFile { law, threshold_s: THRESHOLD_S, period_s, initial, most }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::setting;
    use super::*;

    fn file(way: Treatment, most: u32) -> HostFile {
        let scratch = Scratch::nowhere("/no/such folder");
        let pair = Pair { servers: vec![], data: vec![], logs: vec![], scratch };
        let told = pair.data_window(&setting(), Key { way, most });
        pair.file(0, 1, told)
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
