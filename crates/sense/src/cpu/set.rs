//! A set of CPUs is written in the kernel's own notation.

use crate::error::SenseError;
use evenkeel_os::cpu::{Affinity, CPUS_MAX};
use std::collections::{BTreeSet, btree_set};
use std::fmt;
use std::iter::Copied;
use std::str::FromStr;

/// A set of CPUs, `0-3,8`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CpuSet(BTreeSet<u32>);

impl CpuSet {
    /// Those that a process (its first thread) may run on: online, in its cpuset and in its mask; `None` where it is gone.
    pub(crate) fn of_process(pid: u32) -> Option<Self> {
        Affinity::of_process(pid).map(|affinity| affinity.cpus().collect())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this one is among them.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    pub fn intersection(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }
}

impl<'a> IntoIterator for &'a CpuSet {
    type Item = u32;
    type IntoIter = Copied<btree_set::Iter<'a, u32>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().copied()
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self(cpus.into_iter().filter(|&cpu| cpu < CPUS_MAX).collect())
    }
}

impl FromStr for CpuSet {
    type Err = SenseError;

    /// `0-3,8`; empty text is the empty set, as in the kernel's files.
    fn from_str(text: &str) -> Result<Self, SenseError> {
        let refused = || SenseError::CpuSet { text: text.to_owned(), limit: CPUS_MAX };
        let mut cpus = BTreeSet::new();
        for part in text.split(',').map(str::trim).filter(|_| !text.trim().is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let bounds = (first.parse::<u32>().map_err(|_| refused())?, last.parse().map_err(|_| refused())?);
            if bounds.0 > bounds.1 || bounds.1 >= CPUS_MAX {
                return Err(refused());
            }
            cpus.extend(bounds.0..=bounds.1);
        }
        Ok(Self(cpus))
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = rest.next() {
            let mut last = first;
            while let Some(next) = rest.next_if_eq(&(last + 1)) {
                last = next;
            }
            write!(out, "{separator}{first}")?;
            if last > first {
                write!(out, "-{last}")?;
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
    fn a_list_is_read_and_written_as_the_kernel_does() {
        for (text, written, len) in
            [("0", "0", 1), ("0-3,8\n", "0-3,8", 5), ("3,1,2", "1-3", 3), ("", "", 0), ("5-5, 7", "5,7", 2)]
        {
            let set: CpuSet = text.parse().expect(text);
            assert_eq!((set.to_string().as_str(), set.len()), (written, len), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_list_is_refused_with_its_text() {
        for text in ["a", "3-1", "1,,2", "-1", "0-8192", "4294967295", "1-", "0-4294967295"] {
            let error = text.parse::<CpuSet>().expect_err(text);
            assert!(error.to_string().contains(text), "{error}");
        }
        crate::garbage::damaged("0-3,8,10-11", |text| text.parse::<CpuSet>());
    }
}
