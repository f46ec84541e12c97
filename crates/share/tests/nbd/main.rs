//! Disks over NBD, from the socket to the backing: right clients, wrong clients, and those that go away.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod client;
mod disk;
mod hostile;
mod tools;

use client::{Client, DISCONNECT, FLUSH, FUA, READ, TRIM, WRITE, ZERO, request, tcp, unix};
use disk::{DISK, MEMORY, Served, disk, site};
use evenkeel_core::share::Costs;
use evenkeel_os::clock::Clock;
use evenkeel_share::{Address, DiskPlan, Engine, NbdPlan, Plan, Seen, ShareError};
use std::io::{Read, Write};
use std::sync::atomic::Ordering;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
const PERMISSION: u32 = 1;
const INVALID: u32 = 22;
const NO_SPACE: u32 = 28;

fn pattern(offset: usize, length: usize) -> Vec<u8> {
    (offset..offset + length).map(|at| (at % 251) as u8 ^ (at >> 9) as u8).collect()
}

fn fill(served: &Served) {
    *served.orders.bytes.lock().unwrap() = pattern(0, DISK);
}

/// Waits until the engine's figures are as wanted.
fn wait(served: &Served, as_wanted: impl Fn(&Seen) -> bool) {
    let begun = Clock::start();
    loop {
        let seen = served.engine.handle().measure(PATIENCE).unwrap();
        if as_wanted(&seen) {
            return;
        }
        assert!(Duration::from(begun.now()) < PATIENCE, "never: {seen:?}");
        std::thread::yield_now();
    }
}

#[test]
fn what_one_client_has_written_all_others_read() {
    let served = Served::start();
    let mut writer = Client::open(unix(&served.path()), "orders");
    let bytes = pattern(7, 100_000);
    writer.write(0, 4_096, &bytes).unwrap();
    writer.ask(FLUSH, 0, 0, 0).unwrap();
    assert_eq!(served.orders.flushes.load(Ordering::SeqCst), 1);
    let mut reader = Client::open(tcp(served.engine.ports()[0]), "orders");
    assert_eq!(reader.ask(READ, 0, 4_096, 100_000).unwrap(), bytes);
    assert_eq!(reader.ask(READ, 0, 0, 0), Ok(Vec::new()));
    writer.ask(ZERO, 0, 4_096, 1_000).unwrap();
    assert_eq!(writer.ask(READ, 0, 4_096, 2_000).unwrap(), [&[0; 1_000][..], &bytes[1_000..2_000]].concat());
}

#[test]
fn requests_may_come_in_any_pieces() {
    let served = Served::start();
    let mut client = Client::open(unix(&served.path()), "orders");
    let bytes = pattern(0, 300);
    let mut sent = request(WRITE, 0, 1, 0, 300);
    sent.extend(&bytes);
    sent.extend(request(READ, 0, 2, 0, 300));
    for piece in sent.chunks(7) {
        client.send(piece);
    }
    assert_eq!(client.answer(0).cookie, 1);
    let read = client.answer(300);
    assert_eq!((read.cookie, read.bytes), (2, bytes));
}

#[test]
fn many_requests_at_once_are_all_answered_by_their_names() {
    let served = Served::start();
    fill(&served);
    let mut client = Client::open(unix(&served.path()), "orders");
    let requests: Vec<u8> =
        (0..2_000).flat_map(|number| request(READ, 0, number, number * 512, 512)).collect();
    client.send(&requests);
    let mut seen = vec![false; 2_000];
    for _ in 0..2_000 {
        let answer = client.answer(512);
        let number = answer.cookie as usize;
        assert!(!std::mem::replace(&mut seen[number], true), "{number} is answered twice");
        assert_eq!((answer.error, answer.bytes), (0, pattern(number * 512, 512)));
    }
}

#[test]
fn what_cannot_be_done_is_told_and_the_connection_goes_on() {
    let served = Served::start();
    let end = DISK as u64;
    let mut client = Client::open(unix(&served.path()), "orders");
    assert_eq!(client.ask(READ, 0, end - 511, 512), Err(INVALID));
    assert_eq!(client.ask(READ, 0, u64::MAX, 512), Err(INVALID));
    assert_eq!(client.write(0, end - 511, &[1; 512]), Err(NO_SPACE));
    assert_eq!(client.ask(TRIM, 0, end, 1), Err(INVALID));
    assert_eq!(client.ask(ZERO, 0, 0, u32::MAX), Err(NO_SPACE));
    assert_eq!(client.ask(7, 0, 0, 512), Err(INVALID), "not offered");
    assert_eq!(client.ask(FLUSH, 64, 0, 0), Err(INVALID), "an unknown flag");
    assert_eq!(client.write(64, 0, &[1; 5_000]), Err(INVALID), "one with bytes behind it");
    assert_eq!(client.write(0, 0, &vec![1; (32 << 20) + 1]), Err(INVALID), "too many of them");
    assert_eq!(client.ask(READ, 0, 0, 512), Ok(vec![0; 512]));
    let mut archive = Client::open(unix(&served.path()), "archive");
    assert_eq!(archive.write(0, 0, &[1; 512]), Err(PERMISSION));
    assert_eq!(archive.ask(READ, 0, 0, 512), Ok(vec![0; 512]));
}

#[test]
fn a_durable_trim_is_followed_by_a_flush_and_one_that_no_disk_heeds_is_no_error() {
    let served = Served::start();
    let mut client = Client::open(unix(&served.path()), "orders");
    let flushes = || served.orders.flushes.load(Ordering::SeqCst);
    client.ask(TRIM, 0, 0, 4_096).unwrap();
    assert_eq!(flushes(), 0);
    client.ask(TRIM, FUA, 0, 4_096).unwrap();
    assert_eq!(flushes(), 1);
    served.orders.stubborn.store(true, Ordering::SeqCst);
    client.ask(TRIM, FUA, 0, 4_096).unwrap();
}

#[test]
fn a_client_that_breaks_the_protocol_ends_alone() {
    let served = Served::start();
    let mut good = Client::open(unix(&served.path()), "orders");
    let mut bad = Client::open(unix(&served.path()), "orders");
    bad.send(&[0xff; 4_000]);
    assert!(bad.is_ended());
    let mut stranger = unix(&served.path());
    stranger.write_all(b"GET / HTTP/1.1\r\nHost: disks\r\n\r\n").unwrap();
    stranger.read_to_end(&mut Vec::new()).unwrap_or_default();
    assert_eq!(good.ask(READ, 0, 0, 512).unwrap(), [0; 512]);
    wait(&served, |seen| seen.counts.clients == 1);
}

#[test]
fn clients_that_go_in_the_middle_leave_nothing_behind() {
    let served = Served::start();
    fill(&served);
    for number in 0..60 {
        let mut client = Client::open(unix(&served.path()), "orders");
        served.orders.held.store(number % 3 == 0, Ordering::SeqCst);
        client.send(&request(READ, 0, 1, 0, 256 << 10));
        client.send(&request(WRITE, 0, 2, 0, 128 << 10));
        client.send(&[9; 1_000]);
    }
    served.orders.held.store(false, Ordering::SeqCst);
    wait(&served, |seen| seen.counts.clients == 0);
    // As much as all may hold: there is room for it when nobody else holds any.
    let mut client = Client::open(unix(&served.path()), "orders");
    let (begin, behind) = (request(READ, 0, 1, 0, MEMORY as u32), request(READ, 0, 2, 512, 512));
    client.send(&[begin, behind].concat());
    assert_eq!(client.answer(MEMORY as u32).bytes, pattern(0, MEMORY));
    assert_eq!(client.answer(512).bytes, pattern(512, 512));
}

#[test]
fn a_client_that_sends_no_more_is_answered_to_the_end() {
    let served = Served::start();
    fill(&served);
    for stream in [unix(&served.path()), tcp(served.engine.ports()[0])] {
        let mut client = Client::open(stream, "orders");
        served.orders.held.store(true, Ordering::SeqCst);
        (0..20).for_each(|number| client.send(&request(READ, 0, number, number << 14, 16 << 10)));
        client.stream.shutdown(std::net::Shutdown::Write).unwrap();
        served.orders.held.store(false, Ordering::SeqCst);
        for _ in 0..20 {
            let answer = client.answer(16 << 10);
            assert_eq!(answer.bytes, pattern((answer.cookie as usize) << 14, 16 << 10));
        }
        assert!(client.is_ended());
    }
}

#[test]
fn a_client_that_disconnects_is_answered_before() {
    let served = Served::start();
    let mut client = Client::open(unix(&served.path()), "orders");
    served.orders.held.store(true, Ordering::SeqCst);
    client.send(&[&request(WRITE, FUA, 1, 0, 512)[..], &[3; 512], &request(DISCONNECT, 0, 2, 0, 0)].concat());
    served.orders.held.store(false, Ordering::SeqCst);
    let answer = client.answer(0);
    assert_eq!((answer.cookie, answer.error), (1, 0));
    assert!(client.is_ended());
    assert_eq!(served.orders.bytes.lock().unwrap()[..512], [3; 512]);
}

#[test]
fn who_takes_no_answers_holds_up_nobody_else() {
    let served = Served::start();
    fill(&served);
    let mut slow = Client::open(unix(&served.path()), "orders");
    let size = 64 << 10;
    let asked: Vec<u8> = (0..200).flat_map(|number| request(READ, 0, number, 0, size)).collect();
    slow.send(&asked);
    let mut other = Client::open(tcp(served.engine.ports()[0]), "orders");
    for _ in 0..100 {
        assert_eq!(other.ask(READ, 0, 512, size).unwrap(), pattern(512, size as usize));
    }
    let begun = served.orders.started.load(Ordering::SeqCst);
    assert!(begun < 300, "all of them are begun though nobody takes the answers");
    for number in 0..200 {
        let answer = slow.answer(size);
        assert_eq!((answer.cookie, answer.error), (number, 0));
        assert_eq!(answer.bytes, pattern(0, size as usize));
    }
}

#[test]
fn an_engine_that_stops_answers_what_was_asked_and_leaves_no_socket() {
    let served = Served::start();
    fill(&served);
    let mut idle = Client::open(unix(&served.path()), "orders");
    let mut busy = Client::open(unix(&served.path()), "orders");
    // More than the sockets take, so that answers are left when the engine is told to stop.
    let size = 512 << 10;
    served.orders.held.store(true, Ordering::SeqCst);
    busy.send(&request(READ, 0, 8, 0, size));
    while served.orders.started.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
    served.orders.held.store(false, Ordering::SeqCst);
    let path = served.path();
    let Served { engine, folder, .. } = served;
    let stop = std::thread::spawn(move || engine.stop());
    assert_eq!(busy.answer(size).bytes, pattern(0, size as usize));
    assert!(busy.is_ended() && idle.is_ended());
    stop.join().unwrap().unwrap();
    assert!(!path.exists());
    drop(folder);
}

#[test]
fn a_place_that_is_taken_and_a_name_that_cannot_be_asked_for_are_refused() {
    let served = Served::start();
    let plan = || Plan { disks: Vec::new(), window: 1.0, costs: Costs::default(), memory: MEMORY };
    let port = Address::Tcp { host: "127.0.0.1".to_owned(), port: served.engine.ports()[0] };
    for address in [port, Address::Unix(served.path())] {
        let refused = Engine::start_nbd(plan(), &NbdPlan { listen: vec![address.clone().into()], tls: None })
            .err()
            .unwrap();
        assert!(matches!(&refused, ShareError::Listen { address: at, .. } if *at == address), "{refused}");
    }
    Client::open(unix(&served.path()), "orders").ask(READ, 0, 0, 512).unwrap();
    for names in [["a", "a"], ["a", ""]] {
        let plan = Plan { disks: names.map(disk::named).into(), ..plan() };
        let refused = Engine::start_nbd(plan, &NbdPlan { listen: Vec::new(), tls: None }).err().unwrap();
        assert!(matches!(refused, ShareError::Name { .. }), "{refused}");
    }
}

#[test]
fn two_clients_get_the_bytes_of_a_storage_by_the_shares_of_their_disks() {
    const READS: usize = 200;
    const BYTES: u32 = 4_096;
    const WINDOW: f64 = 4.0;
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
