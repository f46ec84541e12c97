//! Files that others cut while they are served.

use super::*;

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
