//! Puts a known delay between a client and a server: `relay FROM TO MILLISECONDS`, where FROM and TO are HOST:PORT or the path of a
//! unix socket. Every byte is held for half of the time on its way, whatever comes before and after it. Ends with its input, and then
//! says what it held each piece for, in the mean of both ways added up, in milliseconds, and how many pieces that were.
#![allow(clippy::print_stdout, reason = "an example prints its figures")]
#![allow(clippy::unwrap_used, reason = "an example ends where it cannot go on")]

use evenkeel_core::Nanos;
use evenkeel_os::clock::monotonic;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Pieces and nanoseconds, towards the server and back.
static HELD: [(AtomicU64, AtomicU64); 2] = [const { (AtomicU64::new(0), AtomicU64::new(0)) }; 2];

/// Bytes, and when they came.
type Piece = (Nanos, Vec<u8>);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, delay] = arguments.as_slice() else { panic!("usage: relay FROM TO MILLISECONDS") };
    let half = Duration::from_secs_f64(delay.parse::<f64>().unwrap() / 2e3);
    let (listener, to) = (TcpListener::bind(from).unwrap(), to.clone());
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            client.set_nodelay(true).unwrap();
            let Ok(server) = connect(&to) else { continue };
            pass(client.try_clone().unwrap(), server.try_clone().unwrap(), half, 0);
            pass(server, client, half, 1);
        }
    });
    let _ = io::stdin().read_to_end(&mut Vec::new());
    let mean = |way: usize| HELD[way].1.load(Relaxed) as f64 / 1e6 / HELD[way].0.load(Relaxed).max(1) as f64;
    println!("{:.6} {}", mean(0) + mean(1), HELD[0].0.load(Relaxed) + HELD[1].0.load(Relaxed));
}

/// A socket of either kind is read, written and ended by the same calls.
fn connect(to: &str) -> io::Result<TcpStream> {
    if to.starts_with('/') {
        return Ok(OwnedFd::from(UnixStream::connect(to)?).into());
    }
    let stream = TcpStream::connect(to)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Reads on one thread and writes on another, so that what is held does not hold up what comes behind it.
fn pass(mut from: TcpStream, to: TcpStream, half: Duration, way: usize) {
    let (sender, pieces) = channel();
    thread::spawn(move || write(to, &pieces, half, way));
    thread::spawn(move || {
        let mut bytes = [0; 1 << 16];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            if sender.send((monotonic(), bytes[..count].to_vec())).is_err() {
                break;
            }
        }
    });
}

fn write(mut to: TcpStream, pieces: &Receiver<Piece>, half: Duration, way: usize) {
    evenkeel_os::wake_promptly();
    for (came, bytes) in pieces {
        let due = came + half.into();
        let now = monotonic();
        if now < due {
            thread::sleep((due - now).into());
        }
        HELD[way].0.fetch_add(1, Relaxed);
        HELD[way].1.fetch_add((monotonic() - came).0, Relaxed);
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
