//! Disks in memory, and an engine that serves them at a socket.

use evenkeel_core::Nanos;
use evenkeel_core::share::Costs;
use evenkeel_share::{
    Address, Answer, Backing, Buffer, DiskPlan, Ended, Engine, Errno, ListenAddress, NbdPlan, Plan, Work,
};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

#[derive(Default)]
pub struct Site {
    pub bytes: Mutex<Vec<u8>>,
    /// Nothing ends while this is set.
    pub held: AtomicBool,
    /// It cannot trim.
    pub stubborn: AtomicBool,
    pub read_only: AtomicBool,
    pub started: AtomicUsize,
    /// Where works began that have a place.
    pub order: Mutex<Vec<u64>>,
    pub flushes: AtomicUsize,
}

struct Memory {
    site: Arc<Site>,
    under_way: Vec<(u64, Work)>,
    now: Nanos,
}

impl Backing for Memory {
    fn bytes(&self) -> u64 {
        self.site.bytes.lock().unwrap().len() as u64
    }

    fn is_read_only(&self) -> bool {
        self.site.read_only.load(Ordering::SeqCst)
    }

    fn start(&mut self, id: u64, work: Work, _: Nanos) {
        self.site.started.fetch_add(1, Ordering::SeqCst);
        self.site.order.lock().unwrap().extend(work.range().map(|(offset, _)| offset));
        self.under_way.push((id, work));
    }

    fn push(&mut self, now: Nanos) -> io::Result<()> {
        self.now = now;
        Ok(())
    }

    fn collect(&mut self, now: Nanos, ended: &mut Vec<Ended>) {
        self.now = now;
        if !self.site.held.load(Ordering::SeqCst) {
            let site = &self.site;
            ended.extend(self.under_way.drain(..).map(|(id, work)| Ended { id, answer: site.done(work) }));
        }
    }

    fn due(&self) -> Option<Nanos> {
        (!self.under_way.is_empty()).then(|| self.now + Nanos::from_millis(1))
    }
}

impl Site {
    fn done(&self, work: Work) -> Answer {
        let mut bytes = self.bytes.lock().unwrap();
        match work {
            Work::Read { offset, mut buffer } => {
                let length = buffer.len();
                buffer.as_mut_slice().copy_from_slice(&bytes[offset as usize..][..length]);
                Ok(buffer)
            }
            Work::Write { offset, buffer, .. } => {
                bytes[offset as usize..][..buffer.len()].copy_from_slice(buffer.as_slice());
                Ok(buffer)
            }
            Work::Flush => {
                self.flushes.fetch_add(1, Ordering::SeqCst);
                Ok(Buffer::default())
            }
            Work::Trim { .. } if self.stubborn.load(Ordering::SeqCst) => Err(Errno::UNSUPPORTED),
            Work::Trim { offset, bytes: length } | Work::Zero { offset, bytes: length, .. } => {
                bytes[offset as usize..][..length as usize].fill(0);
                Ok(Buffer::default())
            }
        }
    }
}

/// An engine with a disk "orders" and a read-only one "archive", at a unix socket and a port.
pub struct Served {
    pub engine: Engine,
    pub orders: Arc<Site>,
    pub folder: TempDir,
}

pub fn disk(name: &str, site: &Arc<Site>) -> DiskPlan {
    let backing = Memory { site: site.clone(), under_way: Vec::new(), now: Nanos::ZERO };
    DiskPlan { name: name.to_owned(), shares: 1.0, backing: Box::new(backing) }
}

pub fn site() -> Arc<Site> {
    Arc::new(Site { bytes: Mutex::new(vec![0; DISK]), ..Site::default() })
}

pub fn named(name: &str) -> DiskPlan {
    disk(name, &Arc::default())
}

pub const DISK: usize = 8 << 20;
pub const MEMORY: usize = 1 << 20;

impl Served {
    pub fn start() -> Self {
        Self::start_with(tempfile::tempdir().unwrap(), None)
    }

    /// With room for so much at the storage.
    pub fn start_window(window: f64) -> Self {
        Self::start_all(tempfile::tempdir().unwrap(), None, window)
    }

    /// In a folder, with TLS over TCP.
    pub fn start_with(folder: TempDir, tls: Option<Arc<evenkeel_share::ServerConfig>>) -> Self {
        Self::start_all(folder, tls, f64::INFINITY)
    }

    fn start_all(folder: TempDir, tls: Option<Arc<evenkeel_share::ServerConfig>>, window: f64) -> Self {
        let (orders, archive) = (site(), site());
        archive.read_only.store(true, Ordering::SeqCst);
        let disks = vec![disk("orders", &orders), disk("archive", &archive)];
        let plan = Plan { disks, window, costs: Costs::default(), memory: MEMORY };
        let port = Address::Tcp { host: "127.0.0.1".to_owned(), port: 0 };
        let all = Address::Unix(folder.path().join("disks"));
        let only = ListenAddress { disk: Some(0), ..Address::Unix(folder.path().join("orders")).into() };
        let nbd = NbdPlan { listen: vec![all.into(), port.into(), only], tls };
        Self { engine: Engine::start_nbd(plan, &nbd).unwrap(), orders, folder }
    }

    pub fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("disks")
    }

    /// What programs call a disk.
    pub fn uri(&self, name: &str) -> String {
        format!("nbd+unix:///{name}?socket={}", self.path().display())
    }
}
