//! Labels and marks lie where they can be read.

use super::{all, page};

/// A text of a drawing: what it says and the box it covers, left, top, right, bottom.
type Label = (String, [f64; 4]);

/// The value of an attribute.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    tag.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split('"').next())
}

/// Width and height of a chart, and its texts. A character of 12.5 px is about half as wide as high.
fn labels(svg: &str) -> ((f64, f64), Vec<Label>) {
    let number = |text: &str| text.parse::<f64>().unwrap();
    let size: Vec<f64> = attribute(svg, "viewBox").unwrap().split(' ').map(number).collect();
    let label = |part: &str| {
        let (tag, rest) = part.split_once('>').unwrap();
        let text = rest.split("</text>").next().unwrap().to_owned();
        let (x, y) = (number(attribute(tag, "x").unwrap()), number(attribute(tag, "y").unwrap()));
        let width = 6.2 * text.chars().count() as f64;
        let left = match attribute(tag, "text-anchor") {
            Some("end") => x - width,
            Some("middle") => x - width / 2.0,
            _ => x,
        };
        (text, [left, y - 9.0, left + width, y + 2.0])
    };
    ((size[2], size[3]), svg.split("<text").skip(1).map(label).collect())
}

#[test]
fn no_label_lies_over_another_and_none_is_cut() {
    let seen: usize = all().iter().map(|fixture| readable(&page(fixture))).sum();
    assert!(seen > 1_000, "only {seen} labels found");
}

/// Sees to it that no label of a page's charts lies over another and none is cut; how many there are.
pub fn readable(page: &str) -> usize {
    let mut seen = 0;
    for svg in page.split("<svg class=\"chart").skip(1).map(|rest| rest.split("</svg>").next().unwrap()) {
        let id = svg.split("aria-labelledby=\"").nth(1).unwrap().split(' ').next().unwrap();
        let ((width, height), labels) = labels(svg);
        for (at, (text, own)) in labels.iter().enumerate() {
            seen += 1;
            assert!(own[0] >= -1.0 && own[2] <= width + 1.0, "{id}: {text} at {own:?} of {width}");
            assert!(own[1] >= 0.0 && own[3] <= height, "{id}: {text} at {own:?} of {height}");
            for (other, theirs) in &labels[..at] {
                let over =
                    own[0] < theirs[2] && theirs[0] < own[2] && own[1] < theirs[3] && theirs[1] < own[3];
                assert!(!over, "{id}: {text} {own:?} lies over {other} {theirs:?}");
            }
        }
    }
    seen
}
