//! Shapes of points.

/// Shape of a series' points, so that colour is never the only difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marker {
    #[default]
    Circle,
    Square,
    Triangle,
    Diamond,
}

impl Marker {
    pub fn numbered(number: usize) -> Self {
        [Self::Circle, Self::Square, Self::Triangle, Self::Diamond][number % 4]
    }

    /// The shape around the origin, `r` being the radius of the disc of about the same area.
    pub fn path(self, r: f64) -> String {
        match self {
            Self::Circle => format!(
                "M{:.2} 0a{r:.2} {r:.2} 0 1 0 {:.2} 0a{r:.2} {r:.2} 0 1 0 {:.2} 0z",
                -r,
                2.0 * r,
                -2.0 * r
            ),
            Self::Square => {
                let half = r * 0.89;
                let side = 2.0 * half;
                format!("M{0:.2} {0:.2}h{side:.2}v{side:.2}h{1:.2}z", -half, -side)
            }
            Self::Triangle => {
                let (side, top) = (r * 1.25, r * 1.3);
                format!("M0 {:.2}L{side:.2} {:.2}H{:.2}z", -top, r * 0.85, -side)
            }
            Self::Diamond => {
                let tip = r * 1.28;
                format!("M0 {:.2}L{tip:.2} 0L0 {tip:.2}L{:.2} 0z", -tip, -tip)
            }
        }
    }
}

/// An arrow that rises from the origin: the true value may lie higher.
pub const ARROW_UP: &str = "M0 -9V-23M-4.5 -18L0 -23.5L4.5 -18";
