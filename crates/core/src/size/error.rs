use std::fmt;

/// Rates are per second and times in seconds; `at_most` is `None` where response times alone say that a server saturates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SizeError {
    NothingSettled,
    Saturates { rate: f64, at_most: Option<f64> },
    OutOfReach { objective: f64, least: f64, rate: f64 },
    NoEnd { rate: f64, used: Option<f64> },
    NotARate(f64),
}

impl fmt::Display for SizeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NothingSettled => write!(out, "at no rate of the profile did the response settle"),
            Self::Saturates { rate, at_most: Some(most) } => {
                write!(
                    out,
                    "one server cannot carry {rate:.0} requests/s: by this profile it carries {most:.0} at most"
                )
            }
            Self::Saturates { rate, at_most: None } => write!(
                out,
                "one server most likely cannot carry {rate:.0} requests/s, by how response times rise in this profile"
            ),
            Self::OutOfReach { objective, least, rate } => write!(
                out,
                "no number of servers meets {:.1} ms for certain: even at {rate:.1} requests/s, the lowest measured rate, it may be {:.1} ms",
                1e3 * objective,
                1e3 * least
            ),
            Self::NoEnd { rate, used } => {
                let cpu = used.map_or("unknown".to_owned(), |it| format!("{:.0} %", 100.0 * it));
                write!(
                    out,
                    "the profile never reached the limit: at {rate:.1}/s, its highest stable rate, CPU use was {cpu}"
                )
            }
            Self::NotARate(rate) if rate > 0.0 => {
                write!(out, "{rate} requests/s need more than a million servers")
            }
            Self::NotARate(rate) => write!(out, "{rate} is not a positive rate"),
        }
    }
}

impl std::error::Error for SizeError {}
