//! Two hosts with a database each, up for one run: disks on the arrays, mounted, and servers on them.

use super::images::{Images, SANDBOX, spec};
use crate::command::Session;
use crate::databases::record::{Key, Setting};
use crate::databases::{NAMES, SHARES, THRESHOLD_S};
use crate::share::host::Host;
use anyhow::{Context, Result};
use evenkeel_core::share::ArrayPlan;
use evenkeel_core::share::experiment::{ARRAY, Way};
use evenkeel_gate::share::backing::simulated;
use evenkeel_lab::data::dvdstore;
use evenkeel_lab::sandbox::Sandbox;
use evenkeel_lab::target::Target;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// As large an array as the published one of this table, but slower, so that it and not this machine is what both wait for.
const DATA: ArrayPlan = ArrayPlan { spindles: 6, mean_s: 0.0057, ..ARRAY };
/// The window that laws begin with.
const INITIAL: u32 = 16;
/// That of the redo logs: nothing bounds them.
const FREE: u32 = 64;
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
            let up = pair.disk(images, 0, host, &data, &pair.data_window(setting, key))?;
            pair.data.push(up);
            let up = pair.disk(images, 1, host, &logs, &window("fixed", FREE, FREE, setting.period_s))?;
            pair.logs.push(up);
            let server = Sandbox::up(&spec(&home, &logs, &SETTINGS), &session.stop, &mut |_| {})?;
            pair.servers.push(server);
        }
        Ok(pair)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.0.join(name)
    }

    fn data_window(&self, setting: &Setting, key: Key) -> String {
        let (law, initial) = match key.way {
            Way::Uncontrolled => ("fixed", key.most),
            way => (way.name(), INITIAL.min(key.most)),
        };
        let window = window(law, initial, key.most, setting.period_s);
        if key.way == Way::Uncontrolled {
            return window;
        }
        let slots = format!("slot:{}", self.path("slots").display());
        format!("{window}[bus]\naddress = {}\n", json!(slots))
    }

    /// Copies image `kind` for a host, and mounts it. Strings of JSON are strings of TOML.
    fn disk(&self, images: &Images, kind: usize, host: usize, at: &Path, window: &str) -> Result<Host> {
        let (kinds, name) = (["data", "logs"], NAMES[host]);
        let backing = self.path(&format!("{}-{name}.img", kinds[kind]));
        images.copy(kind, &backing)?;
        fs::create_dir_all(at).with_context(|| format!("making {}", at.display()))?;
        let share = if kind == 0 { SHARES[host] } else { 1.0 };
        let text = format!(
            "name = \"{name}\"\n{window}[[disk]]\nname = \"{}\"\nbacking = {}\nshare = {share:?}\nsimulated = {}\n",
            kinds[kind],
            json!(backing.display().to_string()),
            json!(self.path(&format!("{}.sim", kinds[kind])).display().to_string()),
        );
        let config = self.path(&format!("{}-{name}.toml", kinds[kind]));
        fs::write(&config, text).with_context(|| format!("writing {}", config.display()))?;
        Host::mount(&config, at).with_context(|| format!("mounting the {} of host {name}", kinds[kind]))
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

fn window(law: &str, initial: u32, most: u32, period_s: f64) -> String {
    format!(
        "[window]\ncontroller = \"{law}\"\nlatency = \"{}us\"\nperiod = \"{}ms\"\ninitial = {initial}.0\nmost = {most}.0\n",
        (1e6 * THRESHOLD_S).round(),
        (1e3 * period_s).round(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::share::ShareConfig;
    use crate::databases::fixture::setting;

    fn config(way: Way, most: u32) -> ShareConfig {
        let folder = Folder("/no/such folder".into());
        let pair = Pair { servers: vec![], data: vec![], logs: vec![], folder };
        let window = pair.data_window(&setting(), Key { way, most, round: 1 });
        let disk = "[[disk]]\nname = \"data\"\nbacking = \"/x\"\n";
        ShareConfig::parse(&format!("name = \"a\"\n{window}{disk}")).unwrap()
    }

    #[test]
    fn laws_begin_small_and_tell_each_other_what_they_measure() {
        let config = config(Way::Parda, 64);
        assert_eq!((config.law.as_str(), config.window, config.window_max), ("parda", 16.0, 64.0));
        assert_eq!(config.bus.address.as_deref(), Some("slot:/no/such folder/slots"));
        assert_eq!((config.latency.as_secs_f64(), config.period.as_secs_f64()), (0.015, 0.5));
    }

    #[test]
    fn uncontrolled_is_the_most_window_all_the_time() {
        let config = config(Way::Uncontrolled, 32);
        assert_eq!((config.law.as_str(), config.window, config.bus.address), ("fixed", 32.0, None));
    }
}
