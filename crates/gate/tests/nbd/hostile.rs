//! Clients that hold what others need, and what becomes of those.

use crate::client::{Client, READ, Stream, WRITE, read, request, unix};
use crate::disk::Served;
use crate::{PATIENCE, fill, pattern};
use std::io::Read;
use std::time::Duration;

/// A client that asks for more than it ever takes.
fn stopped_reader(served: &Served, size: u32) -> Client {
    let mut client = Client::open(unix(&served.path()), "orders", false);
    let asked: Vec<u8> = (0..200).flat_map(|number| request(READ, 0, number, 0, size)).collect();
    client.send(&asked);
    client
}

/// Serves a client that does as it should, and says how many others are there yet when that is done. Who holds what it
/// needs is ended after some seconds: as long as nobody was, it did not have to wait for that.
fn others_when_served(served: &Served) -> usize {
    let mut honest = Client::open(unix(&served.path()), "orders", false);
    assert_eq!(honest.ask(READ, 0, 512, 64 << 10).unwrap(), pattern(512, 64 << 10));
    served.engine.handle().measure(PATIENCE).unwrap().counts.clients - 1
}

#[test]
fn writes_that_are_sent_by_half_hold_up_nobody() {
    let served = Served::start();
    fill(&served);
    let half = |_| {
        let mut client = Client::open(unix(&served.path()), "orders", false);
        client.send(&[&request(WRITE, 0, 1, 0, 4 << 20)[..], &[7; 1_000]].concat());
        client
    };
    let _two: Vec<Client> = (0..2).map(half).collect();
    assert_eq!(others_when_served(&served), 2);
}

#[test]
fn clients_that_take_no_answers_hold_up_nobody() {
    let served = Served::start();
    fill(&served);
    let _two: Vec<Client> = (0..2).map(|_| stopped_reader(&served, 512 << 10)).collect();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(others_when_served(&served), 2);
}

#[test]
fn where_very_many_hold_all_memory_the_next_one_is_served_when_those_are_ended() {
    let served = Served::start();
    fill(&served);
    let _many: Vec<Client> = (0..20).map(|_| stopped_reader(&served, 64 << 10)).collect();
    std::thread::sleep(Duration::from_millis(500));
    let left = others_when_served(&served);
    assert!(left < 20, "none of them was ended: {left}");
}

#[test]
fn a_thousand_silent_clients_lock_nobody_out_and_go_after_a_while() {
    let served = Served::start();
    fill(&served);
    let mut idle = Client::open(unix(&served.path()), "orders", false);
    let mut silent: Vec<Box<dyn Stream>> = (0..1_200).map(|_| unix(&served.path())).collect();
    // There is room for a thousand. For the one that comes the oldest goes, and no more.
    let others = others_when_served(&served);
    assert!(others > 900, "{others} are left");
    for _ in 0..20 {
        others_when_served(&served);
    }
    let mut greeting = [0; 18];
    let newest = silent.last_mut().unwrap();
    newest.read_exact(&mut greeting).unwrap();
    assert_eq!(read(&mut **newest, &mut [0]).unwrap(), 0, "nobody ends a handshake that does not end itself");
    assert_eq!(idle.ask(READ, 0, 512, 512).unwrap(), pattern(512, 512), "one that is served stays");
}
