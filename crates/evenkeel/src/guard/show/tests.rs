//! The picture, the lines and the summary, as text.

use super::*;
use crate::view::picture::Frame;

/// Two seconds with 8 clients, two of collapse, two with a guard.
fn show() -> Show {
    let sample = |commits, deadlocks, guard: Option<Guarded>| Sample {
        seconds: 1.0,
        commits,
        deadlocks,
        response_s: Some(0.21),
        guard,
    };
    let guard = || {
        let decision = "limit 4, because 5 was not better".to_owned();
        Some(Guarded { limit: 4, running: 4, waiting: 252, decision })
    };
    let act =
        |name: &str, mark: &str, samples| Act { name: name.into(), mark: mark.into(), settle: 0, samples };
    Show {
        server: "MariaDB 10.11".into(),
        planned: 6,
        metrics: Some("127.0.0.1:9307".into()),
        acts: vec![
            act(
                "direct, 8 clients",
                "act 1: 8 clients",
                vec![sample(2_400, 24, None), sample(2_000, 20, None)],
            ),
            act("direct, 256 clients", "256 clients", vec![sample(200, 300, None), sample(0, 90, None)]),
            act(
                "guarded, 256 clients",
                "act 2: guarded",
                vec![sample(600, 6, guard()), sample(1_200, 0, guard())],
            ),
        ],
    }
}

#[test]
fn the_picture_shows_collapse_and_recovery_and_says_why() {
    let expected = "\
A flash sale on MariaDB 10.11: second 6 of 6
each transaction: a read, five updates of 200 hot items in any order, an insert

  2,500/s │▆▆▆▆
          │████▆▆▆▆
          │████████
  1,250/s │████████            ▇▇▇▇
          │████████        ▄▄▄▄████
          │████████▄▄▄▄    ████████
      0/s └┬ act 1:┬ 256 cl┬ act 2: guarded ──────────────────────────────────────────────────────────────

direct, 8 clients      2,200/s   0.01 deadlocks per commit  (2,000 to 2,400/s, 2 s)
direct, 256 clients      100/s   1.95 deadlocks per commit  (0 to 200/s, 2 s)
guarded, 256 clients     900/s   0.00 deadlocks per commit  (600 to 1,200/s, 2 s)

limit 4  running 4  waiting 252  response 210 ms
limit 4, because 5 was not better
q or Ctrl-C ends it; no server and no file stays behind
more of it in another terminal: evenkeel guard top 127.0.0.1:9307";
    let drawn = show().draw(Frame { width: 106, height: 19 });
    assert_eq!(drawn, expected, "\n{drawn}");
}

#[test]
fn no_terminal_is_too_small_and_no_line_too_long() {
    let mut long = show();
    (0..500).for_each(|_| long.push(Sample { seconds: 1.0, commits: 7, ..Sample::default() }));
    for show in [Show::default(), show(), long] {
        for (width, height) in [(0, 0), (1, 1), (12, 5), (80, 24), (300, 100)] {
            let drawn = show.draw(Frame { width, height });
            assert!(drawn.lines().count() <= height.max(1), "{width} x {height}:\n{drawn}");
            assert!(drawn.lines().all(|line| line.chars().count() <= width), "{width} x {height}:\n{drawn}");
        }
    }
}

#[test]
fn figures_leave_out_what_has_not_settled() {
    let mut act = show().acts.remove(2);
    act.settle = 1;
    let figures = act.figures().unwrap();
    assert_eq!((figures.mean, figures.range, figures.samples), (1_200.0, (1_200.0, 1_200.0), 1));
    act.settle = 2;
    assert_eq!(act.figures(), None);
    act.settle = 9;
    assert_eq!(act.figures(), None);
}
