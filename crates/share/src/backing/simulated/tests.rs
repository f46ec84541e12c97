//! A simulated array whose file is cut while it is used.

use super::*;
use crate::backing::{FileBacking, FileOptions};
use crate::{Buffer, Errno};
use evenkeel_core::share::{ArrayPlan, Cost, Service};
use std::time::Duration;

const PLAN: ArrayPlan = ArrayPlan {
    spindles: 1_024,
    mean_s: 1e-6,
    service: Service::Exponential,
    cost: Cost { per_byte: 0.0, write: 1.0 },
    cache: None,
};

fn read(array: &mut Simulated, id: u64) -> Result<(), Errno> {
    let mut ended = Vec::new();
    array.start(id, Work::Read { offset: 0, buffer: Buffer::zeroed(512) }, Nanos::ZERO);
    while ended.is_empty() {
        array.push(Nanos::ZERO).unwrap();
        array.collect(Nanos::ZERO, &mut ended);
        std::thread::sleep(Duration::from_micros(100));
    }
    ended.remove(0).answer.map(drop)
}

#[test]
fn an_array_whose_file_is_cut_gives_errors_and_ends_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let (path, disk) = (folder.path().join("array"), folder.path().join("disk"));
    create(&path, &PLAN).unwrap();
    std::fs::write(&disk, [7; 4_096]).unwrap();
    let inner = FileBacking::open(&disk, FileOptions::default()).unwrap();
    let mut array = Simulated::open(&path, Box::new(inner), Seed(1)).unwrap();
    assert_eq!(read(&mut array, 1), Ok(()));
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(0).unwrap();
    for id in 2..100 {
        assert_eq!(read(&mut array, id), Err(Errno::IO));
    }
}
