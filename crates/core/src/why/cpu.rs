//! Suspects that are about CPUs: work, waits, and what others take.

use super::case::Case;
use super::verdict::{Clue, Gap, HELD_MIN, NEIGHBOURS_MIN, Ruling, Seen, Suspect, Verdict};
use super::{number, with_interval};

impl Case<'_> {
    /// Reads and another plan take CPU time and make others wait for it; of work and waits the smaller one may follow from the larger.
    pub(super) fn work_and_wait(&self, is_by_reads: bool) -> (Verdict, Verdict) {
        let takes = ("takes", "CPU time of the server");
        let missing = "the CPU time of the server was not measured";
        let work = self.scale.part(Suspect::Work, "cpu_ms", self.gap(|seen| seen.cpu_ms), takes, missing);
        let wait = self.wait();
        let follows = |one: Verdict, from: &str| match one.ruling {
            Ruling::Cause => one.but(Ruling::Undecided, &format!("It may be a consequence of {from}.")),
            _ => one,
        };
        let ms = |one: &Verdict| one.figure.map_or(0.0, |figure| figure.value);
        match () {
            () if is_by_reads => {
                let cause = "another cause";
                (follows(work, cause), follows(wait, cause))
            }
            () if work.ruling != Ruling::Cause || wait.ruling != Ruling::Cause => (work, wait),
            () if ms(&work) > ms(&wait) => (work, follows(wait, "the CPU work")),
            () => (follows(work, "the waits for a CPU"), wait),
        }
    }

    /// By how much longer a quota holds the slow one, percent of the time.
    fn held(&self) -> Option<Gap> {
        self.gap(|seen| seen.held_percent).filter(|held| held.low > 0.0 && held.mean >= HELD_MIN)
    }

    /// Requests of a server that uses its CPUs itself wait for one another, which is no cause of its own.
    fn wait(&self) -> Verdict {
        let missing = "what the threads of the server wait for a CPU cannot be seen here";
        let part = self.gap(|seen| seen.cpu_wait_ms);
        let verdict = self.scale.part(Suspect::CpuWait, "cpu_wait_ms", part, ("waits", "for a CPU"), missing);
        match (verdict.ruling, self.held()) {
            (Ruling::Cause, Some(held)) => verdict.because(&format!(
                "Its CPU quota throttled it for {} more of the time.",
                with_interval(&held, " points")
            )),
            (Ruling::Cause, None) if !self.is_idle() => verdict.but(
                Ruling::Undecided,
                "It uses half of its CPUs or more itself, so that its requests wait for one another.",
            ),
            _ => verdict,
        }
    }

    /// The waits again, and neighbours: they make the server wait if they take a part of its CPUs and no quota holds it.
    pub(super) fn neighbours(&self, wait: Verdict, is_explained: bool) -> (Verdict, Verdict) {
        let taken = self.of_slow(|seen| seen.neighbours_percent).filter(|taken| *taken >= NEIGHBOURS_MIN);
        match taken {
            Some(taken) if wait.ruling == Ruling::Cause && self.held().is_none() => {
                let why = format!("Neighbours take {} % of its CPUs.", number(taken));
                let neighbours = Verdict { suspect: Suspect::Neighbours, ..wait.clone() }.because(&why);
                (wait.but(Ruling::NotTheCause, "Its neighbours make it wait."), neighbours)
            }
            _ => {
                let of_points = self
                    .taken(Suspect::Neighbours, NEIGHBOURS_MIN, is_explained, |seen| seen.neighbours_percent);
                (wait, of_points)
            }
        }
    }

    /// What others took of the CPUs. No time is known of it, so that it has to stand back where another cause is known.
    pub(super) fn taken(
        &self,
        suspect: Suspect,
        least: f64,
        is_explained: bool,
        figure: impl Fn(&Seen) -> Option<f64>,
    ) -> Verdict {
        let Some(more) = self.gap(figure) else {
            return Verdict::undecided(
                suspect,
                format!("Not known: {} cannot be seen here.", suspect.words()),
            );
        };
        let ruling = match () {
            () if more.high < least => Ruling::NotTheCause,
            () if self.scale.differs && !is_explained && more.low > 0.0 && more.mean >= least => {
                Ruling::Cause
            }
            () => Ruling::Undecided,
        };
        let mut evidence = format!(
            "CPU time of {} taken by {}: {} more.",
            self.scale.slow,
            if suspect == Suspect::Stolen { "the hypervisor" } else { "neighbours" },
            with_interval(&more, " points")
        );
        if ruling == Ruling::Undecided && is_explained {
            evidence.push_str(" Its effect cannot be separated from the known cause.");
        } else if ruling == Ruling::Undecided {
            evidence.push_str(&format!(" To be named a cause it must be at least {} points.", number(least)));
        }
        Verdict { suspect, ruling, evidence, figure: Some(Clue::of("points_more", &more)) }
    }
}
