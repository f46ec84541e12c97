//! What is read while the power is on, and what is left after a cut.

use super::backing::VolatileBacking;
use super::{BLOCKS, cache};
use evenkeel_core::random::{Random, Seed};
use evenkeel_share::{Buffer, Work};
use std::os::unix::fs::FileExt;
use tempfile::NamedTempFile;

const BYTES: usize = 1 << 20;

fn disk(blocks: usize, lies: bool) -> (NamedTempFile, VolatileBacking) {
    let file = NamedTempFile::new().expect("a file");
    file.as_file().set_len(BYTES as u64).expect("its size");
    let disk = VolatileBacking::open(file.path(), blocks, lies).expect("a disk");
    (file, disk)
}

fn done(disk: &mut VolatileBacking, work: Work) -> Buffer {
    disk.perform(work).expect("it is done")
}

fn write(disk: &mut VolatileBacking, offset: usize, bytes: &[u8], durable: bool) {
    let buffer = Buffer::from_slice(bytes);
    done(disk, Work::Write { offset: offset as u64, buffer, durable });
}

fn read(disk: &mut VolatileBacking, offset: usize, bytes: usize) -> Vec<u8> {
    let buffer = Buffer::zeroed(bytes);
    done(disk, Work::Read { offset: offset as u64, buffer }).as_slice().to_vec()
}

/// What would be there after a power cut.
fn kept(file: &NamedTempFile) -> Vec<u8> {
    let mut bytes = vec![0; BYTES];
    file.as_file().read_exact_at(&mut bytes, 0).expect("all of it");
    bytes
}

#[test]
fn what_was_written_is_read_whatever_the_cache_does() {
    let (file, mut disk) = disk(20, false);
    let (mut random, mut model) = (Random::new(Seed(3)), vec![0; BYTES]);
    for round in 0..2_000 {
        let length = random.uniform(1, 20_000) as usize;
        let offset = random.uniform(0, (BYTES - length) as u64) as usize;
        match random.uniform(0, 19) {
            0 => drop(done(&mut disk, Work::Flush)),
            1 => {
                let (at, bytes) = (offset as u64, length as u64);
                let zero = Work::Zero { offset: at, bytes, allocate: round % 2 == 0, durable: false };
                done(&mut disk, zero);
                model[offset..offset + length].fill(0);
            }
            2..10 => {
                let found = read(&mut disk, offset, length);
                assert!(found == model[offset..offset + length], "{round}");
            }
            kind => {
                model[offset..offset + length].fill(round as u8);
                write(&mut disk, offset, &model[offset..offset + length], kind == 10);
            }
        }
        assert!(disk.held() <= 20);
    }
    assert!(kept(&file) != model, "something is in memory alone");
    done(&mut disk, Work::Flush);
    assert!(kept(&file) == model, "a flush leaves nothing there");
}

#[test]
fn a_power_cut_takes_some_of_what_was_not_flushed_and_nothing_else() {
    let (file, mut disk) = disk(BLOCKS, false);
    let block = cache::BLOCK as usize;
    write(&mut disk, 0, &[1; BYTES], false);
    done(&mut disk, Work::Flush);
    for place in 0..100 {
        write(&mut disk, place * block, &[2; 4_096], false);
    }
    write(&mut disk, 200 * block, &[3; 4_096], true);
    let kept = kept(&file);
    let written = kept.chunks(block).filter(|block| *block == [2; 4_096]).count();
    assert!((1..60).contains(&written), "{written}: a coin decides");
    assert_eq!(kept[200 * block..][..4_096], [3; 4_096]);
    let old = kept.chunks(block).filter(|block| *block == [1; 4_096]).count();
    assert_eq!(old + written + 1, 256, "no block is torn");
}

#[test]
fn a_disk_that_lies_keeps_what_it_promised_in_memory() {
    let (file, mut disk) = disk(BLOCKS, true);
    for place in 0..100 {
        write(&mut disk, place * 4_096, &[2; 4_096], true);
    }
    done(&mut disk, Work::Flush);
    assert!(kept(&file)[..409_600] != [2; 409_600]);
    assert!(read(&mut disk, 0, 409_600) == [2; 409_600]);
    drop(disk);
    assert!(kept(&file)[..409_600] == [2; 409_600], "switched off in order");
}
