//! Real files and devices, by io_uring and by threads, cached and past the cache.

use super::*;
use crate::left_out::left_out;
use crate::{Answer, DiskPlan, Engine, Plan, Reply, Request};
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::share::Costs;
use evenkeel_os::clock::Clock;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tempfile::{NamedTempFile, TempDir};

mod devices;

const PATIENCE: Duration = Duration::from_secs(60);
const EXECUTORS: [Executor; 2] = [Executor::Uring, Executor::Threads];

fn sparse(bytes: u64) -> NamedTempFile {
    // On a disk: files in memory have no cache of their own.
    let file = NamedTempFile::new_in("/var/tmp").unwrap();
    file.as_file().set_len(bytes).unwrap();
    file
}

fn options(executor: Executor, direct: bool) -> FileOptions {
    FileOptions { direct, read_only: false, executor }
}

/// All ways to use a file that this machine has; those that it has not are named as left out.
fn ways(path: &Path) -> Vec<FileOptions> {
    let all = EXECUTORS.iter().flat_map(|&executor| [false, true].map(|direct| options(executor, direct)));
    all.filter(|&options| match FileBacking::open(path, options) {
        Ok(_) => true,
        Err(error @ (FileError::NoDirect(_) | FileError::NoUring(_))) => {
            left_out(format!("in part: {error}"));
            false
        }
        Err(error) => panic!("{error}"),
    })
    .collect()
}

fn serve(path: &Path, options: FileOptions) -> Engine {
    let backing = Box::new(FileBacking::open(path, options).unwrap());
    let disk = DiskPlan { name: "disk".to_owned(), shares: 1.0, backing };
    let plan = Plan { disks: vec![disk], window: f64::INFINITY, costs: Costs::default(), memory: 1 << 20 };
    Engine::start(plan).unwrap()
}

fn ask(engine: &Engine, work: Work) -> Receiver<Answer> {
    let (sender, receiver) = channel();
    let reply = Reply::Call(Box::new(move |answer| drop(sender.send(answer))));
    engine.handle().submit(Request { disk: 0, work, reply });
    receiver
}

fn done(engine: &Engine, work: Work) -> Answer {
    ask(engine, work).recv_timeout(PATIENCE).unwrap()
}

fn write(offset: u64, bytes: &[u8]) -> Work {
    Work::Write { offset, buffer: Buffer::from_slice(bytes), durable: false }
}

fn read(offset: u64, bytes: usize) -> Work {
    Work::Read { offset, buffer: Buffer::zeroed(bytes) }
}

fn bytes_at(engine: &Engine, offset: u64, bytes: usize) -> Vec<u8> {
    done(engine, read(offset, bytes)).unwrap().as_slice().to_vec()
}

/// Pieces of a disk, of any length, that leave nothing out.
fn pieces(bytes: u64, random: &mut Random) -> Vec<(u64, usize)> {
    let mut found = Vec::new();
    let mut offset = 0;
    while offset < bytes {
        let longest = if random.chance(0.5) { 700 } else { 40_000 };
        let length = (random.uniform(1, longest)).min(bytes - offset);
        found.push((offset, length as usize));
        offset += length;
    }
    found
}

#[test]
fn writes_side_by_side_at_any_place_are_all_read_again() {
    const BYTES: u64 = 1 << 20;
    let file = sparse(BYTES);
    let mut random = Random::new(Seed(7));
    for options in ways(file.path()) {
        let engine = serve(file.path(), options);
        for round in 1..=4_u8 {
            let pieces = pieces(BYTES, &mut random);
            let content = |place: usize| round.wrapping_mul(53).wrapping_add(place as u8);
            let works = pieces.iter().enumerate();
            let written: Vec<_> = works
                .map(|(place, &(offset, length))| {
                    let buffer = Buffer::from_slice(&vec![content(place); length]);
                    ask(&engine, Work::Write { offset, buffer, durable: place % 16 == 0 })
                })
                .collect();
            written.iter().for_each(|written| drop(written.recv_timeout(PATIENCE).unwrap().unwrap()));
            for (place, &(offset, length)) in pieces.iter().enumerate() {
                let found = bytes_at(&engine, offset, length);
                let wrong = found.iter().position(|&byte| byte != content(place));
                assert_eq!(wrong, None, "{options:?}: byte of {length} at {offset}");
            }
        }
        engine.stop().unwrap();
    }
}

#[test]
fn places_beyond_four_gib_are_themselves() {
    const GIB: u64 = 1 << 30;
    let file = sparse(6 * GIB);
    for options in ways(file.path()) {
        let engine = serve(file.path(), options);
        let places = [0, 2 * GIB - 4_096, 2 * GIB, 4 * GIB, 5 * GIB + 512, 6 * GIB - 4_096];
        for (number, offset) in places.into_iter().enumerate() {
            done(&engine, write(offset, &[number as u8 + 1; 4_096])).unwrap();
        }
        for (number, offset) in places.into_iter().enumerate() {
            assert_eq!(
                bytes_at(&engine, offset, 4_096),
                [number as u8 + 1; 4_096],
                "{options:?} at {offset}"
            );
        }
    }
}

#[test]
fn what_is_zeroed_reads_as_zero_and_gives_space_back_unless_told_not_to() {
    const BYTES: usize = 1 << 20;
    let file = sparse(BYTES as u64);
    for options in ways(file.path()) {
        for (allocate, durable) in [(false, false), (true, true)] {
            let engine = serve(file.path(), options);
            done(&engine, write(0, &[7; BYTES])).unwrap();
            done(&engine, Work::Flush).unwrap();
            let before = file.as_file().metadata().unwrap().blocks();
            let (offset, bytes) = (4_096 + 100, 500_000);
            done(&engine, Work::Zero { offset, bytes, allocate, durable }).unwrap();
            let mut wanted = vec![7; BYTES];
            wanted[offset as usize..][..bytes as usize].fill(0);
            assert!(bytes_at(&engine, 0, BYTES) == wanted, "{options:?}");
            engine.stop().unwrap();
            let after = file.as_file().metadata().unwrap().blocks();
            assert_eq!(after < before - 500, !allocate, "{options:?}: {before} sectors, then {after}");
        }
    }
}

#[test]
fn what_is_trimmed_gives_space_back_and_leaves_the_rest() {
    let file = sparse(1 << 20);
    for options in ways(file.path()) {
        let engine = serve(file.path(), options);
        done(&engine, write(0, &[7; 1 << 20])).unwrap();
        done(&engine, Work::Flush).unwrap();
        let before = file.as_file().metadata().unwrap().blocks();
        done(&engine, Work::Trim { offset: 70_001, bytes: 600_000 }).unwrap();
        assert_eq!(bytes_at(&engine, 0, 70_001), [7; 70_001], "{options:?}");
        assert_eq!(bytes_at(&engine, 670_001, 10), [7; 10], "{options:?}");
        assert!(file.as_file().metadata().unwrap().blocks() < before, "{options:?}");
    }
}

#[test]
fn a_file_is_one_disk_alone_but_may_be_read_by_many() {
    let file = sparse(1 << 20);
    let only_read = FileOptions { read_only: true, ..FileOptions::default() };
    let first = FileBacking::open(file.path(), FileOptions::default()).unwrap();
    for options in [FileOptions::default(), only_read] {
        let second = FileBacking::open(file.path(), options).map(|_| ());
        assert!(matches!(second, Err(FileError::InUse(_))), "{second:?}");
    }
    drop(first);
    let reader = FileBacking::open(file.path(), only_read).unwrap();
    assert!(reader.is_read_only() && FileBacking::open(file.path(), only_read).is_ok());
    assert!(matches!(FileBacking::open(file.path(), FileOptions::default()), Err(FileError::InUse(_))));
}

#[test]
fn what_is_no_disk_is_refused_in_words() {
    let folder = TempDir::new().unwrap();
    let said =
        |path: &Path| FileBacking::open(path, FileOptions::default()).map(drop).unwrap_err().to_string();
    assert!(said(&folder.path().join("none")).starts_with("no such file: "));
    assert!(said(folder.path()).starts_with("neither a file nor a block device: "));
    assert!(said(Path::new("/dev/null")).starts_with("neither"));
    assert!(said(sparse(511).path()).ends_with("has 511 bytes, a block 512"));
    let odd = sparse(1_000);
    assert_eq!(FileBacking::open(odd.path(), FileOptions::default()).unwrap().bytes(), 512);
}

/// What has ended, after waiting for so many.
fn ended(backing: &mut FileBacking, count: usize) -> Vec<Ended> {
    let (mut ended, clock) = (Vec::new(), Clock::start());
    while ended.len() < count {
        assert!(clock.now() < Nanos::from_millis(60_000), "{} of {count} ended", ended.len());
        backing.collect(Nanos::ZERO, &mut ended);
        std::thread::yield_now();
    }
    ended
}

#[test]
fn a_read_of_what_the_cache_holds_ends_while_it_is_handed_over() {
    let file = sparse(1 << 20);
    file.as_file().write_all_at(&[3; 1 << 20], 0).unwrap();
    for executor in EXECUTORS {
        let Ok(mut backing) = FileBacking::open(file.path(), options(executor, false)) else {
            left_out(executor);
            continue;
        };
        backing.start(7, read(4_096 + 10, 20_000), Nanos::ZERO);
        backing.push(Nanos::ZERO).unwrap();
        let mut ended = Vec::new();
        backing.collect(Nanos::ZERO, &mut ended);
        let [Ended { id: 7, answer: Ok(buffer) }] = &ended[..] else { panic!("{executor}: {ended:?}") };
        assert_eq!(buffer.as_slice(), [3; 20_000]);
    }
}

#[test]
fn what_the_cache_has_lost_is_read_all_the_same() {
    const PIECE: usize = 16_384;
    let file = sparse(4 << 20);
    for place in 0..256_u64 {
        file.as_file().write_all_at(&[place as u8; PIECE], place * PIECE as u64).unwrap();
    }
    for options in ways(file.path()) {
        let to = format!("of={}", file.path().display());
        let forget = ["if=/dev/null", &to, "oflag=nocache", "conv=notrunc,fdatasync", "count=0"];
        if let Err(why) = system("dd", &forget) {
            left_out(format!("in part: nothing leaves the cache: {why}"));
        }
        let mut backing = FileBacking::open(file.path(), options).unwrap();
        // One at a time, each followed by two at once.
        for (id, place) in (0..240_u64).step_by(3).enumerate() {
            let group: &[u64] = if id % 2 == 0 { &[place] } else { &[place + 1, place + 2] };
            for &place in group {
                backing.start(place, read(place * PIECE as u64, PIECE), Nanos::ZERO);
            }
            backing.push(Nanos::ZERO).unwrap();
            for Ended { id, answer } in ended(&mut backing, group.len()) {
                assert!(answer.unwrap().as_slice() == [id as u8; PIECE], "{options:?} at {id}");
            }
        }
    }
}

#[test]
fn works_under_way_outlive_a_backing_that_is_dropped() {
    let file = sparse(8 << 20);
    for options in ways(file.path()) {
        let mut backing = FileBacking::open(file.path(), options).unwrap();
        for id in 0..128 {
            let offset = (id / 2) * 65_536;
            let work = if id % 2 == 0 {
                write(offset, &[9; 65_536])
            } else {
                read(8_388_608 - 65_536 - offset, 65_536)
            };
            backing.start(id, work, Nanos::ZERO);
        }
        backing.start(128, Work::Flush, Nanos::ZERO);
        backing.push(Nanos::ZERO).unwrap();
        drop(backing);
        let mut last = [0; 10];
        file.as_file().read_exact_at(&mut last, 64 * 65_536 - 10).unwrap();
        assert_eq!(last, [9; 10], "{options:?}");
        file.as_file().set_len(0).unwrap();
        file.as_file().set_len(8 << 20).unwrap();
    }
}

/// What a program of the system says; `Err` is why it cannot.
fn system(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(said(&output.stdout)) } else { Err(said(&output.stderr)) }
}
