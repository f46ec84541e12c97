//! Which runs began on a server that the run before had left running, where nothing is reset between runs.

use crate::store::format::{Caveat, LayoutRecord, PlanFile, ResetRecord, RunFile, SeriesRecord};

/// The doubt that this makes. A server of the user's is never restarted. Of private ones one is up at a time: it goes down where
/// the next run is on another one, and starts anew with another buffer pool.
pub(super) fn caveat(plan: &PlanFile, runs: &[RunFile]) -> Option<Caveat> {
    if plan.settings.reset != ResetRecord::Nothing {
        return None;
    }
    match plan.series.iter().any(is_of_the_user) {
        true => Some(Caveat::not_reset()),
        false => Caveat::kept_up(inherited(plan, runs), runs.len()),
    }
}

/// The rows of a private server have come in by a way that the plan names.
fn is_of_the_user(series: &SeriesRecord) -> bool {
    series.layout == LayoutRecord::AsIs
}

/// Runs of which the one right before was on the same server with the same buffer pool. An attempt that was set aside is in
/// the order too: what came after it is not counted, although it may have begun on the same server.
fn inherited(plan: &PlanFile, runs: &[RunFile]) -> usize {
    let series = |cell: u32| {
        let cell = plan.cells.iter().find(|known| known.id == cell)?;
        plan.series.get(cell.series)
    };
    let mut order: Vec<(u32, Option<&SeriesRecord>)> =
        runs.iter().map(|run| (run.order, series(run.cell))).collect();
    order.sort_unstable_by_key(|(place, _)| *place);
    let is_kept = |pair: &&[(u32, Option<&SeriesRecord>)]| match pair {
        [(before, Some(one)), (after, Some(other))] => *after == before + 1 && is_same_server(one, other),
        _ => false,
    };
    order.windows(2).filter(is_kept).count()
}

fn is_same_server(one: &SeriesRecord, other: &SeriesRecord) -> bool {
    (one.target, one.layout, &one.levels, one.pool_bytes)
        == (other.target, other.layout, &other.levels, other.pool_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{pooled, summarise};

    /// Two servers and four runs of each, with nothing reset in between.
    fn played(layout: LayoutRecord) -> (PlanFile, Vec<RunFile>) {
        let mut plan = crate::compare::tests::plan("plan");
        plan.targets.push(plan.targets[0].clone());
        plan.series.push(SeriesRecord { label: "b".to_owned(), target: 1, ..plan.series[0].clone() });
        plan.series.iter_mut().for_each(|series| series.layout = layout);
        plan.cells[1].series = 1;
        let of =
            |cell: u32| pooled::tests::runs(0.4, 4.0, 4).into_iter().map(move |run| RunFile { cell, ..run });
        (plan, of(1).chain(of(2)).collect())
    }

    /// What the summary says of the runs made in this order, by the series that they are of.
    fn told(layout: LayoutRecord, series: &[usize]) -> Option<String> {
        let (plan, mut runs) = played(layout);
        let mut cells = [0, 1].map(|own| {
            runs.iter()
                .filter(|run| plan.cells.iter().any(|cell| cell.id == run.cell && cell.series == own))
                .cloned()
                .collect::<Vec<_>>()
        });
        let in_order =
            series.iter().zip(1..).map(|(own, order)| RunFile { order, ..cells[*own].pop().unwrap() });
        runs = in_order.collect();
        let told = summarise(&plan, &runs).caveats.into_iter().find(|caveat| caveat.code == "no-reset");
        told.map(|caveat| caveat.to_string())
    }

    #[test]
    fn private_servers_that_take_turns_are_restarted_although_nothing_is_reset() {
        assert_eq!(told(LayoutRecord::Load, &[0, 1, 0, 1]), None);
        let some = told(LayoutRecord::Load, &[0, 0, 1, 1, 0, 1]).unwrap();
        assert!(some.starts_with("The server was not restarted before 2 of 6 runs, so "), "{some}");
        assert!(some.contains("--no-reset") && !some.contains("--reset-command"), "{some}");
    }

    #[test]
    fn a_private_server_with_another_buffer_pool_is_a_restarted_one() {
        let (mut plan, runs) = played(LayoutRecord::Load);
        (plan.series[0].pool_bytes, plan.series[1].pool_bytes) = (Some(1), Some(2));
        plan.series[1].target = plan.series[0].target;
        let turns: Vec<RunFile> = {
            let of = |own: usize| {
                let cell = plan.cells.iter().find(|cell| cell.series == own).unwrap().id;
                runs.iter().find(|run| run.cell == cell).unwrap().clone()
            };
            (1..).zip([of(0), of(1)]).map(|(order, run)| RunFile { order, ..run }).collect()
        };
        assert_eq!(caveat(&plan, &turns), None);
        plan.series[1].pool_bytes = Some(1);
        assert!(caveat(&plan, &turns).is_some());
    }

    #[test]
    fn a_server_of_the_users_is_never_restarted_and_one_that_is_reset_always() {
        let all = told(LayoutRecord::AsIs, &[0, 1, 0, 1]).unwrap();
        assert!(
            all.starts_with("The server was not restarted between runs") && all.contains("--reset-command"),
            "{all}"
        );
        let (mut plan, runs) = played(LayoutRecord::Load);
        plan.settings.reset = ResetRecord::Restart;
        assert_eq!(caveat(&plan, &runs), None);
    }
}
