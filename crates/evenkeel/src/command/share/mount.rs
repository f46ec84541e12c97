//! A file system on a disk of the engine, in one step: the disk as a file (FUSE), a loop device on that with direct I/O,
//! and the mount.
//!
//! As soon as the loop device has the file open, the folder with the file is hidden again; as soon as the device is
//! mounted, it goes with the mount. So `umount` takes everything down, and nothing but the mount itself is left where this
//! process is killed.

use super::running::Running;
use crate::command::Session;
use crate::config::share::Flags;
use crate::failure::WithHint;
use crate::out;
use anyhow::{Context, Result, anyhow, bail};
use evenkeel_os::tools;
use evenkeel_share::{FuseDisk, FuseFront, Handle};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Between two looks whether the loop device has gone.
const NAP: Duration = Duration::from_millis(20);
/// Looks until it is left alone.
const LOOKS: u32 = 500;
/// Bytes at the beginning of a blank disk that are zero.
const BLANK: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mkfs {
    /// The usual one
    Ext4,
}

/// Mounts the file system on a disk; whatever was done is undone where a step fails.
/// Errors: no such folder, no FUSE or loop devices here, not permitted, a disk without a file system.
pub fn mount(handle: Handle, disk: FuseDisk, at: &Path, mkfs: Option<Mkfs>) -> Result<Mounted> {
    let at = free_folder(at)?;
    let read_only = disk.read_only;
    let mut up = Mounted { at, mounted: false, device: None, front: None };
    up.show(handle, disk)?;
    let device = up.device.clone().context("a loop device was set up")?;
    prepare(&device, mkfs)?;
    let options = OsStr::new(if read_only { "ro" } else { "rw" });
    let mounting = [OsStr::new("-o"), options, device.as_os_str(), up.at.as_os_str()];
    tools::run("mount", &mounting)
        .with_context(|| format!("mounting {} at {}", device.display(), up.at.display()))?;
    up.mounted = true;
    // Freed by the last user, who is the mount.
    detach(&device)?;
    up.device = None;
    Ok(up)
}

/// A mounted file system and what it stands on; taken down when dropped.
pub struct Mounted {
    at: PathBuf,
    mounted: bool,
    /// As long as it does not go with the mount.
    device: Option<PathBuf>,
    front: Option<FuseFront>,
}

impl Mounted {
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// Whether nobody has unmounted it yet.
    pub fn is_up(&self) -> bool {
        self.front.as_ref().is_some_and(|front| !front.has_ended())
    }

    fn show(&mut self, handle: Handle, disk: FuseDisk) -> Result<()> {
        let folder = Folder::new(&disk.name)?;
        let read_only = disk.read_only;
        let front = FuseFront::mount(handle, disk, &folder.0)?;
        let file = front.file();
        self.front = Some(front);
        let mut arguments = vec![OsStr::new("--find"), OsStr::new("--show"), OsStr::new("--direct-io=on")];
        if read_only {
            arguments.push(OsStr::new("--read-only"));
        }
        arguments.push(file.as_os_str());
        let device = tools::run("losetup", &arguments).context("setting up a loop device");
        self.device = Some(device.hint("run it as root, outside of containers")?.into());
        if let Some(front) = &mut self.front {
            front.detach()?;
        }
        Ok(())
    }

    /// Takes it down, so that all that was written is on the disk.
    /// Errors: somebody uses it: then everything stays as it is, and this may be asked again.
    pub fn down(&mut self) -> Result<()> {
        if self.mounted && self.is_up() {
            self.unmount()?;
        }
        self.mounted = false;
        if let Some(device) = self.device.take() {
            detach(&device)?;
        }
        let Some(front) = &mut self.front else { return Ok(()) };
        // The kernel frees a loop device some time after it was asked to.
        if front.is_hidden() {
            (0..LOOKS).take_while(|_| !front.has_ended()).for_each(|_| std::thread::sleep(NAP));
            if !front.has_ended() {
                bail!("the loop device of {} is still in use", self.at.display());
            }
        }
        front.unmount()?;
        self.front = None;
        Ok(())
    }

    fn unmount(&self) -> Result<()> {
        let at = self.at.display();
        let unmounted =
            tools::run("umount", &[self.at.as_os_str()]).with_context(|| format!("unmounting {at}"));
        unmounted.hint(format!("`fuser -vm {at}` names who uses it")).map(drop)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Whoever drops it without asking reports an error of its own.
        let _ = self.down();
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("evenkeel-{}-{name}", std::process::id()));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| format!("making {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // While something is mounted there it stays, and is empty.
        let _ = fs::remove_dir(&self.0);
    }
}

fn free_folder(at: &Path) -> Result<PathBuf> {
    let found = fs::metadata(at).with_context(|| format!("looking at {}", at.display()));
    let found = found.hint("create the folder first; of a disk that was killed: umount it first")?;
    if !found.is_dir() {
        bail!("{} is not a folder", at.display());
    }
    let above = fs::metadata(at.join("..")).with_context(|| format!("looking above {}", at.display()))?;
    if above.dev() != found.dev() || above.ino() == found.ino() {
        return Err(anyhow!("{} is a mount point already", at.display()))
            .hint("choose another folder, or umount it first");
    }
    at.canonicalize().with_context(|| format!("looking at {}", at.display()))
}

/// Sees to it that there is a file system on the disk. Only a blank one is ever written to.
fn prepare(device: &Path, mkfs: Option<Mkfs>) -> Result<()> {
    let found = file_system(device)?;
    match (found, mkfs) {
        (Some(_), None) => Ok(()),
        (Some(found), Some(Mkfs::Ext4)) if found == "ext4" => Ok(()),
        (Some(found), Some(Mkfs::Ext4)) => {
            Err(anyhow!("the disk holds {found}, not ext4")).hint("leave out --mkfs to mount it as it is")
        }
        (None, None) => {
            Err(anyhow!("no file system on the disk")).hint("--mkfs ext4 makes one on a blank disk")
        }
        (None, Some(_)) if !is_blank(device)? => {
            Err(anyhow!("the disk is not blank, and holds no file system that is known here"))
                .hint("nothing was written; if its contents are not needed, zero its first MiB")
        }
        (None, Some(Mkfs::Ext4)) => {
            let options = ["-q", "-E", "nodiscard"].map(OsStr::new);
            let arguments = [&options[..], &[device.as_os_str()]].concat();
            tools::run("mkfs.ext4", &arguments).context("making a file system").map(drop)
        }
    }
}

fn file_system(device: &Path) -> Result<Option<String>> {
    let options = ["--probe", "--output", "value", "--match-tag", "TYPE"].map(OsStr::new);
    let output = tools::output("blkid", &[&options[..], &[device.as_os_str()]].concat())?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match output.status.code() {
        Some(0) if !said.is_empty() => Ok(Some(said)),
        // Partitions, say: something, but no file system.
        Some(0) | Some(2) => Ok(None),
        _ => bail!("blkid: {}", String::from_utf8_lossy(&output.stderr).trim()),
    }
}

fn is_blank(device: &Path) -> Result<bool> {
    let mut bytes = Vec::with_capacity(BLANK);
    let opened = File::open(device).with_context(|| format!("opening {}", device.display()))?;
    opened.take(BLANK as u64).read_to_end(&mut bytes).context("reading the beginning of the disk")?;
    Ok(bytes.iter().all(|&byte| byte == 0))
}

fn detach(device: &Path) -> Result<()> {
    tools::run("losetup", &[OsStr::new("--detach"), device.as_os_str()])?;
    Ok(())
}

const LOOK: Duration = Duration::from_millis(50);

/// Flags of `evenkeel share mount`: those of a disk, and where.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel share mount --backing /dev/sdb --share 4 --name web1 --at /srv/data --bus slot:/shared/slots
  evenkeel share mount --backing disk.img --size 10G --name web1 --at /srv/data --mkfs ext4
  evenkeel share mount --config share.toml --at /srv/data

The file is that of `evenkeel share disk`, with one disk: `evenkeel share disk --print-config`.
Needs root, /dev/fuse and a loop device. SIGTERM, SIGHUP and `umount` unmount and stop everything
in order, with exit code 0. While processes use the file system it stays mounted (`fuser -vm DIR`
names them). A second signal does not wait: the exit code is then 143 (130, 129). A loop device
passes at most 128 I/Os at a time to the disk, so a window above 128 has no effect.")]
pub struct MountArgs {
    #[command(flatten)]
    disk: Flags,
    /// Folder to mount at
    #[arg(long, value_name = "DIR")]
    at: PathBuf,
    /// Create a file system if the disk is blank
    #[arg(long, value_enum, value_name = "TYPE")]
    mkfs: Option<Mkfs>,
}

/// Mounts a disk.
/// Errors: wrong flags, storage that cannot be used, a step of the mount that failed and was undone.
pub fn run(session: &Session, args: &MountArgs) -> Result<ExitCode> {
    let config = args.disk.read_one()?;
    // Before anything is started that others see.
    free_folder(&args.at)?;
    let running = Running::start(&config)?;
    let (bytes, read_only) = running.sizes.first().copied().context("there is one disk")?;
    let disk = FuseDisk { disk: 0, name: config.disks[0].name.clone(), bytes, read_only };
    let mut mounted = match mount(running.handle(), disk, &args.at, args.mkfs) {
        Ok(mounted) => mounted,
        Err(error) => {
            running.stop()?;
            return Err(error);
        }
    };
    running.log_mounted(mounted.at(), config.log);
    out::line(format!("mounted at {}", mounted.at().display()))?;
    while !session.stop.is_set() && running.is_well() && mounted.is_up() {
        std::thread::sleep(LOOK);
    }
    take_down(&mut mounted)?;
    running.stop()
}

fn take_down(mounted: &mut Mounted) -> Result<()> {
    let mut told = String::new();
    loop {
        let Err(error) = mounted.down() else { return Ok(()) };
        if !mounted.mounted {
            return Err(error);
        }
        let text = format!("{error:#}");
        if text != told {
            out::tell(&format!("waiting: {text}\n"));
            told = text;
        }
        std::thread::sleep(LOOK);
    }
}
