//! From one engine to the next, while clients are connected.

use crate::client::{Client, FUA, READ, STATUS, WRITE, request, tcp, unix};
use crate::disk::Served;
use crate::{PATIENCE, fill, pattern};
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::share::Costs;
use evenkeel_share::backing::{FileBacking, FileOptions};
use evenkeel_share::handover::{Bell, Busy, Inheritance, ask};
use evenkeel_share::{Address, DiskPlan, Engine, ListenAddress, Listening, NbdPlan, Plan};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;

const BYTES: usize = 16 << 20;

/// Files and places, which stay the same from one engine to the next.
struct Site(TempDir);

impl Site {
    fn new() -> Self {
        let site = Self(tempfile::tempdir().unwrap());
        File::create(site.at("file")).unwrap().set_len(BYTES as u64).unwrap();
        site
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn nbd(&self) -> NbdPlan {
        let only = ListenAddress { disk: Some(0), ..Address::Unix(self.at("only")).into() };
        let port = Address::Tcp { host: "127.0.0.1".to_owned(), port: 0 };
        NbdPlan { listen: vec![Address::Unix(self.at("disks")).into(), port.into(), only], tls: None }
    }

    fn plan(&self) -> Plan {
        let backing = Box::new(FileBacking::open(&self.at("file"), FileOptions::default()).unwrap());
        let disks = vec![DiskPlan { name: "orders".to_owned(), shares: 1.0, backing }];
        Plan { disks, window: 64.0, costs: Costs::default(), memory: 8 << 20 }
    }

    fn start(&self) -> Engine {
        Engine::start_nbd(self.plan(), &self.nbd()).unwrap()
    }

    fn start_with(&self, inheritance: Inheritance) -> (Plan, Listening) {
        let plan = self.plan();
        let adopted = Listening::adopt(&self.nbd(), &plan.disks, plan.memory, inheritance.handed);
        (plan, adopted.unwrap())
    }

    /// The next engine, as another process would have it.
    fn succeed(&self, mut engine: Engine) -> Engine {
        let bell = Bell::bind(&self.at("bell")).unwrap();
        std::thread::scope(|scope| {
            let next = scope.spawn(|| {
                let (mut predecessor, inheritance) = ask(&self.at("bell")).unwrap().unwrap();
                assert_eq!(inheritance.report, b"told");
                let (plan, listening) = self.start_with(inheritance);
                predecessor.take().unwrap();
                Engine::start_listening(plan, listening).unwrap()
            });
            let successor = rung(&bell);
            let handed = engine.hand_over(PATIENCE).unwrap();
            successor.give(&Inheritance { handed, report: b"told".to_vec() }).unwrap();
            next.join().unwrap()
        })
    }
}

fn rung(bell: &Bell) -> evenkeel_share::handover::Successor {
    loop {
        match bell.ring() {
            Some(successor) => return successor,
            None => std::thread::yield_now(),
        }
    }
}

/// Writes and reads until told to stop, one block after another; each read has what was written last. How many.
fn work(path: &Path, seed: u64, over: &AtomicBool) -> u64 {
    let mut client = Client::open(unix(path), "orders", seed.is_multiple_of(2));
    let mut random = Random::new(Seed(seed));
    let mut written = [0_u8; 64];
    let mut rounds = 0;
    while !over.load(Ordering::SeqCst) {
        let block = random.uniform(0, 63);
        let place = (seed * 64 + block) * 4_096;
        let byte = random.uniform(1, 255) as u8;
        client.write(if u64::is_multiple_of(rounds, 8) { FUA } else { 0 }, place, &[byte; 4_096]).unwrap();
        written[block as usize] = byte;
        let other = random.uniform(0, 63);
        let read = client.ask(READ, 0, (seed * 64 + other) * 4_096, 4_096).unwrap();
        assert_eq!(read, vec![written[other as usize]; 4_096]);
        rounds += 1;
    }
    rounds
}

#[test]
fn clients_at_work_notice_nothing_of_handovers() {
    let site = Site::new();
    let (engine, over) = (site.start(), AtomicBool::new(false));
    let last = std::thread::scope(|scope| {
        let (mut engine, site, over) = (engine, &site, &over);
        let clients: Vec<_> =
            (0..4).map(|seed| scope.spawn(move || work(&site.at("disks"), seed, over))).collect();
        for _ in 0..5 {
            let before = engine.handle().measure(PATIENCE).unwrap().counts.disks[0].writes;
            while engine.handle().measure(PATIENCE).unwrap().counts.disks[0].writes < before + 200 {
                std::thread::yield_now();
            }
            engine = site.succeed(engine);
        }
        over.store(true, Ordering::SeqCst);
        assert!(clients.into_iter().all(|client| client.join().unwrap() > 0));
        engine
    });
    last.stop().unwrap();
    assert!(!site.at("disks").exists() && !site.at("only").exists(), "a socket is left behind");
}

#[test]
fn what_a_client_has_begun_and_what_it_has_not_taken_goes_along() {
    let site = Site::new();
    let mut engine = site.start();
    let port = engine.ports()[0];
    let bytes = pattern(3, 100_000);
    let mut client = Client::open(unix(&site.at("only")), "orders", true);
    client.write(0, 0, &bytes).unwrap();
    // Half a head, half a payload, half of one that is refused, and answers that nobody takes.
    let (mut head, mut payload) =
        (Client::open(tcp(port), "orders", false), Client::open(unix(&site.at("disks")), "orders", true));
    let mut refused = Client::open(unix(&site.at("disks")), "orders", false);
    let mut holes = Client::open_holes(unix(&site.at("disks")), "orders");
    head.send(&request(READ, 0, 9, 0, 512)[..13]);
    payload.send(&[&request(WRITE, FUA, 8, 1 << 20, 100_000)[..], &bytes[..50_000]].concat());
    refused.send(&[&request(WRITE, 64, 7, 0, 5_000)[..], &[1; 2_000]].concat());
    let mut slow = Client::open(unix(&site.at("disks")), "orders", true);
    let asked: Vec<u8> = (0..150).flat_map(|number| request(READ, 0, number, 0, 64 << 10)).collect();
    slow.send(&asked);
    for _ in 0..2 {
        assert_eq!(client.ask(READ, 0, 0, 100_000).unwrap(), bytes);
        engine = site.succeed(engine);
    }
    assert_eq!(engine.ports(), [port]);
    head.send(&request(READ, 0, 9, 0, 512)[13..]);
    assert_eq!(head.answer(512).bytes, bytes[..512]);
    payload.send(&bytes[50_000..]);
    assert_eq!(
        (payload.answer(0).cookie, payload.ask(READ, 0, 1 << 20, 100_000).unwrap()),
        (8, bytes.clone())
    );
    refused.send(&[1; 3_000]);
    let answer = refused.answer(0);
    assert_eq!((answer.cookie, answer.error), (7, 22));
    assert_eq!(refused.ask(READ, 0, 0, 512).unwrap(), bytes[..512]);
    holes.send(&request(STATUS, 0, 5, 0, 4_096));
    assert_eq!(holes.answer(0).error, 0, "it may still ask for holes");
    let mut seen = [false; 150];
    for _ in 0..150 {
        let answer = slow.answer(64 << 10);
        assert!(!std::mem::replace(&mut seen[answer.cookie as usize], true), "answered twice");
        assert!(answer.error == 0 && answer.bytes == bytes[..64 << 10]);
    }
    let mut new = Client::open(tcp(port), "orders", true);
    assert_eq!(new.ask(READ, 0, 0, 100_000).unwrap(), bytes);
}

#[test]
fn who_does_not_choose_a_disk_is_not_waited_for() {
    let site = Site::new();
    let engine = site.start();
    let mut silent = unix(&site.at("disks"));
    let mut served = Client::open(unix(&site.at("disks")), "orders", true);
    let engine = site.succeed(engine);
    // The greeting, and then the end.
    assert_eq!(silent.read_to_end(&mut Vec::new()).unwrap(), 18);
    assert_eq!(served.ask(READ, 0, 0, 512).unwrap(), [0; 512]);
    drop(engine);
}

#[test]
fn a_successor_that_ends_before_its_time_leaves_all_where_it_was() {
    let site = Site::new();
    let mut engine = site.start();
    let mut client = Client::open(unix(&site.at("disks")), "orders", true);
    client.write(0, 0, &[5; 4_096]).unwrap();
    let bell = Bell::bind(&site.at("bell")).unwrap();
    let inheritance = std::thread::scope(|scope| {
        // It opens the disk and its sockets, and then fails.
        let fails = scope.spawn(|| {
            let (predecessor, inheritance) = ask(&site.at("bell")).unwrap().unwrap();
            drop(site.start_with(inheritance));
            drop(predecessor);
        });
        let successor = rung(&bell);
        let inheritance = Inheritance { handed: engine.hand_over(PATIENCE).unwrap(), report: Vec::new() };
        assert!(successor.give(&inheritance).is_err());
        fails.join().unwrap();
        inheritance
    });
    let (plan, listening) = site.start_with(inheritance);
    let again = Engine::start_listening(plan, listening).unwrap();
    assert_eq!(client.ask(READ, 0, 0, 4_096).unwrap(), [5; 4_096]);
    assert_eq!(Client::open(unix(&site.at("only")), "orders", true).ask(READ, 0, 0, 512).unwrap(), [5; 512]);
    drop(again);
    assert!(ask(&site.at("no bell")).unwrap().is_none(), "nobody serves there");
}

#[test]
fn a_successor_that_is_given_up_closes_the_disks_before_its_predecessor_opens_them() {
    let site = Site::new();
    let mut engine = site.start();
    let mut client = Client::open(unix(&site.at("disks")), "orders", true);
    let bell = Bell::bind(&site.at("bell")).unwrap();
    let inheritance = std::thread::scope(|scope| {
        // It says something else than that it takes it, hears that it is over, and still has the disk open for a while.
        let late = scope.spawn(|| {
            let mut stream = UnixStream::connect(site.at("bell")).unwrap();
            stream.write_all(b"\x01\x13\0\0\0evenkeel handover 1\x63\0\0\0\0").unwrap();
            stream.read_to_end(&mut Vec::new()).unwrap();
            let opened = site.plan();
            std::thread::sleep(Duration::from_millis(200));
            drop(opened);
            drop(stream);
        });
        let successor = rung(&bell);
        let inheritance = Inheritance { handed: engine.hand_over(PATIENCE).unwrap(), report: Vec::new() };
        assert!(successor.give(&inheritance).is_err());
        // Now, and not when the other thread has ended.
        let opened = site.start_with(inheritance);
        late.join().unwrap();
        opened
    });
    let again = Engine::start_listening(inheritance.0, inheritance.1).unwrap();
    assert_eq!(client.ask(READ, 0, 0, 512).unwrap(), [0; 512]);
    drop(again);
}

#[test]
fn storage_that_takes_too_long_keeps_its_engine_and_its_clients() {
    let mut served = Served::start();
    fill(&served);
    let mut client = Client::open(unix(&served.path()), "orders", true);
    served.orders.held.store(true, Ordering::SeqCst);
    client.send(&[request(READ, 0, 1, 0, 512), request(READ, 0, 2, 512, 512)].concat());
    while served.orders.started.load(Ordering::SeqCst) < 2 {
        std::thread::yield_now();
    }
    assert_eq!(served.engine.hand_over(Duration::from_millis(20)).err(), Some(Busy::Slow));
    served.orders.held.store(false, Ordering::SeqCst);
    assert_eq!(client.answer(512).bytes, pattern(0, 512));
    assert_eq!(client.answer(512).bytes, pattern(512, 512));
    assert_eq!(client.ask(READ, 0, 1_024, 512).unwrap(), pattern(1_024, 512));
    Client::open(unix(&served.path()), "orders", true).ask(READ, 0, 0, 512).unwrap();
}

#[test]
fn a_disk_that_has_lost_something_is_not_handed_over_as_if_it_were_well() {
    let site = Site::new();
    let mut engine = site.start();
    let mut client = Client::open(unix(&site.at("disks")), "orders", true);
    File::options().write(true).open(site.at("file")).unwrap().set_len(4_096).unwrap();
    assert!(client.write(0, 1 << 20, &[1; 4_096]).is_err());
    assert_eq!(engine.hand_over(PATIENCE).err(), Some(Busy::Lost { disk: "orders".to_owned() }));
    assert!(client.ask(READ, 0, 0, 512).is_ok(), "it is served as before");
}
