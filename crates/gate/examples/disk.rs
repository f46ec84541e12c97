//! Serves a file over NBD, and as a file by FUSE where a folder is given, with no window, until its input ends: what benches
//! measure.
//!
//! Usage: disk PATH ADDRESS [FOLDER]
#![allow(clippy::unwrap_used, reason = "an example that cannot go on fails")]

use evenkeel_core::share::Costs;
use evenkeel_gate::share::backing::{FileBacking, FileOptions};
use evenkeel_gate::share::{Address, Backing, DiskPlan, Engine, FuseDisk, FuseFront, NbdPlan, Plan};
use std::io::Read;
use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let backing = FileBacking::open(Path::new(&arguments[0]), FileOptions::default()).unwrap();
    let file = FuseDisk { disk: 0, name: "disk".to_owned(), bytes: backing.bytes(), read_only: false };
    let disk = DiskPlan { name: "disk".to_owned(), shares: 1.0, backing: Box::new(backing) };
    let plan = Plan { disks: vec![disk], window: f64::INFINITY, costs: Costs::default(), memory: 256 << 20 };
    let engine = Engine::start_nbd(
        plan,
        &NbdPlan { listen: vec![arguments[1].parse::<Address>().unwrap().into()], tls: None },
    )
    .unwrap();
    let mount = |folder: &String| FuseFront::mount(engine.handle(), file, Path::new(folder)).unwrap();
    let fuse = arguments.get(2).map(mount);
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    drop(fuse);
    engine.stop().unwrap();
}
