//! Shapes of throughput over transactions in flight, with 1 near the peak.

/// Throughput as a share of the peak, by transactions in flight `n >= 1`.
#[derive(Clone, Debug, PartialEq)]
pub enum Curve {
    /// `min(n / knee, 1)`: as much as is asked for, up to a ceiling.
    Linear {
        knee: f64,
    },
    /// Universal Scalability Law (Gunther, Guerrilla Capacity Planning, 2007), scaled to a peak of 1:
    /// `X(n) = n / (1 + sigma (n - 1) + kappa n (n - 1))`, best at `sqrt((1 - sigma) / kappa)`.
    Usl {
        /// Contention: the share that cannot run side by side.
        sigma: f64,
        /// Coherence: what each pays for each other.
        kappa: f64,
    },
    Peaked {
        peak: f64,
        rise: Rise,
        fall: Fall,
    },
    /// Two bottlenecks: rises to a first knee, more slowly (`n^slope`) to the peak, and falls beyond it.
    TwoBottlenecks {
        first: f64,
        /// Elasticity from there to the peak, above 0.
        slope: f64,
        peak: f64,
        fall: Fall,
    },
    /// Points `(n, throughput)` in ascending order of `n`, joined by straight lines in ln n and ln X, scaled to a
    /// peak of 1. Beyond the last point the last line goes on, down to 1 % of the peak.
    Points(Vec<(f64, f64)>),
}

/// `X(n) = n (1 + bend) / (n + bend peak)`: nearly flat before the peak for a small bend, linear for a large one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rise {
    pub bend: f64,
}

/// What happens beyond the peak; `r = n / peak`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fall {
    /// `max(r^-exponent, floor)`: thrashing. Locks reach exponents of 1.7.
    Power {
        exponent: f64,
        floor: f64,
        /// Whether lock waits and deadlocks are what it falls by.
        by_locks: bool,
    },
    /// Falls to a shelf, which is flat for long, and then slowly on: the hot row (39 % of the peak from 4 to 64
    /// times its best limit).
    Shelf {
        /// The shelf begins at `peak start`; from the peak to there it is a straight line in ln n and ln X.
        start: f64,
        /// It ends at `peak end`; beyond, `(n / end)^-0.2`.
        end: f64,
        height: f64,
    },
    /// Holds the peak up to `peak edge`, falls within a tenth more to `height`, stays there: a buffer pool or a memory
    /// that no longer suffices.
    Cliff {
        /// Where it breaks off, at least 1.
        edge: f64,
        height: f64,
    },
}

impl Curve {
    pub fn peaked(peak: f64, rise: Rise, fall: Fall) -> Self {
        Self::Peaked { peak, rise, fall }
    }

    /// Share of the peak with `n` in flight; `n` below 1 counts on along the line through the origin.
    pub fn at(&self, n: f64) -> f64 {
        if n < 1.0 && !matches!(self, Self::Linear { .. }) {
            return n.max(0.0) * self.at(1.0);
        }
        match self {
            Self::Linear { knee } => (n / knee).min(1.0),
            Self::Usl { sigma, kappa } => {
                usl(n, *sigma, *kappa) / usl(usl_peak(*sigma, *kappa), *sigma, *kappa)
            }
            Self::Peaked { peak, rise, fall } => {
                if n <= *peak {
                    n * (1.0 + rise.bend) / (n + rise.bend * peak)
                } else {
                    fall.at(n / peak)
                }
            }
            Self::TwoBottlenecks { first, slope, peak, fall } => {
                if n > *peak {
                    fall.at(n / peak)
                } else if n > *first {
                    (n / peak).powf(*slope)
                } else {
                    (first / peak).powf(*slope) * n / first
                }
            }
            Self::Points(points) => interpolate(points, n) / highest(points).1,
        }
    }

    /// Where the curve is highest; the first such place of a flat one.
    pub fn peak(&self) -> f64 {
        match self {
            Self::Linear { knee } => *knee,
            Self::Usl { sigma, kappa } => usl_peak(*sigma, *kappa),
            Self::Peaked { peak, .. } | Self::TwoBottlenecks { peak, .. } => *peak,
            Self::Points(points) => highest(points).0,
        }
    }

    pub fn falls_by_locks(&self) -> bool {
        match self {
            Self::Peaked { fall, .. } | Self::TwoBottlenecks { fall, .. } => {
                matches!(fall, Fall::Power { by_locks: true, .. })
            }
            _ => false,
        }
    }
}

impl Fall {
    fn at(self, r: f64) -> f64 {
        match self {
            Self::Power { exponent, floor, .. } => r.powf(-exponent).max(floor),
            Self::Shelf { start, end, height } => {
                if r < start {
                    height.powf(r.ln() / start.ln())
                } else if r <= end {
                    height
                } else {
                    height * (r / end).powf(-0.2)
                }
            }
            Self::Cliff { edge, height } => {
                let below = ((r / edge).ln() / 1.1_f64.ln()).clamp(0.0, 1.0);
                height.powf(below)
            }
        }
    }
}

fn usl(n: f64, sigma: f64, kappa: f64) -> f64 {
    n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))
}

fn usl_peak(sigma: f64, kappa: f64) -> f64 {
    ((1.0 - sigma) / kappa).sqrt().max(1.0)
}

fn highest(points: &[(f64, f64)]) -> (f64, f64) {
    points.iter().copied().fold((1.0, 0.0), |best, point| if point.1 > best.1 { point } else { best })
}

/// Straight lines in ln n and ln X; the first and the last go on.
fn interpolate(points: &[(f64, f64)], n: f64) -> f64 {
    let after = points.partition_point(|point| point.0 < n).clamp(1, points.len().saturating_sub(1).max(1));
    let (Some(&(n0, x0)), Some(&(n1, x1))) = (points.get(after - 1), points.get(after)) else {
        return points.first().map_or(0.0, |point| point.1);
    };
    let share = (n / n0).ln() / (n1 / n0).ln();
    (x0 * (x1 / x0).powf(share)).clamp(0.01 * highest(points).1, highest(points).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_one_at_its_peak() {
        let rise = Rise { bend: 1.0 };
        let cliff = Fall::Cliff { edge: 2.0, height: 0.2 };
        for curve in [
            Curve::Linear { knee: 12.0 },
            Curve::Usl { sigma: 0.1, kappa: 0.01 },
            Curve::peaked(2.0, rise, Fall::Shelf { start: 4.0, end: 64.0, height: 0.39 }),
            Curve::peaked(2.0, rise, cliff),
            Curve::TwoBottlenecks { first: 4.0, slope: 0.3, peak: 40.0, fall: cliff },
            Curve::Points(vec![(1.0, 60.0), (2.0, 100.0), (64.0, 40.0)]),
        ] {
            assert!((curve.at(curve.peak()) - 1.0).abs() < 1e-9, "{curve:?}");
            assert!(curve.at(1.0) <= 1.0 && curve.at(1_000.0) <= 1.0, "{curve:?}");
        }
    }
}
