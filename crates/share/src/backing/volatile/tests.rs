//! What is read while the power is on, and what is left after a cut.

use super::*;
use evenkeel_core::random::{Random, Seed};
use std::os::unix::fs::FileExt;
use tempfile::NamedTempFile;

const BYTES: usize = 1 << 20;

fn disk(options: VolatileOptions) -> (NamedTempFile, Disk) {
    let path = NamedTempFile::new().unwrap();
    path.as_file().set_len(BYTES as u64).unwrap();
    let file = Opened::open(path.path(), false, false).unwrap();
    (path, Disk { file, cache: Mutex::new(Cache::new(options.seed)), options })
}

fn write(disk: &Disk, offset: usize, bytes: &[u8], durable: bool) {
    let buffer = Buffer::from_slice(bytes);
    disk.perform(Work::Write { offset: offset as u64, buffer, durable }).unwrap();
}

fn read(disk: &Disk, offset: usize, bytes: usize) -> Vec<u8> {
    let buffer = Buffer::zeroed(bytes);
    disk.perform(Work::Read { offset: offset as u64, buffer }).unwrap().as_slice().to_vec()
}

/// What would be there after a power cut.
fn kept(file: &NamedTempFile) -> Vec<u8> {
    let mut bytes = vec![0; BYTES];
    file.as_file().read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

#[test]
fn what_was_written_is_read_whatever_the_cache_does() {
    let (file, disk) = disk(VolatileOptions { blocks: 20, ..VolatileOptions::default() });
    let (mut random, mut model) = (Random::new(Seed(3)), vec![0; BYTES]);
    for round in 0..2_000 {
        let length = random.uniform(1, 20_000) as usize;
        let offset = random.uniform(0, (BYTES - length) as u64) as usize;
        match random.uniform(0, 19) {
            0 => drop(disk.perform(Work::Flush).unwrap()),
            1 => {
                let (at, bytes) = (offset as u64, length as u64);
                disk.perform(Work::Zero { offset: at, bytes, allocate: round % 2 == 0, durable: false })
                    .unwrap();
                model[offset..offset + length].fill(0);
            }
            2..10 => assert!(read(&disk, offset, length) == model[offset..offset + length], "{round}"),
            kind => {
                model[offset..offset + length].fill(round as u8);
                write(&disk, offset, &model[offset..offset + length], kind == 10);
            }
        }
        assert!(disk.cache().len() <= 20);
    }
    assert!(kept(&file) != model, "something is in memory alone");
    disk.perform(Work::Flush).unwrap();
    assert!(kept(&file) == model, "a flush leaves nothing there");
}

#[test]
fn a_power_cut_takes_some_of_what_was_not_flushed_and_nothing_else() {
    let (file, disk) = disk(VolatileOptions::default());
    write(&disk, 0, &[1; BYTES], false);
    disk.perform(Work::Flush).unwrap();
    for block in 0..100 {
        write(&disk, block * 4_096, &[2; 4_096], false);
    }
    write(&disk, 200 * 4_096, &[3; 4_096], true);
    let kept = kept(&file);
    let written = kept.chunks(4_096).filter(|block| *block == [2; 4_096]).count();
    assert!((1..60).contains(&written), "{written}: a coin decides");
    assert_eq!(kept[200 * 4_096..][..4_096], [3; 4_096]);
    let old = kept.chunks(4_096).filter(|block| *block == [1; 4_096]).count();
    assert_eq!(old + written + 1, 256, "no block is torn");
}

#[test]
fn a_disk_that_lies_keeps_what_it_promised_in_memory() {
    let (file, disk) = disk(VolatileOptions { ignore_flush: true, ..VolatileOptions::default() });
    for block in 0..100 {
        write(&disk, block * 4_096, &[2; 4_096], true);
    }
    disk.perform(Work::Flush).unwrap();
    assert!(kept(&file)[..409_600] != [2; 409_600]);
    assert!(read(&disk, 0, 409_600) == [2; 409_600]);
    drop(disk);
    assert!(kept(&file)[..409_600] == [2; 409_600], "switched off in order");
}
