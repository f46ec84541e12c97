//! Heat maps: a table with a value for each row and column, the darker the more.

use crate::report::legend::Text;

#[derive(Clone, Debug)]
pub struct Heat {
    pub id: String,
    pub title: String,
    /// Whether what is dark is bad.
    pub is_trouble: bool,
    pub columns: Vec<String>,
    pub rows: Vec<(String, Vec<Option<Place>>)>,
}

#[derive(Clone, Debug)]
pub struct Place {
    pub text: String,
    /// Its interval.
    pub within: String,
    pub tip: String,
    /// From 0 to 1.
    pub shade: f64,
    pub is_marked: bool,
}

/// With more columns the intervals stand in the tips alone.
const COLUMNS_WITH_INTERVALS: usize = 8;
/// So dark is what has no shade, percent: it is a place all the same.
const PALEST: f64 = 7.0;

impl Heat {
    /// As a `<table>` element.
    pub fn table(&self) -> String {
        let has_within = self.columns.len() <= COLUMNS_WITH_INTERVALS;
        let head = |name: &String| format!("<th scope=\"col\">{}</th>", Text(name));
        let absent = || "<td class=\"absent\">-</td>".to_owned();
        let cell = |place: &Option<Place>| place.as_ref().map_or_else(absent, |place| place.cell(has_within));
        let row = |(name, places): &(String, Vec<Option<Place>>)| {
            let cells: String = places.iter().map(cell).collect();
            format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", Text(name))
        };
        let (heads, rows): (String, String) =
            (self.columns.iter().map(head).collect(), self.rows.iter().map(row).collect());
        format!(
            "<table class=\"heat{}\" id=\"{}\"><caption>{}</caption>\n<thead><tr><td></td>{heads}</tr></thead>\n\
             <tbody>{rows}</tbody></table>\n",
            if self.is_trouble { " trouble" } else { "" },
            self.id,
            Text(&self.title)
        )
    }
}

impl Place {
    fn cell(&self, has_within: bool) -> String {
        let mark = if self.is_marked { " marked" } else { "" };
        let shade = PALEST + (100.0 - PALEST) * self.shade.clamp(0.0, 1.0);
        let within = if has_within { self.within.as_str() } else { "" };
        format!(
            "<td class=\"point{mark}\" style=\"--shade:{shade:.0}%\" title=\"{}\">{}<small>{}</small></td>",
            Text(&self.tip),
            Text(&self.text),
            Text(within)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heat(columns: usize) -> String {
        let place = |value: usize| Place {
            text: value.to_string(),
            within: "0.901 to 1.38".to_owned(),
            tip: format!("tip {value}"),
            shade: value as f64 / columns as f64,
            is_marked: value == 1,
        };
        let places = (0..columns).map(|value| Some(value).filter(|value| *value != 2).map(place)).collect();
        let heat = Heat {
            id: "a".to_owned(),
            title: "t".to_owned(),
            is_trouble: true,
            columns: (0..columns).map(|at| format!("b's select number {at}")).collect(),
            rows: vec![("a's read".to_owned(), places)],
        };
        heat.table()
    }

    #[test]
    fn every_value_has_a_cell_with_its_interval_where_there_is_room_and_what_matters_a_frame() {
        let few = heat(4);
        assert_eq!(
            (few.matches("class=\"point").count(), few.matches("0.901 to 1.38").count()),
            (3, 3),
            "{few}"
        );
        assert_eq!((few.matches("point marked").count(), few.matches(">-<").count()), (1, 1), "{few}");
        assert!(few.contains("--shade:7%") && few.contains("tip 3"), "{few}");
        assert!(!heat(12).contains("0.901"));
    }
}
