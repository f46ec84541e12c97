//! Holes of files, as clients of disks see them.

use crate::client::{Client, FUA, ONE, READ, TRIM, ZERO, tcp, unix};
use crate::disk::Served;
use crate::tools::run;
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::share::Costs;
use evenkeel_share::backing::{FileBacking, FileOptions};
use evenkeel_share::{Address, DiskPlan, Engine, NbdPlan, Plan};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;

const MIB: u64 = 1 << 20;
const BYTES: u64 = 64 * MIB;
const BLOCK: u64 = 4_096;

/// A sparse file behind a disk.
struct Sparse {
    engine: Engine,
    folder: TempDir,
}

impl Sparse {
    fn start(direct: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        File::create(&path).unwrap().set_len(BYTES).unwrap();
        let options = FileOptions { direct, ..FileOptions::default() };
        let backing = Box::new(FileBacking::open(&path, options).unwrap());
        let disks = vec![DiskPlan { name: "orders".to_owned(), shares: 1.0, backing }];
        let plan = Plan { disks, window: f64::INFINITY, costs: Costs::default(), memory: 64 << 20 };
        let listen = vec![Address::Unix(folder.path().join("disks")).into()];
        Self { engine: Engine::start_nbd(plan, &NbdPlan { listen, tls: None }).unwrap(), folder }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("file")
    }

    fn client(&self) -> Client {
        Client::open_holes(unix(&self.folder.path().join("disks")), "orders")
    }

    fn uri(&self) -> String {
        format!("nbd+unix:///orders?socket={}", self.folder.path().join("disks").display())
    }

    fn read_bytes(&self) -> u64 {
        let seen = self.engine.handle().measure(Duration::from_secs(60)).unwrap();
        seen.counts.disks[0].read_bytes
    }
}

/// The blocks of a map that are data.
fn data(extents: &[(u64, bool)]) -> BTreeSet<u64> {
    let (mut at, mut blocks) = (0, BTreeSet::new());
    for &(bytes, hole) in extents {
        let touched = at / BLOCK..(at + bytes).div_ceil(BLOCK);
        blocks.extend(touched.filter(|_| !hole));
        at += bytes;
    }
    blocks
}

/// All extents of the disk, in as many answers as it takes.
fn map(client: &mut Client) -> Vec<(u64, bool)> {
    let (mut at, mut all) = (0, Vec::new());
    while at < BYTES {
        let extents = client.extents(0, at, (BYTES - at) as u32).unwrap();
        assert!(!extents.is_empty() && extents.len() <= 512, "{} extents", extents.len());
        at += extents.iter().map(|(bytes, _)| bytes).sum::<u64>();
        all.extend(extents);
    }
    assert_eq!(at, BYTES);
    all
}

#[test]
fn a_hole_is_said_to_be_one_until_it_is_written_and_again_after_a_trim() {
    for direct in [false, true] {
        let sparse = Sparse::start(direct);
        let mut client = sparse.client();
        assert_eq!(map(&mut client), [(BYTES, true)]);
        client.write(0, 8 * MIB, &[7; 8_192]).unwrap();
        client.write(FUA, 16 * MIB, &[7; 4_096]).unwrap();
        let seen = [(8 * MIB, true), (8_192, false), (8 * MIB - 8_192, true), (4_096, false)];
        assert_eq!(map(&mut client)[..4], seen);
        assert_eq!(client.extents(ONE, 8 * MIB, MIB as u32).unwrap(), [(8_192, false)]);
        assert_eq!(client.extents(0, 8 * MIB + 100, 50).unwrap(), [(50, false)], "some bytes of a block");
        client.ask(TRIM, 0, 8 * MIB, 8_192).unwrap();
        client.ask(ZERO, 0, 16 * MIB, 4_096).unwrap();
        assert_eq!(map(&mut client), [(BYTES, true)]);
        assert_eq!(client.extents(0, BYTES - 512, 1_024), Err(22), "beyond the end");
        assert_eq!(client.extents(0, 0, 0), Err(22));
        assert_eq!(client.extents(4, 0, 512), Err(22), "a flag of reads");
    }
}

/// One that writes and trims, one that asks: nothing that was written and answered before a question is in a hole after it.
#[test]
fn what_is_written_meanwhile_is_never_said_to_be_a_hole() {
    for (direct, seed) in [(false, 1), (true, 2)] {
        let sparse = Sparse::start(direct);
        let (written, over) = (Mutex::new(BTreeSet::new()), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut client, mut random) = (sparse.client(), Random::new(Seed(seed)));
                for _ in 0..3_000 {
                    let block = random.uniform(0, BYTES / BLOCK / 16);
                    if random.uniform(0, 3) == 0 {
                        written.lock().unwrap().remove(&block);
                        let kind = if random.uniform(0, 1) == 0 { TRIM } else { ZERO };
                        client.ask(kind, 0, block * BLOCK, BLOCK as u32).unwrap();
                    } else {
                        client.write(0, block * BLOCK, &[9; BLOCK as usize]).unwrap();
                        written.lock().unwrap().insert(block);
                    }
                }
                over.store(true, Ordering::SeqCst);
            });
            let (mut client, mut last) = (sparse.client(), false);
            while !last {
                last = over.load(Ordering::SeqCst);
                let before = written.lock().unwrap().clone();
                let data = data(&map(&mut client));
                let after = written.lock().unwrap();
                // A block that was trimmed and written again meanwhile is among these; the writer sent nothing while it was locked.
                let lost: Vec<&u64> =
                    before.difference(&data).filter(|block| after.contains(block)).collect();
                let mut again = sparse.client();
                for block in lost {
                    let bytes = again.ask(READ, 0, block * BLOCK, 1).unwrap();
                    let now = again.extents(ONE, block * BLOCK, 1).unwrap();
                    assert_eq!((bytes[0], now), (9, vec![(1, false)]), "block {block}");
                }
            }
            let data = data(&map(&mut client));
            let lost: Vec<u64> = written.lock().unwrap().difference(&data).copied().collect();
            assert!(lost.is_empty(), "when all is quiet: {lost:?}");
        });
    }
}

#[test]
fn what_a_file_has_lost_is_an_error_and_no_hole() {
    let sparse = Sparse::start(false);
    let mut client = sparse.client();
    client.write(0, 0, &[7; 4_096]).unwrap();
    File::options().write(true).open(sparse.file()).unwrap().set_len(MIB).unwrap();
    assert_eq!(client.extents(0, 0, BYTES as u32), Err(5));
    File::options().write(true).open(sparse.file()).unwrap().set_len(BYTES).unwrap();
    assert_eq!(client.extents(0, 2 * MIB, MIB as u32), Err(5), "it has come back as zeroes");
    assert_eq!(client.extents(0, 0, MIB as u32).unwrap()[0], (4_096, false));
}

#[test]
fn all_of_a_disk_that_knows_no_holes_is_data() {
    let served = Served::start();
    let mut client = Client::open_holes(tcp(served.engine.ports()[0]), "orders");
    assert_eq!(client.extents(0, 512, 1_024).unwrap(), [(1_024, false)]);
    assert_eq!(client.extents(ONE, 0, 8 << 20).unwrap(), [(8 << 20, false)]);
    assert_eq!(client.extents(0, 8 << 20, 1), Err(22));
}

#[test]
fn programs_see_holes_and_copy_only_what_is_none() {
    let sparse = Sparse::start(false);
    let file = File::options().write(true).open(sparse.file()).unwrap();
    file.write_all_at(&[5; MIB as usize], 4 * MIB).unwrap();
    file.write_all_at(&[6; MIB as usize], BYTES - MIB).unwrap();
    let seen = run("nbdinfo", &["--map", &sparse.uri()]);
    let lines: Vec<Vec<&str>> = seen.lines().map(|line| line.split_whitespace().collect()).collect();
    let expected = [
        ["0", "4194304", "3", "hole,zero"],
        ["4194304", "1048576", "0", "data"],
        ["5242880", "60817408", "3", "hole,zero"],
        ["66060288", "1048576", "0", "data"],
    ];
    assert_eq!(lines, expected);
    let seen = run("qemu-img", &["map", "--output=json", "-f", "raw", &sparse.uri()]);
    let data = seen.lines().filter(|line| line.contains("\"data\": true")).count();
    let holes = seen.lines().filter(|line| line.contains("\"zero\": true")).count();
    assert_eq!((data, holes), (2, 2), "{seen}");
    let copy = sparse.folder.path().join("copy");
    let before = sparse.read_bytes();
    run("qemu-img", &["convert", "-f", "raw", "-O", "raw", &sparse.uri(), copy.to_str().unwrap()]);
    let read = sparse.read_bytes() - before;
    assert!(read < 4 * MIB, "{read} bytes are read of {BYTES}");
    assert!(fs::read(&copy).unwrap() == fs::read(sparse.file()).unwrap());
    let taken = fs::metadata(&copy).unwrap().blocks() * 512;
    assert!(taken < 4 * MIB, "the copy takes {taken} bytes");
    run("nbdcopy", &[&sparse.uri(), copy.to_str().unwrap()]);
    let read = sparse.read_bytes() - before - read;
    assert!(read < 4 * MIB, "{read} bytes are read of {BYTES}");
    assert!(fs::read(&copy).unwrap() == fs::read(sparse.file()).unwrap());
}
