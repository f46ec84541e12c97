//! Puts a known delay between a client and a server: `relay FROM TO MILLISECONDS`, where FROM and TO are HOST:PORT or the path of a
//! unix socket. Every byte is held for half of the time on its way, whatever comes before and after it. Ends with its input, and then
//! says what it held each piece for, in the mean of both ways added up, in milliseconds, and how many pieces that were.
#![allow(clippy::print_stdout, reason = "an example prints its figures")]
#![allow(clippy::unwrap_used, reason = "an example ends where it cannot go on")]

use evenkeel_core::Nanos;
use evenkeel_os::clock::monotonic;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Pieces and nanoseconds, towards the server and back.
static HELD: [(AtomicU64, AtomicU64); 2] = [const { (AtomicU64::new(0), AtomicU64::new(0)) }; 2];

/// Bytes, and when they came.
type Piece = (Nanos, Vec<u8>);

trait Stream: Read + Write + Send {
    fn twin(&self) -> io::Result<Box<dyn Stream>>;
    fn end(&self);
}

impl Stream for TcpStream {
    fn twin(&self) -> io::Result<Box<dyn Stream>> {
        Ok(Box::new(self.try_clone()?))
    }
    fn end(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl Stream for UnixStream {
    fn twin(&self) -> io::Result<Box<dyn Stream>> {
        Ok(Box::new(self.try_clone()?))
    }
    fn end(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, delay] = arguments.as_slice() else { panic!("usage: relay FROM TO MILLISECONDS") };
    let half = Duration::from_secs_f64(delay.parse::<f64>().unwrap() / 2e3);
    let (listener, to) = (TcpListener::bind(from).unwrap(), to.clone());
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            client.set_nodelay(true).unwrap();
            let Ok(server) = connect(&to) else { continue };
            let (client, server): (Box<dyn Stream>, _) = (Box::new(client), server);
            pass(client.twin().unwrap(), server.twin().unwrap(), half, 0);
            pass(server, client, half, 1);
        }
    });
    let _ = io::stdin().read_to_end(&mut Vec::new());
    let mean = |way: usize| HELD[way].1.load(Relaxed) as f64 / 1e6 / HELD[way].0.load(Relaxed).max(1) as f64;
    println!("{:.6} {}", mean(0) + mean(1), HELD[0].0.load(Relaxed) + HELD[1].0.load(Relaxed));
}

fn connect(to: &str) -> io::Result<Box<dyn Stream>> {
    if to.starts_with('/') {
        return Ok(Box::new(UnixStream::connect(to)?));
    }
    let stream = TcpStream::connect(to)?;
    stream.set_nodelay(true)?;
    Ok(Box::new(stream))
}

/// Reads on one thread and writes on another, so that what is held does not hold up what comes behind it.
fn pass(mut from: Box<dyn Stream>, to: Box<dyn Stream>, half: Duration, way: usize) {
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

fn write(mut to: Box<dyn Stream>, pieces: &Receiver<Piece>, half: Duration, way: usize) {
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
    to.end();
}
