//! What the kernel asks of the file system: a folder, and the file in it.

use crate::{Answer, Buffer, Errno, Handle, Reply, Request as Asked, Work};
use fuser::{
    BsdFileFlags, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use std::ffi::OsStr;
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const FOLDER: INodeNo = INodeNo::ROOT;
const FILE: INodeNo = INodeNo(2);
/// Nothing about the file but its bytes ever changes.
const VALID: Duration = Duration::from_secs(3_600);
/// The largest request, in bytes; above it the kernel makes several.
const REQUEST_BYTES: u32 = 256 * 1_024;
/// Requests in the background, which is where loop devices and asynchronous I/O are.
const BACKGROUND: u16 = 256;
const CONGESTED: u16 = 192;
const BLOCK: u32 = 4_096;

#[derive(Clone, Debug)]
pub struct FuseDisk {
    pub disk: usize,
    pub name: String,
    pub bytes: u64,
    pub read_only: bool,
}

pub(super) struct OneFile {
    handle: Handle,
    disk: FuseDisk,
    owner: (u32, u32),
}

impl OneFile {
    pub fn new(handle: Handle, disk: FuseDisk) -> Self {
        Self { handle, disk, owner: evenkeel_os::user() }
    }

    fn attributes(&self, inode: INodeNo) -> Option<FileAttr> {
        let (kind, perm, size, nlink) = match inode {
            FOLDER => (FileType::Directory, 0o700, 0, 2),
            FILE if self.disk.read_only => (FileType::RegularFile, 0o400, self.disk.bytes, 1),
            FILE => (FileType::RegularFile, 0o600, self.disk.bytes, 1),
            _ => return None,
        };
        Some(FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink,
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            blksize: BLOCK,
            flags: 0,
        })
    }

    /// Asks the engine; who waits for the answer is in `answered`.
    fn ask(&self, work: Work, answered: impl FnOnce(Answer) + Send + 'static) {
        let reply = Reply::Call(Box::new(answered));
        self.handle.submit(Asked { disk: self.disk.disk, work, reply });
    }

    fn do_and_tell(&self, work: Work, reply: ReplyEmpty) {
        self.ask(work, |answer| match answer {
            Ok(_) => reply.ok(),
            Err(errno) => reply.error(error(errno)),
        });
    }
}

fn error(errno: Errno) -> fuser::Errno {
    fuser::Errno::from_i32(errno.0)
}

impl Filesystem for OneFile {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // What an old kernel cannot do makes it slower, not wrong.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _ = config.set_max_background(BACKGROUND);
        let _ = config.set_congestion_threshold(CONGESTED);
        let _ = config.set_max_write(REQUEST_BYTES);
        let _ = config.set_max_readahead(REQUEST_BYTES).or_else(|most| config.set_max_readahead(most));
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.attributes(FILE) {
            Some(file) if parent == FOLDER && name == self.disk.name.as_str() => {
                reply.entry(&VALID, &file, Generation(0));
            }
            _ => reply.error(fuser::Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(inode) {
            Some(found) => reply.attr(&VALID, &found),
            None => reply.error(fuser::Errno::ENOENT),
        }
    }

    /// A disk keeps its size and its owner; times are not kept.
    fn setattr(
        &self,
        request: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let resized = size.is_some_and(|size| size != self.disk.bytes);
        if resized || mode.is_some() || uid.is_some() || gid.is_some() {
            return reply.error(fuser::Errno::EPERM);
        }
        self.getattr(request, inode, handle, reply);
    }

    fn open(&self, _: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        if inode != FILE {
            return reply.error(fuser::Errno::EISDIR);
        }
        // Past the kernel's cache: what is in it would be neither held back nor counted.
        let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let bytes = self.disk.bytes.saturating_sub(offset).min(size.into());
        if bytes == 0 {
            return reply.data(&[]);
        }
        let work = Work::Read { offset, buffer: Buffer::zeroed(bytes as usize) };
        self.ask(work, |answer| match answer {
            Ok(buffer) => reply.data(buffer.as_slice()),
            Err(errno) => reply.error(error(errno)),
        });
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let written = data.len() as u32;
        let durable = flags.0 & (libc::O_DSYNC | libc::O_SYNC) != 0;
        let work = Work::Write { offset, buffer: Buffer::from_slice(data), durable };
        self.ask(work, move |answer| match answer {
            Ok(_) => reply.written(written),
            Err(errno) => reply.error(error(errno)),
        });
    }

    /// Somebody has closed the file.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        if self.disk.read_only {
            return reply.ok();
        }
        self.do_and_tell(Work::Flush, reply);
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.do_and_tell(Work::Flush, reply);
    }

    /// Whoever punches a hole may count on zeroes, so it is more than a trim.
    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let allocate = match mode & !libc::FALLOC_FL_KEEP_SIZE {
            libc::FALLOC_FL_PUNCH_HOLE => false,
            libc::FALLOC_FL_ZERO_RANGE => true,
            _ => return reply.error(fuser::Errno::EOPNOTSUPP),
        };
        // A hole may begin or end beyond the end of a file.
        let bytes = if allocate { length } else { self.disk.bytes.saturating_sub(offset).min(length) };
        if bytes == 0 {
            return reply.ok();
        }
        self.do_and_tell(Work::Zero { offset, bytes, allocate, durable: false }, reply);
    }

    fn readdir(&self, _: &Request, inode: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        if inode != FOLDER {
            return reply.error(fuser::Errno::ENOTDIR);
        }
        let folder = FileType::Directory;
        let entries = [
            (FOLDER, folder, "."),
            (FOLDER, folder, ".."),
            (FILE, FileType::RegularFile, self.disk.name.as_str()),
        ];
        for (place, (inode, kind, name)) in (1..).zip(entries).skip(offset as usize) {
            if reply.add(inode, place, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    /// Full, with one file.
    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        reply.statfs(self.disk.bytes / u64::from(BLOCK), 0, 0, 1, 0, BLOCK, 255, BLOCK);
    }
}
