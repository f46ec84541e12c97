//! Clients that hold what others need, and what becomes of those.

use crate::client::{Client, FLUSH, READ, TRIM, WRITE, read, request, unix};
use crate::disk::Served;
use crate::{PATIENCE, fill, pattern, wait};
use std::io::Read;
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A client that asks for more than it ever takes.
fn stopped_reader(served: &Served, size: u32) -> Client {
    let mut client = Client::open(unix(&served.path()), "orders");
    let asked: Vec<u8> = (0..200).flat_map(|number| request(READ, 0, number, 0, size)).collect();
    client.send(&asked);
    client
}

/// Serves a client that does as it should, and says how many others are there yet when that is done. Who holds what it
/// needs is ended after some seconds: as long as nobody was, it did not have to wait for that.
fn others_when_served(served: &Served) -> usize {
    let mut honest = Client::open(unix(&served.path()), "orders");
    assert_eq!(honest.ask(READ, 0, 512, 64 << 10).unwrap(), pattern(512, 64 << 10));
    served.engine.handle().measure(PATIENCE).unwrap().counts.clients - 1
}

#[test]
fn clients_that_hold_memory_and_do_not_move_hold_up_nobody() {
    let half = |served: &Served| {
        let mut client = Client::open(unix(&served.path()), "orders");
        client.send(&[&request(WRITE, 0, 1, 0, 4 << 20)[..], &[7; 1_000]].concat());
        client
    };
    let takes_nothing = |served: &Served| stopped_reader(served, 512 << 10);
    for hold in [&half as &dyn Fn(&Served) -> Client, &takes_nothing] {
        let served = Served::start();
        fill(&served);
        let _two = [hold(&served), hold(&served)];
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(others_when_served(&served), 2);
    }
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
    let mut idle = Client::open(unix(&served.path()), "orders");
    let mut silent: Vec<TcpStream> = (0..1_200).map(|_| unix(&served.path())).collect();
    // There is room for a thousand. For the one that comes the oldest goes, and no more.
    let others = others_when_served(&served);
    assert!(others > 900, "{others} are left");
    for _ in 0..20 {
        others_when_served(&served);
    }
    let mut greeting = [0; 18];
    let newest = silent.last_mut().unwrap();
    newest.read_exact(&mut greeting).unwrap();
    assert_eq!(read(newest, &mut [0]).unwrap(), 0, "nobody ends a handshake that does not end itself");
    assert_eq!(idle.ask(READ, 0, 512, 512).unwrap(), pattern(512, 512), "one that is served stays");
}

fn trims(many: u64, bytes: u32) -> Vec<u8> {
    (0..many).flat_map(|number| request(TRIM, 0, number, 0, bytes)).collect()
}

#[test]
fn what_clients_have_asked_for_that_are_gone_is_not_done() {
    let served = Served::start_window(1.0);
    served.orders.held.store(true, Ordering::SeqCst);
    let ask = |_| {
        let mut client = Client::open(unix(&served.path()), "orders");
        client.send(&trims(100, 4_096));
        client
    };
    let clients: Vec<Client> = (0..12).map(ask).collect();
    wait(&served, |seen| seen.waiting > 1_000);
    drop(clients);
    // The storage has not moved: nobody wants any of it any more.
    wait(&served, |seen| seen.waiting == 0 && seen.counts.clients == 0);
    served.orders.held.store(false, Ordering::SeqCst);
    let mut other = Client::open(unix(&served.path()), "orders");
    other.ask(READ, 0, 0, 512).unwrap();
    let begun = served.orders.started.load(Ordering::SeqCst);
    assert!(begun < 20, "{begun} were begun");
}

#[test]
fn a_client_that_asks_for_much_holds_up_itself_alone() {
    let served = Served::start_window(1.0);
    served.orders.held.store(true, Ordering::SeqCst);
    let mut busy = Client::open(unix(&served.path()), "orders");
    let mut other = Client::open(unix(&served.path()), "orders");
    busy.send(&trims(100, 64 << 10));
    wait(&served, |seen| seen.waiting == 99);
    other.send(&request(READ, 0, 1, 4_096, 512));
    wait(&served, |seen| seen.waiting == 100);
    served.orders.held.store(false, Ordering::SeqCst);
    assert_eq!(other.answer(512).error, 0);
    let order = served.orders.order.lock().unwrap().clone();
    let turn = order.iter().position(|offset| *offset == 4_096).unwrap();
    assert!(turn < 20, "{turn} of the other client went before");
}

#[test]
fn requests_of_one_client_without_bytes_are_bounded_by_their_number_and_by_what_they_move() {
    let flushes: Vec<u8> = (0..3_000).flat_map(|number| request(FLUSH, 0, number, 0, 0)).collect();
    for (asked, many, most) in [(flushes, 3_000, 256), (trims(200, 8 << 20), 200, 32)] {
        let served = Served::start();
        served.orders.held.store(true, Ordering::SeqCst);
        let mut busy = Client::open(unix(&served.path()), "orders");
        busy.send(&asked);
        let mut other = Client::open(unix(&served.path()), "archive");
        other.ask(READ, 0, 0, 512).unwrap();
        assert!(served.orders.started.load(Ordering::SeqCst) <= most);
        served.orders.held.store(false, Ordering::SeqCst);
        (0..many).for_each(|_| assert_eq!(busy.answer(0).error, 0));
    }
}

#[test]
fn however_many_come_to_one_place_each_other_place_has_room_for_its_own() {
    let served = Served::start();
    fill(&served);
    let own = served.folder.path().join("orders");
    // As many as ever come in there: each has chosen the disk, and says nothing more.
    let silent: Vec<Client> = (0..968).map(|_| Client::open(unix(&own), "")).collect();
    let _knocks = unix(&own);
    wait(&served, |seen| seen.counts.crowd.times > 0);
    for _ in 0..3 {
        assert!(others_when_served(&served) >= silent.len());
    }
    drop(silent);
    let mut late = Client::open(unix(&own), "");
    assert_eq!(late.ask(READ, 0, 512, 512).unwrap(), pattern(512, 512));
}
