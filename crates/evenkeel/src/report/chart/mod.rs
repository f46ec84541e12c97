//! Line charts as inline SVG, drawn here because they follow the page's light and dark by style sheet and
//! tell each point's figures under the pointer, which an image cannot.
//!
//! A [`Chart`] is data (`data`). `scale` maps values to places, `marks` draws points, `labels` keeps text apart, `backdrop`
//! draws what is behind the traces, `traces` these, and `draw` puts all together; `strips` are small charts above one another
//! over the same time,
//! `heat` are values by row and column.

mod backdrop;
mod data;
mod draw;
mod heat;
mod scale;
mod strips;

pub use data::{Axis, Chart, Guide, Marker, Point, Trace};
pub use heat::{Heat, Place};
pub use scale::{Quantity, Scale, Spacing};
pub use strips::{Strip, Strips};
