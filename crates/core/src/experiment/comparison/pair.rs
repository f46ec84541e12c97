/// The figure of each run on both sides, under the same conditions (one arrival rate, say).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pair {
    pub first: Vec<f64>,
    pub second: Vec<f64>,
}
