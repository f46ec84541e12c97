//! /proc/cpuinfo describes the processors, and every architecture writes it in its own way.

use crate::text;

/// x86 has a name; others have another word for it, or (64-bit ARM) only the numbers of maker and part.
pub(super) fn model(text: &str) -> Option<String> {
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
    fn an_architecture_with_names_gives_the_name() {
        assert_eq!(model(AMD).as_deref(), Some("AMD EPYC 7763 64-Core Processor"));
    }

    #[test]
    fn an_architecture_without_names_gives_numbers() {
        assert_eq!(model(ARM).as_deref(), Some("ARM implementer 0x41 part 0xd0c"));
        assert_eq!(model(""), None);
        crate::garbage::damaged(AMD, model);
    }
}
