//! Reloads: what they keep, and what a failure, a stop or a kill leaves.

use super::*;
use crate::sandbox::eventually;
use std::sync::atomic::AtomicUsize;

pub(super) fn again(target: &Target, directory: &Path) -> Result<Stamp, DataError> {
    reload(target, None, directory, 2, &Stop::default(), &mut |_| {})
}

/// Dumps that were left in a directory.
pub(super) fn dumps(directory: &Path) -> Vec<String> {
    let names =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("evenkeel-dump")).collect()
}

#[test]
fn a_reload_that_fails_or_stops_changes_nothing_and_says_where_the_dump_is() {
    let (home, sandbox) = server(&[]);
    let target = database(&sandbox, "tpcw");
    let stamp = fill(&target, &tiny(Via::Insert)).unwrap();
    let mut admin = control(&target);
    admin.exec("SET GLOBAL local_infile = OFF").unwrap();
    let failed = again(&target, home.path()).unwrap_err();
    let DataError::Reload { directory, source, .. } = &failed else { panic!("{failed}") };
    assert!(source.hint().is_some_and(|hint| hint.contains("local_infile")), "{source}");
    assert!(failed.to_string().contains(&directory.display().to_string()));
    let whole = |name: &str, rows| {
        fs::read_to_string(directory.join(name)).is_ok_and(|text| text.lines().count() == rows)
    };
    // The first table to get to its load failed; which one that is, is up to the threads.
    assert!(whole("address.tsv", 5_760) || whole("author.tsv", 50));
    assert_eq!(verify(&target, None).unwrap(), stamp);
    assert!(matches!(found(&target, &tiny(Via::Insert)), Found::Ready(_)));
    fs::remove_dir_all(directory).unwrap();

    admin.exec("SET GLOBAL local_infile = ON").unwrap();
    let stop = Stop::default();
    let stopped = reload(&target, None, home.path(), 2, &stop, &mut |progress: DataProgress| {
        if progress.rows_done > 10_000 {
            stop.set();
        }
    });
    assert!(matches!(stopped, Err(DataError::Stopped)), "{stopped:?}");
    assert_eq!(verify(&target, None).unwrap(), stamp);
    assert_eq!(value(&mut admin, "SHOW TABLES LIKE '%evenkeel\\_new'"), "");
    assert!(dumps(home.path()).is_empty());
    assert_eq!(again(&target, home.path()).unwrap().checksum(), stamp.checksum());
}

#[test]
fn a_reload_that_was_killed_in_its_swap_is_recognised_and_finished() {
    let (home, sandbox) = server(&[]);
    let target = database(&sandbox, "tpcw");
    let stamp = fill(&target, &tiny(Via::Load)).unwrap();
    let mut admin = control(&target);
    // One table has no successor yet, the next has one and its old self is still there.
    admin.exec("RENAME TABLE order_line TO order_line_evenkeel_old").unwrap();
    admin.exec("CREATE TABLE item_evenkeel_old LIKE item").unwrap();
    admin.exec("CREATE TABLE author_evenkeel_new LIKE author").unwrap();
    assert_eq!(found(&target, &tiny(Via::Load)), Found::ReloadInterrupted);
    assert!(matches!(fill(&target, &tiny(Via::Load)), Err(DataError::ReloadInterrupted { .. })));
    let reloaded = fill(&target, &tiny(Via::Dump)).unwrap();
    assert_eq!((reloaded.checksum(), reloaded.via), (stamp.checksum(), Via::Dump));
    assert_eq!(verify(&target, None).unwrap(), reloaded);
    assert_eq!(value(&mut admin, "SHOW TABLES LIKE '%evenkeel\\_old'"), "");
    assert!(dumps(home.path()).is_empty());
}

fn is_busy(error: &DataError) -> bool {
    match error {
        DataError::TablesBusy { .. } => true,
        DataError::Reload { source, .. } => is_busy(source),
        _ => false,
    }
}

#[test]
fn a_reload_loses_no_write_that_was_acknowledged_meanwhile() {
    let (home, sandbox) = server(&[]);
    let target = database(&sandbox, "tpcw");
    fill(&target, &tiny(Via::Load)).unwrap();
    Stamp::mark_written(&mut control(&target)).unwrap();
    let (done, written) = (AtomicBool::new(false), AtomicUsize::new(0));
    let acknowledged: Vec<u64> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4_u64)
            .map(|writer| {
                let (target, done, written) = (&target, &done, &written);
                scope.spawn(move || {
                    let mut control = control(target);
                    let mut acknowledged = Vec::new();
                    for number in 0.. {
                        if done.load(Ordering::Relaxed) {
                            break;
                        }
                        let order = 1_000_000 * (writer + 1) + number;
                        let sql = format!("INSERT INTO order_line VALUES (9, {order}, 1, 1, 0, 'x')");
                        if control.exec(&sql).is_ok() {
                            acknowledged.push(order);
                            written.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                    acknowledged
                })
            })
            .collect();
        // Writers that hold a reload up too long make it give up, which loses none either.
        let mut reloads = 0;
        eventually("three reloads beside writers who get their turn", || {
            match again(&target, home.path()) {
                Ok(reloaded) => assert_eq!((reloaded.state, reloaded.via), (State::Written, Via::Dump)),
                Err(error) if is_busy(&error) => return false,
                Err(error) => panic!("{error}"),
            }
            reloads += 1;
            reloads >= 3 && written.load(Ordering::Relaxed) > 10
        });
        done.store(true, Ordering::Relaxed);
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let rows = control(&target).query("SELECT ol_o_id FROM order_line WHERE ol_id = 9").unwrap().rows;
    let stored: std::collections::BTreeSet<u64> =
        rows.iter().map(|row| row[0].as_deref().unwrap().parse().unwrap()).collect();
    assert!(acknowledged.len() > 10, "{}", acknowledged.len());
    let lost: Vec<_> = acknowledged.iter().filter(|order| !stored.contains(order)).collect();
    assert!(lost.is_empty(), "{} of {} lost: {lost:?}", lost.len(), acknowledged.len());
}
