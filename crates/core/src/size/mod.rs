//! What a server answers at a load that was not measured, and how many servers an objective needs.
//!
//! Three models are fitted to what a profile measured, a response time at each of several rates:
//!
//! - [`Kind::Queue`]: a delay and the wait for one of `c` CPUs, `b + k W(l)` with `W` that of M/M/c (Erlang, 1917; Kleinrock,
//!   Queueing Systems, vol. 1, 1975, section 3.5). The factor `k`, fitted, stands for how uneven arrivals and service are: an
//!   M/G/c queue waits about `(Ca^2 + Cs^2) / 2` times as long (Kingman, Proc. Camb. Phil. Soc. 57 (1961) 902; Allen,
//!   Probability, Statistics and Queueing Theory, 2nd ed., 1990, section 5.3);
//! - [`Kind::Network`]: an open network of CPUs, a disk and a delay, `b + R(l) + D / (1 - l D)`, by mean value analysis, which for
//!   open networks is a sum over stations (Lazowska, Zahorjan, Graham and Sevcik, Quantitative System Performance, 1984,
//!   section 6.4). Where the CPUs are full is known from their utilisation; delay, scale and the disk's part are fitted;
//! - [`Kind::Regression`]: the logarithm of the response as a polynomial of the rate, which knows of no queue.
//!
//! Each is judged by leaving out one rate after the other and telling its response from the others. The one that errs least is
//! used, and what choosing it makes is judged too: each rate is told by the model that the others alone would have chosen (nested
//! cross-validation; Varma and Simon, BMC Bioinformatics 7 (2006) 91). Beyond what was measured, only those count that know that a
//! server has an end, and beyond the trust limit nothing is told unless it is asked for.

mod basis;
mod chosen;
mod curve;
mod error;
mod fit;
mod needed;
mod regression;
mod sizing;
mod station;

pub use basis::{Basis, Measured};
pub use curve::Kind;
pub use error::SizeError;
pub use needed::{Answer, Needed, Objective, Server};
pub use sizing::{LeftOut, Prediction, RATES_MIN, Rival, Sizing};

#[cfg(test)]
mod tests;
