//! Why two things cannot be compared.

use thiserror::Error;

/// Why two things cannot be compared.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CompareError {
    #[error("the first study has {first} series and the second {second}")]
    Series {
        first: usize,
        /// Of the second.
        second: usize,
    },
    /// Nothing says what the server does at most.
    #[error("study {study} never reached its limit for certain, and the bounds of what both carry overlap")]
    NoOverload { study: String },
    /// No rate that both have tells anything of response times; or CPU per request without a rate that both have.
    #[error("{}", no_common_rate(*common, *levels, left_out))]
    NoCommonRate {
        common: usize,
        levels: bool,
        /// Rates of the first at which the response settled.
        rates: Vec<f64>,
        /// What does not take part, with the reason: rates that both have, and series that one of them has alone.
        left_out: Vec<String>,
    },
    /// Runs without an answer, or of a generator that failed.
    #[error(
        "there is no {figure} to compare: on one side the generator failed in all runs, nothing was \
         answered, or it was not measured"
    )]
    NoFigure { figure: &'static str },
}

fn no_common_rate(common: usize, levels: bool, left_out: &[String]) -> String {
    let sides = if levels { "levels" } else { "studies" };
    let why = if left_out.is_empty() { String::new() } else { format!(" ({})", left_out.join("; ")) };
    match common {
        0 => format!("not comparable: no common rate of the two {sides}{why}"),
        _ => format!("response times cannot be compared at the rates that both {sides} have{why}"),
    }
}

impl CompareError {
    pub fn hint(&self) -> String {
        match self {
            Self::Series { .. } => "measure both with the same targets and levels".to_owned(),
            Self::NoOverload { .. } => {
                "measure it with --within, which goes into overload, or compare response times (--of response)"
                    .to_owned()
            }
            Self::NoCommonRate { common: 1.., .. } => {
                "measure both at rates at which their queues settle, for longer (--duration) and more often (--repeats), with a generator that keeps up (--generator-cpus)".to_owned()
            }
            Self::NoCommonRate { rates, .. } => {
                let rates: Vec<String> = rates.iter().map(f64::to_string).collect();
                let rates = if rates.is_empty() { "100,200".to_owned() } else { rates.join(",") };
                format!("measure both at the same rates: --rate {rates} --repeats 5")
            }
            Self::NoFigure { .. } => {
                "`evenkeel report` says why: give the generator CPUs of its own (--generator-cpus), or \
                 measure the server's CPU use (--sense-with)".to_owned()
            }
        }
    }
}
