//! What shares do to clients, by the bytes that the backings are asked for.

use crate::client::{Client, READ, request, unix};
use evenkeel_core::Nanos;
use evenkeel_core::share::Costs;
use evenkeel_share::{Address, Backing, Buffer, DiskPlan, Ended, Engine, NbdPlan, Plan, Work};
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
const NAMES: [&str; 2] = ["small", "large"];
const SHARES: [f64; 2] = [1.0, 4.0];
/// Reads of each client, and bytes of each.
const READS: usize = 200;
const BYTES: u32 = 4_096;
/// I/Os that the host may have outstanding.
const WINDOW: f64 = 4.0;

/// Storage that both disks are on.
#[derive(Default)]
struct Storage {
    /// What each disk has asked for, in the order in which it came.
    asked: Mutex<Vec<(usize, u64)>>,
    /// Nothing ends before both clients have said all that they want.
    open: AtomicBool,
}

struct Counted {
    disk: usize,
    storage: Arc<Storage>,
    under_way: Vec<(u64, Work)>,
    now: Nanos,
}

impl Backing for Counted {
    fn bytes(&self) -> u64 {
        1 << 20
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn start(&mut self, id: u64, work: Work, _: Nanos) {
        if let Work::Read { buffer, .. } = &work {
            self.storage.asked.lock().unwrap().push((self.disk, buffer.len() as u64));
        }
        self.under_way.push((id, work));
    }

    fn push(&mut self, now: Nanos) -> io::Result<()> {
        self.now = now;
        Ok(())
    }

    fn collect(&mut self, now: Nanos, ended: &mut Vec<Ended>) {
        self.now = now;
        if self.storage.open.load(Ordering::SeqCst) {
            let answer = |work| match work {
                Work::Read { buffer, .. } => Ok(buffer),
                _ => Ok(Buffer::default()),
            };
            ended.extend(self.under_way.drain(..).map(|(id, work)| Ended { id, answer: answer(work) }));
        }
    }

    fn descriptor(&self) -> Option<RawFd> {
        None
    }

    fn due(&self) -> Option<Nanos> {
        (!self.under_way.is_empty()).then(|| self.now + Nanos::from_millis(1))
    }
}

#[test]
fn two_clients_get_the_bytes_of_a_storage_by_the_shares_of_their_disks() {
    let (folder, storage) = (tempfile::tempdir().unwrap(), Arc::new(Storage::default()));
    let disks = (0..2).map(|disk| {
        let backing = Counted { disk, storage: storage.clone(), under_way: Vec::new(), now: Nanos::ZERO };
        DiskPlan { name: NAMES[disk].to_owned(), shares: SHARES[disk], backing: Box::new(backing) }
    });
    let plan = Plan { disks: disks.collect(), window: WINDOW, costs: Costs::default(), memory: 16 << 20 };
    let path = folder.path().join("disks");
    let listen = NbdPlan { listen: vec![Address::Unix(path.clone()).into()], tls: None };
    let engine = Engine::start_nbd(plan, &listen).unwrap();
    let mut clients = NAMES.map(|name| Client::open(unix(&path), name, false));
    for client in &mut clients {
        let all = (0..READS).flat_map(|read| request(READ, 0, read as u64, 0, BYTES));
        client.send(&all.collect::<Vec<_>>());
    }
    // The window counts the cost of I/Os, and small ones cost less than one.
    let wanted = 2 * (READS - WINDOW as usize);
    while engine.handle().measure(PATIENCE).unwrap().waiting < wanted {
        std::thread::yield_now();
    }
    let before = storage.asked.lock().unwrap().len();
    storage.open.store(true, Ordering::SeqCst);
    for client in &mut clients {
        (0..READS).for_each(|_| assert_eq!(client.answer(BYTES).error, 0));
    }
    let asked = storage.asked.lock().unwrap().clone();
    let bytes = |disk: usize, of: &[(usize, u64)]| -> u64 {
        of.iter().filter(|asked| asked.0 == disk).map(|asked| asked.1).sum()
    };
    // What was sent before both had asked has no share. Four fifths of these are less than the large share wants.
    let both_wait = &asked[before..before + READS];
    let (small, large) = (bytes(0, both_wait), bytes(1, both_wait));
    let ratio = large as f64 / small as f64;
    assert!((3.8..=4.2).contains(&ratio), "{large} bytes for 4 shares, {small} for one: {ratio:.2}");
    assert_eq!((bytes(0, &asked), bytes(1, &asked)), (READS as u64 * 4_096, READS as u64 * 4_096));
}
