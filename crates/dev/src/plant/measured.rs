//! Curves measured with sysbench on a quiet 2-core machine, MariaDB 10.11, closed clients without think time.
//!
//! Transactions per second at the numbers of clients given. One client was not part of the published table; its value
//! is taken as 0.6 of the best, what the second CPU leaves of it. The hot row's shelf from 8 to 128 clients was
//! measured as 39 % of the peak. The sorts under a memory limit were killed at 32 clients, which stands here as
//! 1 % of the peak: a controller that goes there has lost.

use super::{Curve, Plant};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    pub name: &'static str,
    /// `(clients, transactions per second)`.
    pub points: &'static [(f64, f64)],
}

impl Measured {
    pub fn plant(&self) -> Plant {
        let peak = self.points.iter().map(|point| point.1).fold(0.0, f64::max);
        Plant::new(Curve::Points(self.points.to_vec()), peak)
    }
}

pub const MEASURED: [Measured; 7] = [
    Measured {
        name: "flash-sale",
        points: &[(1.0, 1_876.0), (2.0, 3_127.0), (64.0, 1_277.0), (256.0, 239.0), (512.0, 73.0)],
    },
    Measured {
        name: "hot-rows",
        points: &[(1.0, 1_158.0), (2.0, 1_930.0), (64.0, 193.0), (256.0, 41.0), (1_024.0, 1.0)],
    },
    Measured {
        name: "flash-sale-sorted",
        points: &[(1.0, 1_589.0), (4.0, 2_648.0), (64.0, 1_742.0), (256.0, 1_545.0), (1_024.0, 706.0)],
    },
    Measured {
        name: "hot-row",
        points: &[
            (1.0, 13_193.0),
            (2.0, 21_989.0),
            (8.0, 8_600.0),
            (64.0, 8_836.0),
            (128.0, 8_600.0),
            (256.0, 8_128.0),
            (1_024.0, 6_074.0),
        ],
    },
    Measured {
        name: "read-write",
        points: &[(1.0, 698.0), (2.0, 1_163.0), (64.0, 864.0), (256.0, 648.0), (1_024.0, 539.0)],
    },
    Measured {
        name: "group-by",
        points: &[(1.0, 136.0), (8.0, 227.0), (64.0, 155.0), (256.0, 137.0), (1_024.0, 137.0)],
    },
    Measured {
        name: "sorts",
        points: &[(1.0, 15.0), (4.0, 25.0), (8.0, 25.0), (31.0, 22.0), (32.0, 0.25), (1_024.0, 0.25)],
    },
];
