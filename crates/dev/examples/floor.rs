//! The least that a prepared point select costs a client on this machine: send, wait, receive, and nothing else.
//!
//! `floor SOCKET SECONDS ROWS [RATE]` asks one request after another over one unix socket, or Poisson arrivals at
//! RATE per second, and prints how many. It keeps no times, knows no deadlines and reads no more of an answer than
//! its end, so that no generator that blocks between requests can cost less.
#![allow(clippy::print_stdout, reason = "an example prints its figures")]

use evenkeel_core::random::{Random, Seed};
use evenkeel_os::clock::monotonic;
use evenkeel_wire::{
    Account, Channel, Encryption, Event, Expect, Login, LoginStep, Parameter, ResponseReader, command,
};
use std::error::Error;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

struct Session {
    stream: UnixStream,
    reader: ResponseReader,
    buffer: Vec<u8>,
    statement: u32,
}

impl Session {
    fn open(socket: &str) -> Result<Self, Box<dyn Error>> {
        let mut stream = UnixStream::connect(socket)?;
        let account =
            Account { user: "root".into(), password: String::new(), database: Some("sbtest".into()) };
        let mut login = Login::new(account, Channel::Local, Encryption::Never);
        let (mut buffer, mut out) = (vec![0; 64 << 10], Vec::new());
        loop {
            let count = stream.read(&mut buffer)?;
            if let LoginStep::Done = login.feed(&mut &buffer[..count], &mut out)? {
                break;
            }
            stream.write_all(&out)?;
            out.clear();
        }
        Ok(Self { stream, reader: ResponseReader::new(true, 1 << 20), buffer, statement: 0 })
    }

    /// Sends a command and takes its answer; gives the number of a statement that was prepared.
    fn ask(&mut self, out: &[u8], expect: Expect, sequence: u8, epoll: i32) -> Result<u32, Box<dyn Error>> {
        self.stream.write_all(out)?;
        self.reader.begin(expect, sequence, false);
        let mut prepared = 0;
        while !self.reader.is_done() {
            wait(epoll);
            let count = self.stream.read(&mut self.buffer)?;
            if count == 0 {
                return Err("the server has closed the connection".into());
            }
            let mut input = &self.buffer[..count];
            while let Some(event) = self.reader.next(&mut input)? {
                match event {
                    Event::Prepared { statement, .. } => prepared = statement,
                    Event::Error(error) => return Err(error.into()),
                    _ => {}
                }
            }
        }
        Ok(prepared)
    }

    fn select(&mut self, id: u64, out: &mut Vec<u8>, epoll: i32) -> Result<(), Box<dyn Error>> {
        out.clear();
        let sequence = command::execute(out, self.statement, [Parameter::Int(id as i64)].into_iter());
        self.ask(out, Expect::Binary, sequence, epoll).map(|_| ())
    }
}

/// Waits until the socket has bytes.
fn wait(epoll: i32) {
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    // SAFETY: the event lives through the call.
    unsafe { libc::epoll_wait(epoll, &raw mut event, 1, -1) };
}

/// An epoll instance that watches this socket's bytes.
fn watch(stream: &UnixStream) -> i32 {
    let mut event = libc::epoll_event { events: (libc::EPOLLIN | libc::EPOLLET) as u32, u64: 0 };
    // SAFETY: the event lives through the call.
    unsafe {
        let epoll = libc::epoll_create1(libc::EPOLL_CLOEXEC);
        libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, stream.as_raw_fd(), &raw mut event);
        epoll
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [socket, seconds, rows, rate @ ..] = &arguments[..] else {
        return Err("usage: floor SOCKET SECONDS ROWS [RATE]".into());
    };
    let (seconds, rows): (f64, u64) = (seconds.parse()?, rows.parse()?);
    let rate: Option<f64> = rate.first().map(|rate| rate.parse()).transpose()?;
    // SAFETY: a system call without pointers. Without it the kernel may wake 50 us late to save power.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
    let mut session = Session::open(socket)?;
    let epoll = watch(&session.stream);
    let mut out = Vec::new();
    let sequence = command::prepare(&mut out, b"SELECT c FROM sbtest1 WHERE id=?");
    session.statement = session.ask(&out, Expect::Prepared, sequence, epoll)?;
    let mut random = Random::new(Seed(1));
    let (start, mut due, mut completed) = (monotonic(), 0.0, 0_u64);
    loop {
        let elapsed = (monotonic() - start).as_secs_f64();
        if elapsed.max(due) >= seconds {
            break;
        }
        if let Some(rate) = rate {
            if due > elapsed {
                std::thread::sleep(std::time::Duration::from_secs_f64(due - elapsed));
            }
            due += random.exponential(1.0 / rate);
        }
        session.select(random.uniform(1, rows), &mut out, epoll)?;
        completed += 1;
    }
    println!(r#"{{"completed": {completed}, "seconds": {}}}"#, (monotonic() - start).as_secs_f64());
    Ok(())
}
