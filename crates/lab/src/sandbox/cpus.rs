//! Sets of CPUs as Linux writes them: `0-3,6`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Some CPUs; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuSet(BTreeSet<usize>);

/// Largest CPU number that `sched_setaffinity` takes in its plain form.
const LARGEST: usize = 1023;

impl CpuSet {
    /// The numbers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied()
    }

    /// Whether all of these are in `other`.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// The CPUs of this machine.
    pub fn online() -> Option<Self> {
        std::fs::read_to_string("/sys/devices/system/cpu/online").ok()?.trim().parse().ok()
    }
}

impl FromStr for CpuSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |part: &str| match part.trim().parse::<usize>() {
            Ok(number) if number <= LARGEST => Ok(number),
            _ => Err(format!("{part:?} in {text:?} is no CPU number between 0 and {LARGEST}")),
        };
        let mut cpus = BTreeSet::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("CPU range {part:?} runs backwards"));
            }
            cpus.extend(first..=last);
        }
        Ok(Self(cpus))
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.iter().copied().peekable();
        let mut separator = "";
        while let Some(first) = rest.next() {
            let mut last = first;
            while let Some(next) = rest.next_if_eq(&(last + 1)) {
                last = next;
            }
            match last - first {
                0 => write!(f, "{separator}{first}")?,
                _ => write!(f, "{separator}{first}-{last}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_printed_as_linux_prints_it() {
        for (text, printed) in [("0", "0"), ("3,1,2", "1-3"), ("0-1,4, 6-7", "0-1,4,6-7"), ("5-5", "5")] {
            assert_eq!(text.parse::<CpuSet>().unwrap().to_string(), printed);
        }
    }

    #[test]
    fn what_is_no_set_is_refused() {
        for text in ["", "a", "1-", "3-1", "-1", "1,,2", "99999999", "0-1024"] {
            assert!(text.parse::<CpuSet>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn this_machine_has_some_cpu() {
        let online = CpuSet::online().unwrap();
        assert!(online.iter().next().is_some() && online.is_within(&online));
    }
}
