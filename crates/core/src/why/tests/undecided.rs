//! What looks as if a suspect were guilty, or were not, and does not tell.

use super::*;

#[test]
fn what_makes_nearly_all_of_a_small_difference_is_not_acquitted() {
    // Servers differ by 6 to 8 % of what they take, nearly all of it in the network.
    let planted = Planted { network_ms: 0.4, ..Planted::default() };
    let mut decided = 0;
    for seed in 0..20 {
        let found = why(planted, &alike(), seed);
        let network = &found.verdicts[0];
        assert!(!found.differs() || network.ruling != Ruling::NotTheCause, "{found:#?}");
        decided += usize::from(found.differs() && network.ruling == Ruling::Cause);
    }
    assert!(decided >= 10, "{decided} of 20");
}

#[test]
fn a_server_that_reads_and_lets_nobody_see_how_long_is_no_proof_for_its_disk() {
    let planted = Planted { read_ms: 0.2, ..Planted::default() };
    let mut hidden = runs(planted, 1);
    hidden.iter_mut().filter(|run| run.target == 0).for_each(|run| run.seen.read_ms = None);
    let found = Why::of(&hidden, &alike(), &names()).unwrap();
    assert_eq!(found.verdicts[1].ruling, Ruling::Undecided, "{:?}", found.verdicts[1]);
    assert!(found.verdicts[1].evidence.contains("performance_schema=ON"), "{:?}", found.verdicts[1]);
    // One that reads nothing has nothing to be seen.
    hidden.iter_mut().filter(|run| run.target == 0).for_each(|run| run.seen.reads = Some(0.0));
    let found = Why::of(&hidden, &alike(), &names()).unwrap();
    assert!(found.verdicts[1].figure.is_some(), "{:?}", found.verdicts[1]);
}

#[test]
fn more_reads_than_pages_account_for_are_not_put_on_the_pages() {
    let of = |foretold: f64, facts: &Facts| {
        let mut all = runs(Planted { reads: 30.0, ..Planted::default() }, 1);
        for run in all.iter_mut().filter(|run| run.target == 0) {
            run.seen.foretold = Some((20.0 + foretold, 30.0 + foretold));
        }
        Why::of(&all, facts, &names()).unwrap().verdicts.swap_remove(2)
    };
    assert_eq!(of(27.0, &elsewhere()).ruling, Ruling::Cause);
    let few = of(1.0, &elsewhere());
    assert!(few.ruling == Ruling::Undecided && few.evidence.contains("less than a quarter"), "{few:?}");
    let pools = of(27.0, &Facts { pools_differ: true, ..elsewhere() });
    assert!(pools.ruling == Ruling::Undecided && !pools.evidence.contains("predict"), "{pools:?}");
}

#[test]
fn another_plan_that_touches_no_more_rows_is_not_told_from_other_pages() {
    let planted = Planted { reads: 30.0, plan: 7, ..Planted::default() };
    let found = why(planted, &elsewhere(), 1);
    assert_eq!((found.verdicts[2].ruling, found.verdicts[3].ruling), (Ruling::Undecided, Ruling::Undecided));
    assert!(why(planted, &alike(), 1).causes().eq([Suspect::Plan]));
}

#[test]
fn small_packets_acquit_a_far_network_only_where_something_else_explains_the_difference() {
    let far = |planted: Planted| why(planted, &Facts { by_probes: true, ..alike() }, 1);
    let neighbours = far(Planted { neighbours: 40.0, ..Planted::default() });
    assert!(neighbours.causes().eq([Suspect::Neighbours]), "{neighbours:#?}");
    assert_eq!(neighbours.verdicts[0].ruling, Ruling::NotTheCause);
    let unseen = far(Planted { unseen_ms: 3.0, ..Planted::default() });
    assert_eq!(unseen.verdicts[0].ruling, Ruling::Undecided);
    assert!(unseen.verdicts[0].evidence.contains("slow link"), "{unseen:#?}");
    assert_eq!(far(Planted { read_ms: 0.2, ..Planted::default() }).verdicts[0].ruling, Ruling::NotTheCause);
    assert_eq!(far(Planted::default()).verdicts[0].ruling, Ruling::NotTheCause);
}
