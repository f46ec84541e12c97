//! Ports for servers that are named before they listen.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// One that no other test is given. Below those that the kernel hands out, or a client takes it before the server does.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(21_000);
    let next = || NEXT.fetch_add(1, Ordering::Relaxed);
    std::iter::repeat_with(next).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a port")
}
