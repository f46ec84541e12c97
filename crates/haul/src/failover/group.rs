//! A primary and its replicas: private servers that replicate by GTID.

use crate::drill::{Login, Tell, quiet, wait};
use crate::{HaulError, refused};
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_site::sandbox::{Domain, Sandbox, SandboxSpec};
use evenkeel_site::server::{Address, Control, Flavor, Rows, Target};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Accounts of the drill: one replicates, the other writes and may not write to a server that is read only.
const REPLICATES: &str = "drill_replica";
const WRITES: &str = "drill_writer";
/// One row that is updated to see whether a server takes writes.
pub(super) const HEARTBEAT: &str = "evenkeel_heartbeat";
/// A replica that does not come to a place within this time does not come.
const PATIENCE: Duration = Duration::from_secs(60);
/// A server that answers no control question for so long is given up.
const ANSWER: Duration = Duration::from_secs(5);

evenkeel_site::words! {
    /// How a commit waits for replicas.
    #[derive(Default)]
    Mode {
        /// It does not.
        #[default]
        Asynchronous = "async",
        /// Until a replica has received it, before others see it.
        AfterSync = "after-sync",
        /// The same, after others see it: they may see what is lost.
        AfterCommit = "after-commit",
    }
}

impl Mode {
    fn settings(self) -> Vec<(&'static str, &'static str)> {
        let wait_point = match self {
            Self::Asynchronous => return Vec::new(),
            Self::AfterSync => "AFTER_SYNC",
            Self::AfterCommit => "AFTER_COMMIT",
        };
        vec![
            ("rpl_semi_sync_slave_enabled", "ON"),
            ("rpl_semi_sync_master_wait_point", wait_point),
            ("rpl_semi_sync_master_timeout", "10000"),
        ]
    }
}

/// A server of the group.
pub(super) struct Node {
    pub sandbox: Sandbox,
    /// Of the drill's accounts, which replicate with all else: that of our own account on the primary.
    pub password: String,
    stop: Stop,
}

impl Node {
    /// Starts one with binary logs; a replica lets nobody write but administrators. With `port` it listens there, in a network of its own.
    pub fn up(
        place: (&Path, &str, Option<PathBuf>),
        (number, port): (u32, Option<u16>),
        (mode, domain): (Mode, Domain),
        stop: &Stop,
        tell: Tell<'_>,
    ) -> Result<Self, HaulError> {
        let (home, name, server_binary) = place;
        let spec = SandboxSpec { server_binary, domain, port, ..SandboxSpec::new(home, name) };
        let mut sandbox = Sandbox::up(&spec, stop, &mut quiet(tell))?;
        let version = Control::connect_until(&sandbox.target(), stop)?.version().clone();
        if version.flavor != Flavor::MariaDb {
            let hint = "run your own failover, and record it by evenkeel drill write";
            return Err(refused(format!("drill failover needs MariaDB, and this is {version}"), hint).into());
        }
        let mut settings: BTreeMap<String, String> = mode.settings().into_iter().map(owned).collect();
        let more = [
            ("log_bin", "bin"),
            ("log_slave_updates", "ON"),
            ("binlog_format", "ROW"),
            ("sync_binlog", "1"),
            ("gtid_strict_mode", "ON"),
            ("skip_slave_start", ""),
            ("read_only", "ON"),
        ];
        settings.extend(more.map(owned));
        settings.insert("server_id".to_owned(), number.to_string());
        // With its binary log from here on: what made the server is in none.
        sandbox.restart(&settings, stop, &mut quiet(tell))?;
        let password = sandbox.target().password.unwrap_or_default();
        Ok(Self { sandbox, password, stop: stop.clone() })
    }

    /// A folder for files of the drill, which goes with the server.
    pub fn folder(&self) -> Result<PathBuf, HaulError> {
        let folder = self.sandbox.dir().join("drill");
        fs::create_dir_all(&folder).map_err(HaulError::io("create", &folder))?;
        Ok(folder)
    }

    /// For writers, by TCP as clients come.
    pub fn writers_target(&self, database: &str) -> Target {
        let login = Target {
            user: WRITES.to_owned(),
            password: Some(self.password.clone()),
            ..self.sandbox.tcp_target()
        };
        Target { database: Some(database.to_owned()), ..login }
    }

    pub fn control(&self) -> Result<Control, HaulError> {
        Ok(Control::connect_within(&self.sandbox.target(), ANSWER)?)
    }

    pub fn sql(&self, sql: &str) -> Result<(), HaulError> {
        Ok(self.control()?.exec(sql).map(drop)?)
    }

    fn filler(&self) -> PathBuf {
        self.sandbox.dir().join("data").join("../filler")
    }

    /// Takes all that is free on its disk, which has at most so many bytes.
    pub fn fill_disk(&self, bytes: u64) -> Result<(), HaulError> {
        let path = self.filler();
        let mut file = File::create(&path).map_err(HaulError::io("create", &path))?;
        // Until there is no room. Never more than the disk has: another one is not filled.
        let _ = io::copy(&mut io::repeat(0).take(bytes), &mut file);
        Ok(())
    }

    pub fn free_disk(&self) -> Result<(), HaulError> {
        let path = self.filler();
        fs::remove_file(&path).map_err(HaulError::io("remove", &path))
    }

    /// Starts it again, as a server that is read only.
    pub fn start(&mut self) -> Result<(), HaulError> {
        Ok(self.sandbox.restart(&BTreeMap::new(), &self.stop, &mut |_| {})?)
    }

    /// Follows another one from where it is.
    pub fn follow(&self, primary: &Self) -> Result<(), HaulError> {
        let Address::Tcp { host, port } = primary.sandbox.tcp_target().address else {
            return Err(refused("the primary has no port", "please report it").into());
        };
        let mut control = self.control()?;
        control.exec("SET GLOBAL read_only = ON")?;
        control.exec(&format!(
            "CHANGE MASTER TO MASTER_HOST = '{host}', MASTER_PORT = {port}, MASTER_USER = '{REPLICATES}', \
             MASTER_PASSWORD = '{}', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1",
            self.password
        ))?;
        control.exec("START SLAVE")?;
        Ok(())
    }

    pub fn status(&self) -> Result<Rows, HaulError> {
        Ok(self.control()?.query("SHOW SLAVE STATUS")?)
    }

    /// The last transaction that it has, received ones among them: sequence number of the drill's only domain.
    pub fn received(&self) -> Result<u64, HaulError> {
        let shown = self.status()?;
        let text = shown.named("Gtid_IO_Pos").unwrap_or_default();
        Ok(sequence(text))
    }

    /// The last transaction that it has applied.
    pub fn applied(&self) -> Result<u64, HaulError> {
        let text = self.control()?.query_value("SELECT @@GLOBAL.gtid_current_pos")?;
        Ok(sequence(&text.unwrap_or_default()))
    }

    /// Applies all that it has received. Where both threads of a replica stand still, the server forgets what it has received: one
    /// starts before the other ends.
    fn drain(&self) -> Result<(), HaulError> {
        let before = self.received()?;
        self.sql("START SLAVE SQL_THREAD")?;
        self.sql("STOP SLAVE IO_THREAD")?;
        self.wait_for(before.max(self.received()?))
    }

    /// Waits until it has applied the transaction of this number.
    /// Errors: a transaction fails, or it does not come to it within a minute.
    pub fn wait_for(&self, sequence: u64) -> Result<(), HaulError> {
        let clock = Clock::start();
        while self.applied()? < sequence {
            if let Some(error) = self.status()?.named("Last_SQL_Error").filter(|error| !error.is_empty()) {
                let what = format!("{} does not replicate: {error}", self.sandbox.name());
                return Err(refused(what, "see which rows it has that the primary has not").into());
            }
            if Duration::from(clock.now()) > PATIENCE {
                let what = format!("{} has not caught up within a minute", self.sandbox.name());
                return Err(refused(what, "choose a lower --rate").into());
            }
            wait(Duration::from_millis(5), &self.stop)?;
        }
        Ok(())
    }

    /// Whether others may write to it.
    pub fn takes_writes(&self) -> Result<bool, HaulError> {
        Ok(self.control()?.query_value("SELECT @@GLOBAL.read_only")?.as_deref() == Some("0"))
    }

    /// Its login, as an option file for the server's own programs.
    pub fn login(&self, folder: &Path) -> Result<Login, HaulError> {
        let folder = folder.join(self.sandbox.name());
        fs::create_dir_all(&folder).map_err(HaulError::io("create", &folder))?;
        Login::write(&folder, &self.sandbox.target())
    }

    /// Becomes the primary, with all that it has received.
    pub fn promote(&self) -> Result<(), HaulError> {
        self.drain()?;
        let mut control = self.control()?;
        for sql in ["STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = OFF"] {
            control.exec(sql)?;
        }
        Ok(())
    }
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// Of `0-1-345` 345.
fn sequence(gtid: &str) -> u64 {
    gtid.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// Makes the accounts, on the primary before it has replicas.
pub(super) fn accounts(primary: &Node, database: &str) -> Result<(), HaulError> {
    let mut control = primary.control()?;
    control.exec(&format!("CREATE DATABASE {database}"))?;
    for (user, rights) in
        [(REPLICATES, "REPLICATION SLAVE ON *.*".to_owned()), (WRITES, format!("ALL ON {database}.*"))]
    {
        control.exec(&format!("CREATE USER {user}@'%' IDENTIFIED BY '{}'", primary.password))?;
        control.exec(&format!("GRANT {rights} TO {user}@'%'"))?;
    }
    control.exec(&format!("CREATE TABLE {database}.{HEARTBEAT} (id INT PRIMARY KEY, beat INT NOT NULL)"))?;
    control.exec(&format!("INSERT INTO {database}.{HEARTBEAT} VALUES (1, 0)"))?;
    Ok(())
}
