//! Serves a file over NBD with no window, until its input ends: what benches measure.
//!
//! Usage: disk PATH ADDRESS [uring | threads]
#![allow(clippy::unwrap_used, reason = "an example that cannot go on fails")]

use evenkeel_core::share::Cost;
use evenkeel_gate::share::backing::{Executor, FileBacking, FileOptions};
use evenkeel_gate::share::{DiskPlan, Engine, NbdPlan, Plan};
use std::io::Read;
use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let executor = match arguments.get(2).map(String::as_str) {
        Some("uring") => Executor::Uring,
        Some("threads") => Executor::Threads,
        _ => Executor::Any,
    };
    let options = FileOptions { executor, ..FileOptions::default() };
    let backing = Box::new(FileBacking::open(Path::new(&arguments[0]), options).unwrap());
    println!("{}", backing.by());
    let disk = DiskPlan { name: "disk".to_owned(), shares: 1.0, backing };
    let plan = Plan { disks: vec![disk], window: f64::INFINITY, cost: Cost::default(), memory: 256 << 20 };
    let engine = Engine::start_nbd(plan, &NbdPlan { listen: vec![arguments[1].parse().unwrap()] }).unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    engine.stop().unwrap();
}
