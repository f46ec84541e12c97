//! Two hosts with a database each, up for one run: disks on the arrays, mounted, and servers on them.

use super::images::{Images, SANDBOX, spec};
use crate::command::Session;
use crate::share::file::{DiskFile, HostFile, WindowFile};
use crate::share::host::Host;
use anyhow::{Context, Result};
use evenkeel_core::share::ArrayPlan;
use evenkeel_core::share::experiment::{ARRAY, Treatment as Way};
use evenkeel_lab::data::dvdstore;
use evenkeel_share::backing::simulated;
use evenkeel_site::sandbox::Sandbox;
use evenkeel_site::server::Target;
use evenkeel_study::databases::record::{Key, Setting};
use evenkeel_study::databases::{NAMES, SHARES, THRESHOLD_S};
use std::fs;
use std::path::{Path, PathBuf};

/// As large an array as the published one of this table, but slower, so that it and not this machine is what both wait for.
const DATA: ArrayPlan = ArrayPlan { spindles: 6, mean_s: 0.0057, ..ARRAY };
/// The window that laws begin with.
const INITIAL: f64 = 16.0;
/// That of the redo logs: nothing bounds them.
const FREE: f64 = 64.0;
/// Data, and redo logs.
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
type Told = (WindowFile, Option<PathBuf>);

/// Both, in the order in which they come down: servers, then disks with their mounts, then the folder.
pub struct Pair {
    servers: Vec<Sandbox>,
    data: Vec<Host>,
    logs: Vec<Host>,
    folder: Folder,
}

/// Removed when dropped.
struct Folder(PathBuf);

impl Pair {
    /// Puts both up in `folder`, which must be new, on copies of the images.
    ///
    /// # Errors
    /// A host or a server does not start; what was started is down again.
    pub fn up(
        session: &Session,
        folder: PathBuf,
        images: &Images,
        setting: &Setting,
        key: Key,
    ) -> Result<Self> {
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        let mut pair = Self { servers: vec![], data: vec![], logs: vec![], folder: Folder(folder) };
        simulated::create(&pair.path("data.sim"), &DATA)?;
        simulated::create(&pair.path("logs.sim"), &ARRAY)?;
        for (host, name) in NAMES.iter().enumerate() {
            let (home, logs) = (pair.path(name), pair.path(&format!("logs-{name}")));
            let data = home.join("sandboxes").join(SANDBOX);
            let up = pair.disk(images, 0, host, &data, pair.data_window(setting, key))?;
            pair.data.push(up);
            let up =
                pair.disk(images, 1, host, &logs, (window("fixed", FREE, FREE, setting.period_s), None))?;
            pair.logs.push(up);
            let server = Sandbox::up(&spec(&home, &logs, &SETTINGS), &session.stop, &mut |_| {})?;
            pair.servers.push(server);
        }
        Ok(pair)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.0.join(name)
    }

    /// How the window of the data is set, and where hosts speak with each other.
    fn data_window(&self, setting: &Setting, key: Key) -> Told {
        let most = f64::from(key.most);
        match key.way {
            Way::Uncontrolled => (window("fixed", most, most, setting.period_s), None),
            way => {
                let initial = INITIAL.min(most);
                (window(way.name(), initial, most, setting.period_s), Some(self.path("slots")))
            }
        }
    }

    /// Copies image `kind` for a host, and mounts it.
    fn disk(&self, images: &Images, kind: usize, host: usize, at: &Path, told: Told) -> Result<Host> {
        let name = NAMES[host];
        let config = self.path(&format!("{}-{name}.toml", KINDS[kind]));
        let file = self.file(kind, host, told);
        images.copy(kind, &file.disks[0].backing)?;
        fs::create_dir_all(at).with_context(|| format!("making {}", at.display()))?;
        file.write(&config)?;
        Host::mount(&config, at).with_context(|| format!("mounting the {} of host {name}", KINDS[kind]))
    }

    fn file(&self, kind: usize, host: usize, (window, slots): Told) -> HostFile {
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
    pub fn hosts(&self) -> &[Host] {
        &self.data
    }

    /// The store of a host, by its place.
    pub fn store(&self, host: usize) -> Target {
        Target { database: Some(dvdstore::NAME.to_owned()), ..self.servers[host].tcp_target() }
    }

    /// Whether all still run.
    ///
    /// # Errors
    /// One has ended; with what it said. Of a host and its server it is the host, which the server cannot do without.
    pub fn check(&self) -> Result<()> {
        self.data.iter().chain(&self.logs).try_for_each(Host::check)?;
        Ok(self.servers.iter().try_for_each(Sandbox::check)?)
    }

    /// Takes all down, and removes what the run wrote.
    ///
    /// # Errors
    /// A host had ended badly, or had to be killed.
    pub fn down(self) -> Result<()> {
        let Self { servers, data, logs, folder } = self;
        drop(servers);
        let stopped: Vec<Result<()>> = data.into_iter().chain(logs).map(Host::stop).collect();
        drop(folder);
        stopped.into_iter().collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed goes with the study's folder of work.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn window(law: &'static str, initial: f64, most: f64, period_s: f64) -> WindowFile {
    WindowFile { law, threshold_s: THRESHOLD_S, period_s, initial, most }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::share::ShareConfig;
    use evenkeel_study::databases::fixture::setting;

    fn config(way: Way, most: u32) -> ShareConfig {
        let folder = Folder("/no/such folder".into());
        let pair = Pair { servers: vec![], data: vec![], logs: vec![], folder };
        let told = pair.data_window(&setting(), Key { way, most, round: 1 });
        ShareConfig::parse(&pair.file(0, 1, told).to_string()).unwrap()
    }

    #[test]
    fn laws_begin_small_and_tell_each_other_what_they_measure() {
        let config = config(Way::Parda, 64);
        assert_eq!((config.law.as_str(), config.initial_window, config.max_window), ("parda", 16.0, 64.0));
        assert_eq!(config.bus.address.as_deref(), Some("slot:/no/such folder/slots"));
        assert_eq!((config.latency.as_secs_f64(), config.period.as_secs_f64()), (0.015, 0.5));
    }

    #[test]
    fn uncontrolled_is_the_most_window_all_the_time() {
        let config = config(Way::Uncontrolled, 32);
        assert_eq!((config.law.as_str(), config.initial_window, config.bus.address), ("fixed", 32.0, None));
    }
}
