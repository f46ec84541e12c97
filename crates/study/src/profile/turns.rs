//! Whose turn it is where runs are chosen one by one, and why that ends.

use std::collections::VecDeque;

/// Why a sequence ended; of several series, the one that weighs most, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    Enough,
    Exhausted,
    TooFewArrivals,
    RequestsFail,
    GeneratorFails,
    TooMany,
    TimeIsUp,
}

/// Groups of series, each in its turn, so that what drifts with time meets them alike.
pub(super) struct Turns {
    /// Those that go on, the next one first.
    pub groups: VecDeque<Vec<usize>>,
    /// Runs that are left of the group whose turn it is: series and rate.
    pub runs: VecDeque<(usize, f64)>,
    pub end: End,
}

impl End {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Enough => "the bounds are as tight as requested",
            Self::TimeIsUp => "the time is up",
            Self::Exhausted => "no further run of this length tightens the bounds",
            Self::TooFewArrivals => {
                "the server carries so little that a run has too few arrivals: give runs more time by \
                 --duration, and all of them by --within"
            }
            Self::RequestsFail => {
                "too many requests fail at the rate to measure next: see the errors by `evenkeel load`, and \
                 fix what the server names"
            }
            Self::GeneratorFails => "the generator fails at the rate to measure next",
            Self::TooMany => "2,000 runs are made",
        }
    }
}
