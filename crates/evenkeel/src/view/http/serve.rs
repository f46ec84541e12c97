//! The thread of the server: all clients in turn, none of them waited for.
//!
//! A client costs a descriptor, a request of some kilobytes and its answer. Each has a deadline for its request and one
//! for taking its answer; where too many are there, or answers that nobody takes fill the memory, the one goes that has
//! kept the server waiting longest. So a client that is quick is answered, whatever others do or leave undone.

use super::bounds::Bounds;
use super::connection::{Connection, Step};
use super::page::Page;
use crate::clock::Clock;
use evenkeel_core::Nanos;
use evenkeel_os::{Awaited, poll};
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often the thread looks whether it should end.
const NAP: Duration = Duration::from_millis(50);
/// Clients that are accepted before others get their turn: in a flood each has some rounds to say what it wants.
const ACCEPTS: usize = 16;

pub struct Serving<'a> {
    listener: TcpListener,
    answer: &'a dyn Fn(&str) -> Page,
    bounds: Bounds,
    clients: Vec<(u64, Connection)>,
    next: u64,
    /// The system gave no descriptor for a client: it is asked again after a nap.
    starved: bool,
}

impl<'a> Serving<'a> {
    /// On a listener that does not block.
    pub fn new(listener: TcpListener, answer: &'a dyn Fn(&str) -> Page, bounds: Bounds) -> Self {
        Self { listener, answer, bounds, clients: Vec::new(), next: 0, starved: false }
    }

    /// Serves until told to stop.
    pub fn run(mut self, stop: &AtomicBool) {
        let clock = Clock::start();
        while !stop.load(Ordering::Relaxed) {
            let (ready, arrivals) = self.poll();
            let now = clock.now();
            ready.iter().for_each(|number| self.advance(*number, now));
            if arrivals {
                self.accept(now);
            }
            self.clients.retain(|(_, client)| !client.is_late(now, &self.bounds));
        }
    }

    /// Waits until something can be done: the clients that can go on, and whether new ones are there.
    fn poll(&mut self) -> (Vec<u64>, bool) {
        let starved = std::mem::take(&mut self.starved);
        let mut awaited = vec![if starved { Awaited::Nothing } else { Awaited::Read(self.listener.as_fd()) }];
        awaited.extend(self.clients.iter().map(|(_, client)| client.awaited()));
        let ready = poll(&awaited, NAP);
        let clients = self.clients.iter().zip(&ready[1..]).filter(|(_, ready)| **ready);
        (clients.map(|((number, _), _)| *number).collect(), ready[0])
    }

    fn place(&self, number: u64) -> Option<usize> {
        self.clients.iter().position(|(known, _)| *known == number)
    }

    fn advance(&mut self, number: u64, now: Nanos) {
        let Some(place) = self.place(number) else { return };
        match self.clients[place].1.advance(now) {
            Step::Wait => {}
            Step::Done => drop(self.clients.remove(place)),
            Step::Asks(None) => self.tell(number, &Page::text(405, "only GET is answered\n"), now),
            Step::Asks(Some(path)) => self.tell(number, &self.answer(&path), now),
        }
    }

    /// Where making it panics one page is lost, not the server.
    fn answer(&self, path: &str) -> Page {
        let made = catch_unwind(AssertUnwindSafe(|| (self.answer)(path)));
        made.unwrap_or_else(|_| Page::text(500, "a defect: this page cannot be created\n"))
    }

    fn tell(&mut self, number: u64, page: &Page, now: Nanos) {
        let Some(place) = self.place(number) else { return };
        self.clients[place].1.tell(page, now);
        self.advance(number, now);
        while self.clients.iter().map(|(_, client)| client.held()).sum::<usize>() > self.bounds.answers {
            let others = |(known, client): &(u64, Connection)| *known != number && client.held() > 0;
            if !self.evict(others) {
                break;
            }
        }
    }

    /// Lets go of one of those: who has kept us waiting longest.
    fn evict(&mut self, of: impl Fn(&(u64, Connection)) -> bool) -> bool {
        let longest =
            self.clients.iter().filter(|client| of(client)).min_by_key(|(_, client)| client.claim());
        let Some(number) = longest.map(|(number, _)| *number) else { return false };
        self.clients.retain(|(known, _)| *known != number);
        true
    }

    fn accept(&mut self, now: Nanos) {
        for _ in 0..ACCEPTS {
            let accepted = match self.listener.accept() {
                Ok((stream, _)) => Connection::new(stream, now),
                Err(error) => {
                    // Out of descriptors, or a client that left while it waited: later is better than never.
                    self.starved = error.kind() != std::io::ErrorKind::WouldBlock;
                    return;
                }
            };
            if self.clients.len() >= self.bounds.clients {
                self.evict(|_| true);
            }
            let Ok(client) = accepted else { continue };
            self.next += 1;
            self.clients.push((self.next, client));
            self.advance(self.next, now);
        }
    }
}
