//! What shares do to clients, by the bytes that the backings are asked for.

use crate::PATIENCE;
use crate::client::{Client, READ, request, unix};
use crate::disk::{disk, site};
use evenkeel_core::share::Costs;
use evenkeel_share::{Address, DiskPlan, Engine, NbdPlan, Plan};
use std::sync::atomic::Ordering;

/// Reads of each client, and bytes of each.
const READS: usize = 200;
const BYTES: u32 = 4_096;
const WINDOW: f64 = 4.0;

#[test]
fn two_clients_get_the_bytes_of_a_storage_by_the_shares_of_their_disks() {
    let (folder, storage) = (tempfile::tempdir().unwrap(), site());
    storage.held.store(true, Ordering::SeqCst);
    let of = |name, shares| DiskPlan { shares, ..disk(name, &storage) };
    let disks = vec![of("small", 1.0), of("large", 4.0)];
    let plan = Plan { disks, window: WINDOW, costs: Costs::default(), memory: 16 << 20 };
    let path = folder.path().join("disks");
    let listen = NbdPlan { listen: vec![Address::Unix(path.clone()).into()], tls: None };
    let engine = Engine::start_nbd(plan, &listen).unwrap();
    let mut clients = ["small", "large"].map(|name| Client::open(unix(&path), name));
    // Where it reads tells which client it is.
    for (place, client) in [0, 8_192].into_iter().zip(&mut clients) {
        let all = (0..READS).flat_map(|read| request(READ, 0, read as u64, place, BYTES));
        client.send(&all.collect::<Vec<_>>());
    }
    // The window counts the cost of I/Os, and small ones cost less than one.
    let wanted = 2 * (READS - WINDOW as usize);
    while engine.handle().measure(PATIENCE).unwrap().waiting < wanted {
        std::thread::yield_now();
    }
    let before = storage.order.lock().unwrap().len();
    storage.held.store(false, Ordering::SeqCst);
    for client in &mut clients {
        (0..READS).for_each(|_| assert_eq!(client.answer(BYTES).error, 0));
    }
    // What was sent before both had asked has no share. Four fifths of these are less than the large share wants.
    let order = storage.order.lock().unwrap().clone();
    let large = order[before..before + READS].iter().filter(|place| **place > 0).count();
    let ratio = large as f64 / (READS - large) as f64;
    assert!((3.8..=4.2).contains(&ratio), "{large} of {READS} for 4 shares of 5: {ratio:.2}");
}
