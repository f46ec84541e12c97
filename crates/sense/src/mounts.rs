//! /proc/self/mountinfo says what is mounted where.

use crate::text;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Number of the device, major and minor; major 0 where no block device is behind it (or the file
    /// system hides it).
    pub device: (u32, u32),
    /// Folder of the file system that is shown at the mount point.
    pub root: PathBuf,
    pub point: PathBuf,
    /// Options of the mount, `rw,noatime` say.
    pub options: String,
    pub file_system: String,
    /// What is mounted: a device file, or a word.
    pub source: String,
    /// Options of the file system itself.
    pub super_options: String,
}

impl Mount {
    pub fn all() -> Vec<Self> {
        text::read("/proc/self/mountinfo").map(|text| Self::parse(&text)).unwrap_or_default()
    }

    pub fn parse(text: &str) -> Vec<Self> {
        text.lines().filter_map(Self::parse_line).collect()
    }

    fn parse_line(line: &str) -> Option<Self> {
        // Any number of optional fields ends with a lone hyphen.
        let (mount, file_system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(2);
        let mut file_system = file_system.split(' ');
        let (major, minor) = mount.next()?.split_once(':')?;
        Some(Self {
            device: (major.parse().ok()?, minor.parse().ok()?),
            root: unescape(mount.next()?).into(),
            point: unescape(mount.next()?).into(),
            options: mount.next()?.to_owned(),
            file_system: file_system.next()?.to_owned(),
            source: unescape(file_system.next()?),
            super_options: file_system.next().unwrap_or_default().to_owned(),
        })
    }

    /// The mount that an absolute path without symbolic links lies on: the deepest, and of several at
    /// one place the last, which hides those before.
    pub fn of<'a>(mounts: &'a [Self], path: &Path) -> Option<&'a Self> {
        let holds = mounts.iter().filter(|mount| path.starts_with(&mount.point));
        holds.max_by_key(|mount| mount.point.components().count())
    }
}

/// Undoes the kernel's way to write a space, tab, line end or backslash: `\040`.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if byte.is_ascii() => {
                plain.push(byte as char);
                plain.push_str(&part[3..]);
            }
            _ => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::garbage::{captured, damaged};

    fn source_of(path: &str) -> Option<String> {
        Mount::of(&Mount::parse(captured("mountinfo-hybrid")), Path::new(path))
            .map(|mount| mount.source.clone())
    }

    #[test]
    fn a_path_lies_on_the_deepest_mount_and_the_last_of_several() {
        assert_eq!(source_of("/home/x").as_deref(), Some("/dev/vda1"));
        assert_eq!(source_of("/var/lib/my data/ibdata1").as_deref(), Some("/dev/vdb"));
        assert_eq!(source_of("/var/lib/my").as_deref(), Some("/dev/vda1"));
        assert_eq!(source_of("/srv/x").as_deref(), Some("tmpfs"));
        assert_eq!(source_of("relative"), None);
    }

    #[test]
    fn optional_fields_do_not_shift_the_rest() {
        let mounts = Mount::parse(captured("mountinfo-hybrid"));
        let data = Mount::of(&mounts, Path::new("/var/lib/my data")).expect("mounted");
        assert_eq!((data.device, data.file_system.as_str()), ((254, 16), "xfs"));
        assert_eq!((data.options.as_str(), data.super_options.as_str()), ("rw,noatime", "rw,attr2,inode64"));
        damaged(captured("mountinfo-hybrid"), Mount::parse);
    }

    #[test]
    fn escapes_that_are_none_stay() {
        for (text, plain) in
            [("a\\040b", "a b"), ("\\", "\\"), ("\\09", "\\09"), ("\\777", "\\777"), ("é\\134", "é\\")]
        {
            assert_eq!(unescape(text), plain);
        }
    }
}
