//! A part: the lines of a bounded number of bytes of one file, which are stored together or not at all.

use crate::convert::{Converted, Tally};
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Part {
    pub number: u64,
    /// Number of the input among those of the load.
    pub input: usize,
    pub file: u64,
    pub begin: u64,
    pub end: u64,
    pub is_last: bool,
    pub lines: Vec<Vec<u8>>,
    /// Offset of the record of each line, by record type.
    pub places: Vec<Vec<u64>>,
    pub rejects: Vec<u8>,
    pub tally: Tally,
    /// Rejects that are stored after all, or were corrected in vain: their records by the offsets in the file.
    pub corrected: BTreeMap<u64, Vec<u8>>,
}

impl Part {
    /// Empties it and keeps its memory: fresh pages cost as much as filling them.
    pub fn emptied(mut self) -> Self {
        self.lines.iter_mut().for_each(Vec::clear);
        self.places.iter_mut().for_each(Vec::clear);
        Self { lines: self.lines, places: self.places, ..Self::default() }
    }

    pub fn add(&mut self, block: &Converted) {
        self.lines.resize(block.lines.len(), Vec::new());
        self.places.resize(block.places.len(), Vec::new());
        self.lines.iter_mut().zip(&block.lines).for_each(|(all, more)| all.extend_from_slice(more));
        self.places.iter_mut().zip(&block.places).for_each(|(all, more)| all.extend_from_slice(more));
        self.rejects.extend_from_slice(&block.rejects);
        self.tally.add(&block.tally);
        self.end = block.end;
    }

    /// Takes lines of a type out, by their numbers in ascending order; the offsets of their records.
    pub fn take_out(&mut self, index: usize, numbers: &[usize]) -> Vec<u64> {
        let (lines, places) =
            (std::mem::take(&mut self.lines[index]), std::mem::take(&mut self.places[index]));
        let mut numbers = numbers.iter().copied().peekable();
        let mut out = Vec::new();
        for (number, (line, place)) in split(&lines).zip(places).enumerate() {
            if numbers.next_if_eq(&number).is_some() {
                out.push(place);
                continue;
            }
            self.lines[index].extend_from_slice(line);
            self.places[index].push(place);
        }
        self.tally.lines[index] -= out.len() as u64;
        out
    }
}

/// Lines with their line feeds. The converter leaves no line feed within a line.
pub(super) fn split(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines.split_inclusive(|byte| *byte == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(lines: &[&str]) -> Part {
        let mut part = Part::default();
        let text: Vec<u8> = lines.concat().into_bytes();
        let places = (0..lines.len() as u64).map(|number| 10 * number).collect();
        let tally =
            Tally { records: lines.len() as u64, lines: vec![lines.len() as u64], ..Tally::default() };
        part.add(&Converted {
            end: 50,
            lines: vec![text],
            places: vec![places],
            tally,
            ..Converted::default()
        });
        part
    }

    #[test]
    fn lines_that_are_taken_out_leave_the_others_with_their_places() {
        let mut part = part(&["a\n", "b\n", "c\n", "d\n"]);
        assert_eq!(part.take_out(0, &[1, 3]), [10, 30]);
        assert_eq!((&part.lines[0][..], &part.places[0][..]), (&b"a\nc\n"[..], &[0, 20][..]));
        assert_eq!((part.tally.lines[0], part.tally.records), (2, 4));
    }

    #[test]
    fn a_part_that_is_emptied_has_nothing_of_the_one_before() {
        let mut part = part(&["a\n", "b\n"]);
        (part.rejects, part.is_last) = (vec![1], true);
        let part = part.emptied();
        assert!(part.lines.concat().is_empty() && part.places.concat().is_empty() && part.rejects.is_empty());
        assert_eq!((part.begin, part.end, part.is_last, part.tally), (0, 0, false, Tally::default()));
    }
}
