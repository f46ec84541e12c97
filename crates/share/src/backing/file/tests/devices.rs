//! Files that others cut while they are served, and file systems that are full and block devices, for which the system has
//! to be asked.

use super::*;

/// A mount or loop device that is taken down by this.
struct Down(Vec<String>);

impl Drop for Down {
    fn drop(&mut self) {
        let arguments: Vec<&str> = self.0[1..].iter().map(String::as_str).collect();
        let down = system(&self.0[0], &arguments);
        // A test that failed already has more to say than this.
        assert!(down.is_ok() || std::thread::panicking(), "{down:?}");
    }
}

/// A disk of 8 MiB on a file system of one; `None` where none can be mounted here.
fn on_a_mib() -> Option<(TempDir, Down, PathBuf)> {
    let folder = TempDir::new().unwrap();
    let at = folder.path().to_str().unwrap().to_owned();
    if let Err(why) = system("mount", &["-t", "tmpfs", "-o", "size=1m", "none", &at]) {
        left_out(format!("no file system can be mounted: {why}"));
        return None;
    }
    let (down, path) = (Down(vec!["umount".to_owned(), at]), folder.path().join("disk"));
    File::create(&path).unwrap().set_len(8 << 20).unwrap();
    Some((folder, down, path))
}

#[test]
fn a_full_disk_says_so_and_what_was_there_stays() {
    let Some((_folder, _down, path)) = on_a_mib() else { return };
    for options in ways(&path) {
        let engine = serve(&path, options);
        done(&engine, write(0, &[5; 4_096])).unwrap();
        let answers: Vec<_> = (0..8).map(|mib| ask(&engine, write(mib << 20, &[6; 1 << 20]))).collect();
        let errors = answers.iter().filter_map(|answer| answer.recv_timeout(PATIENCE).unwrap().err());
        let errors: Vec<_> = errors.collect();
        assert!(errors.len() >= 7 && errors.iter().all(|&errno| errno == Errno::NO_SPACE), "{errors:?}");
        done(&engine, Work::Trim { offset: 0, bytes: 8 << 20 }).unwrap();
        done(&engine, write(1 << 20, &[5; 4_096])).unwrap();
        assert_eq!(bytes_at(&engine, 1 << 20, 4_096), [5; 4_096], "{options:?}");
        done(&engine, Work::Trim { offset: 0, bytes: 8 << 20 }).unwrap();
    }
}

#[test]
fn a_durable_write_for_which_there_is_no_space_takes_nothing_with_it() {
    let Some((_folder, _down, path)) = on_a_mib() else { return };
    let durable =
        |offset, bytes: &[u8]| Work::Write { offset, buffer: Buffer::from_slice(bytes), durable: true };
    for options in ways(&path) {
        let engine = serve(&path, options);
        done(&engine, durable(0, &[5; 4_096])).unwrap();
        for _ in 0..2 {
            let refused = done(&engine, durable(1 << 20, &[6; 2 << 20]));
            assert_eq!(refused.map(drop), Err(Errno::NO_SPACE), "{options:?}");
        }
        done(&engine, Work::Trim { offset: 1 << 20, bytes: 7 << 20 }).unwrap();
        done(&engine, Work::Flush).unwrap();
        done(&engine, durable(4_096, &[7; 4_096])).unwrap();
        assert_eq!(bytes_at(&engine, 0, 8_192), [[5; 4_096], [7; 4_096]].concat(), "{options:?}");
        done(&engine, Work::Trim { offset: 0, bytes: 8 << 20 }).unwrap();
        engine.stop().unwrap();
    }
}

#[test]
fn a_block_device_is_a_disk_as_a_file_is() {
    const BYTES: usize = 4 << 20;
    let file = sparse(BYTES as u64);
    let device = match system("losetup", &["--find", "--show", file.path().to_str().unwrap()]) {
        Ok(device) => device,
        Err(why) => return left_out(format!("there is no loop device: {why}")),
    };
    let _down = Down(vec!["losetup".to_owned(), "--detach".to_owned(), device.clone()]);
    let device = Path::new(&device);
    for options in ways(device) {
        let engine = serve(device, options);
        assert!(matches!(FileBacking::open(device, options), Err(FileError::InUse(_))));
        let (place, bytes) = (1_000_u64, 300_000_usize);
        done(&engine, write(0, &[3; BYTES])).unwrap();
        done(&engine, write(place, &vec![4; bytes])).unwrap();
        done(&engine, Work::Zero { offset: 700_000, bytes: 9_999, allocate: false, durable: true }).unwrap();
        done(&engine, Work::Zero { offset: 800_000, bytes: 8_192, allocate: true, durable: false }).unwrap();
        done(&engine, Work::Trim { offset: 1_000_001, bytes: 1_000_000 }).unwrap();
        done(&engine, Work::Flush).unwrap();
        let mut wanted = vec![3; BYTES];
        wanted[place as usize..][..bytes].fill(4);
        wanted[700_000..709_999].fill(0);
        wanted[800_000..808_192].fill(0);
        let found = bytes_at(&engine, 0, BYTES);
        assert!(found[..1_000_001] == wanted[..1_000_001], "{options:?}");
        assert!(found[2_000_001..] == wanted[2_000_001..], "{options:?}");
        engine.stop().unwrap();
    }
    assert_eq!(fs::metadata(file.path()).unwrap().len(), BYTES as u64);
}

#[test]
fn a_file_that_became_shorter_gives_errors_and_no_zeroes() {
    let file = sparse(1 << 20);
    for options in ways(file.path()) {
        file.as_file().set_len(1 << 20).unwrap();
        let engine = serve(file.path(), options);
        file.as_file().set_len(100_000).unwrap();
        for (offset, bytes) in
            [(0, 1 << 20), (98_304, 8_192), (500_000, 512), (1_048_064, 512), (524_288, 4_096)]
        {
            let answer = done(&engine, read(offset, bytes));
            assert_eq!(answer.map(drop), Err(Errno::IO), "{options:?} at {offset}");
        }
        assert!(done(&engine, read(0, 65_536)).is_ok());
    }
}

#[test]
fn what_a_file_had_lost_at_the_end_of_a_period_stays_an_error_though_nobody_asked_for_it() {
    let file = sparse(1 << 20);
    for options in ways(file.path()) {
        let engine = serve(file.path(), options);
        file.as_file().set_len(0).unwrap();
        let seen = engine.handle().measure(PATIENCE).unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        assert_eq!(seen.counts.disks[0].lost, Some(Errno::IO), "{options:?}");
        let asked = [read(0, 65_536), Work::Flush].map(|work| done(&engine, work).map(drop));
        assert_eq!(asked, [Err(Errno::IO); 2]);
    }
}

#[test]
fn what_a_file_has_lost_stays_an_error_though_a_write_makes_it_long_again() {
    const BYTES: u64 = 1 << 20;
    let file = sparse(BYTES);
    for options in ways(file.path()) {
        file.as_file().write_all_at(&[7; BYTES as usize], 0).unwrap();
        let engine = serve(file.path(), options);
        file.as_file().set_len(65_536).unwrap();
        let beyond = done(&engine, write(BYTES - 4_096, &[8; 4_096]));
        assert_eq!(beyond.map(drop), Err(Errno::IO), "{options:?}");
        file.as_file().set_len(BYTES).unwrap();
        for offset in [65_536, 500_000, BYTES - 4_096] {
            let answer = done(&engine, read(offset, 4_096));
            assert_eq!(
                answer.map(drop),
                Err(Errno::IO),
                "{options:?} at {offset}: zeroes for what was written"
            );
        }
        assert_eq!(bytes_at(&engine, 61_440, 4_096), [7; 4_096], "{options:?}: what is there is read");
        assert_eq!(done(&engine, Work::Flush).map(drop), Err(Errno::IO), "{options:?}");
        let seen = engine.handle().measure(PATIENCE).unwrap();
        assert_eq!((seen.counts.disks[0].lost, seen.counts.disks[0].failures), (Some(Errno::IO), 4));
    }
}
