//! Colours, in light and dark, and the promise that they can be told from their ground.
//!
//! The hues are those of Okabe and Ito (2008), which people with any common colour blindness can tell
//! apart, made darker for the light page and lighter for the dark one until each reaches its contrast.

use std::fmt::Write as _;

/// A custom property of the style sheet with its value in light and in dark.
struct Colour {
    name: &'static str,
    light: &'static str,
    dark: &'static str,
    /// Smallest contrast with page and card (WCAG 2.2: 4.5 for text, 3 for marks); 0 for grounds and lines.
    #[cfg_attr(not(test), allow(dead_code, reason = "a promise that the tests keep"))]
    contrast: f64,
}

/// How many hues series take turns with.
pub const HUES: usize = 6;

/// Hues of rates.
pub const RATES: usize = 8;

const fn colour(name: &'static str, light: &'static str, dark: &'static str, contrast: f64) -> Colour {
    Colour { name, light, dark, contrast }
}

const COLOURS: [Colour; 35] = [
    colour("page", "#f6f7f9", "#0f1216", 0.0),
    colour("card", "#ffffff", "#171b21", 0.0),
    colour("line", "#dfe3e8", "#2b323b", 0.0),
    colour("grid", "#e9ecf0", "#242a32", 0.0),
    colour("shade", "#f8efe8", "#2a2220", 0.0),
    colour("ink", "#171a1f", "#e8ebef", 4.5),
    colour("soft", "#545c68", "#a3adba", 4.5),
    colour("accent", "#00568a", "#6fbdf0", 4.5),
    colour("good", "#00694c", "#3fcf9f", 4.5),
    colour("doubt", "#855400", "#f0b43c", 4.5),
    colour("bad", "#a83d00", "#ff9a5c", 4.5),
    colour("axis", "#757d88", "#6c7682", 3.0),
    colour("s0", "#0072b2", "#56b4e9", 3.0),
    colour("s1", "#c75400", "#f2884b", 3.0),
    colour("s2", "#00835f", "#2ec29a", 3.0),
    colour("s3", "#ad5585", "#e39cc4", 3.0),
    colour("s4", "#9a7200", "#f0e442", 3.0),
    colour("s5", "#4b5563", "#c3cad3", 3.0),
    colour("p0", "#4f81b8", "#8fc6f2", 3.0),
    colour("p1", "#2f74b5", "#5ea9e6", 3.0),
    colour("p2", "#00568a", "#f3f5f7", 3.0),
    colour("p3", "#8a4a8f", "#d79be0", 3.0),
    colour("p4", "#a83d00", "#ff9a5c", 3.0),
    // Rates, from the lowest to the highest: from cool to warm.
    colour("r0", "#3b6fd4", "#7aa7ff", 3.0),
    colour("r1", "#0072b2", "#56b4e9", 3.0),
    colour("r2", "#00838a", "#3cc8c0", 3.0),
    colour("r3", "#3f7f2a", "#8fd06a", 3.0),
    colour("r4", "#8a7400", "#f0e442", 3.0),
    colour("r5", "#b36200", "#f5b041", 3.0),
    colour("r6", "#c0392b", "#ff8a7a", 3.0),
    colour("r7", "#8e2f6b", "#e58fc8", 3.0),
    // Parts of the response time: the generator's wait, the wait for a session, service, what was given up.
    colour("w0", "#c75400", "#f2884b", 3.0),
    colour("w1", "#9a7200", "#e0c63c", 3.0),
    colour("w2", "#0072b2", "#56b4e9", 3.0),
    colour("w3", "#757d88", "#98a2ae", 3.0),
];

/// Style sheet that sets the colours: light, dark where the system or the reader asks for it, light on
/// paper.
pub fn style() -> String {
    let list = |of: fn(&Colour) -> &'static str| {
        COLOURS.iter().fold(String::new(), |mut text, colour| {
            let _ = write!(text, "--{}:{};", colour.name, of(colour));
            text
        })
    };
    let (light, dark) = (list(|colour| colour.light), list(|colour| colour.dark));
    format!(
        ":root{{color-scheme:light;{light}}}\n\
         @media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n\
         @media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance as WCAG 2.2 defines it.
    fn luminance(hex: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn every_colour_can_be_told_from_its_ground_in_light_and_dark() {
        for ground in ["page", "card", "shade"] {
            let ground = COLOURS.iter().find(|colour| colour.name == ground).unwrap();
            for colour in &COLOURS {
                let light = contrast(colour.light, ground.light);
                let dark = contrast(colour.dark, ground.dark);
                let least = light.min(dark);
                assert!(
                    least >= colour.contrast,
                    "{} on {}: {light:.2}, {dark:.2}",
                    colour.name,
                    ground.name
                );
            }
        }
    }

    #[test]
    fn every_hue_of_a_series_is_set() {
        for hue in 0..HUES {
            assert!(style().contains(&format!("--s{hue}:")));
        }
        for hue in 0..RATES {
            assert!(style().contains(&format!("--r{hue}:")));
        }
    }
}
