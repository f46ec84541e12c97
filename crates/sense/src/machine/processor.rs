//! /proc/cpuinfo describes the processors, and every architecture writes it in its own way.

use crate::text;
use std::collections::BTreeSet;

/// The processors of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Processor {
    pub model: Option<String>,
    /// Sockets, as far as a hypervisor tells the truth.
    pub sockets: Option<usize>,
    /// Cores over all sockets; less than CPUs where two threads share a core.
    pub cores: Option<usize>,
    /// Frequency of the first CPU when read, in MHz.
    pub frequency_mhz: Option<f64>,
}

impl Processor {
    pub fn parse(text: &str) -> Self {
        let cores: BTreeSet<_> = text.split("\n\n").filter_map(place).collect();
        let sockets: BTreeSet<_> = cores.iter().map(|(socket, _)| *socket).collect();
        let some = |count: usize| (count > 0).then_some(count);
        Self {
            model: model(text),
            sockets: some(sockets.len()),
            cores: some(cores.len()),
            frequency_mhz: text::value(text, "cpu MHz")
                .and_then(|mhz| mhz.parse().ok())
                .filter(|mhz: &f64| mhz.is_finite()),
        }
    }
}

/// Socket and core of the CPU that a paragraph tells of.
fn place(paragraph: &str) -> Option<(u32, u32)> {
    let number = |key| text::value(paragraph, key)?.parse().ok();
    Some((number("physical id")?, number("core id")?))
}

/// x86 has a name; others have another word for it, or (64-bit ARM) only the numbers of maker and part.
fn model(text: &str) -> Option<String> {
    let name = ["model name", "cpu model", "cpu", "uarch"].iter().find_map(|key| text::value(text, key));
    let numbers = || {
        let (maker, part) = (text::value(text, "CPU implementer")?, text::value(text, "CPU part")?);
        Some(format!("ARM implementer {maker} part {part}"))
    };
    name.map(str::to_owned).or_else(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMD: &str = include_str!("../../captured/cpuinfo-x86");
    const ARM: &str = include_str!("../../captured/cpuinfo-arm64");

    #[test]
    fn threads_of_one_core_count_once() {
        let processor = Processor::parse(AMD);
        assert_eq!(processor.model.as_deref(), Some("AMD EPYC 7763 64-Core Processor"));
        assert_eq!((processor.sockets, processor.cores), (Some(2), Some(2)));
        assert_eq!(processor.frequency_mhz, Some(2445.426));
    }

    #[test]
    fn an_architecture_without_names_gives_numbers() {
        let processor = Processor::parse(ARM);
        assert_eq!(processor.model.as_deref(), Some("ARM implementer 0x41 part 0xd0c"));
        assert_eq!((processor.sockets, processor.cores, processor.frequency_mhz), (None, None, None));
        assert_eq!(Processor::parse(""), Processor::default());
        crate::garbage::damaged(AMD, Processor::parse);
    }
}
