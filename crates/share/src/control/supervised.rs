//! A law under supervision: where it fails, the last window is kept, and the law is not asked again.

use super::Fault;
use evenkeel_core::share::{Law, Period, Report, WindowLaw};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The smallest window that is set; below it nothing would move any more.
const WINDOW_MIN: f64 = 0.01;

/// A law, and the window that it gave last.
pub struct SupervisedLaw {
    law: Box<dyn WindowLaw>,
    window: f64,
    failed: Option<Fault>,
}

impl SupervisedLaw {
    /// Supervises a law that has not been asked yet; `window` is in force.
    pub fn new(law: Box<dyn WindowLaw>, window: f64) -> Self {
        Self { law, window, failed: None }
    }

    /// Puts another law in its place, which goes on from the window in force.
    pub fn replace(&mut self, law: &Law) {
        *self = Self::new(law.beginning_with(self.window).build(), self.window);
    }

    pub fn name(&self) -> &'static str {
        self.law.name()
    }

    pub fn window(&self) -> f64 {
        self.window
    }

    /// Whether the law lets the window fall no further.
    pub fn is_at_floor(&self) -> bool {
        self.failed.is_none() && self.law.is_at_floor()
    }

    /// This host's part of the device over what its shares give it, where the storage does not follow windows.
    pub fn unfair(&self) -> Option<f64> {
        self.law.unfair().filter(|_| self.failed.is_none())
    }

    /// What shares add to the window, where the law has such a figure.
    pub fn beta(&self) -> Option<f64> {
        self.law.beta().filter(|_| self.failed.is_none())
    }

    /// The report for the others. It has no figures of a law that has failed: the others divide by what is wanted here.
    pub fn report(&mut self, period: &Period) -> Report {
        if self.failed.is_none() {
            match catch_unwind(AssertUnwindSafe(|| self.law.report(period))) {
                Ok(report) => return report,
                Err(_) => self.failed = Some(Fault::Panic),
            }
        }
        Report::of(period, self.window)
    }

    /// The window from now on.
    /// Errors: the law panicked or gave a window that is no number above zero, now or before.
    pub fn update(&mut self, all: &[Report], own: usize) -> Result<f64, Fault> {
        if let Some(fault) = &self.failed {
            return Err(fault.clone());
        }
        let asked = catch_unwind(AssertUnwindSafe(|| self.law.update(all, own)));
        let fault = match asked {
            Ok(window) if window.is_finite() && window > 0.0 => {
                self.window = window.max(WINDOW_MIN);
                return Ok(self.window);
            }
            Ok(_) => Fault::Window,
            Err(_) => Fault::Panic,
        };
        self.failed = Some(fault.clone());
        Err(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives the windows of a list, and panics at its end.
    struct Script(Vec<f64>);

    impl WindowLaw for Script {
        fn name(&self) -> &'static str {
            "script"
        }

        fn report(&mut self, _: &Period) -> Report {
            Report { total: 7.0, ..Report::default() }
        }

        fn update(&mut self, _: &[Report], _: usize) -> f64 {
            self.0.remove(0)
        }
    }

    fn supervised(windows: &[f64]) -> SupervisedLaw {
        SupervisedLaw::new(Box::new(Script(windows.to_vec())), 16.0)
    }

    #[test]
    fn a_law_that_panics_is_not_asked_again_and_its_last_window_is_kept() {
        let mut law = supervised(&[9.0]);
        assert_eq!(law.update(&[], 0), Ok(9.0));
        assert_eq!(law.report(&Period::default()).total, 7.0);
        for _ in 0..2 {
            assert_eq!((law.update(&[], 0), law.window()), (Err(Fault::Panic), 9.0));
        }
        let told = law.report(&Period { outstanding: 3.0, ..Period::default() });
        assert_eq!((told.outstanding, told.most, told.total), (3.0, 9.0, 0.0));
    }

    #[test]
    fn a_window_that_cannot_be_is_as_good_as_a_panic() {
        for bad in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
            let mut law = supervised(&[bad, 5.0]);
            assert_eq!(law.update(&[], 0), Err(Fault::Window));
            assert_eq!((law.update(&[], 0), law.window()), (Err(Fault::Window), 16.0));
            law.replace(&Law::Fixed(4.0));
            assert_eq!(law.update(&[], 0), Ok(4.0));
        }
    }

    #[test]
    fn no_window_is_so_small_that_nothing_moves() {
        assert_eq!(supervised(&[1e-9]).update(&[], 0), Ok(0.01));
    }
}
