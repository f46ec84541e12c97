//! Verdicts on seconds made by hand; on simulated queues they are tried in `dev`.

use super::*;

#[test]
fn a_cold_start_that_is_worked_off_is_settled() {
    let seconds: Vec<Second> = (0..30_u64)
        .map(|second| {
            let in_flight = 500_u64.saturating_sub(50 * second).max(3 + second % 2);
            Second { arrivals: 100, completed: 100, in_flight }
        })
        .collect();
    assert_eq!(Stability::of(&seconds, 0), Stability::Settled);
}

#[test]
fn a_backlog_capped_by_giving_up_is_unstable() {
    let flat = [Second { arrivals: 100, completed: 60, in_flight: 400 }; 30];
    assert_eq!(Stability::of(&flat, 30), Stability::Settled);
    assert!(Stability::of(&flat, 1_200).is_unstable());
}
