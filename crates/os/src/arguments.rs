//! Other users of the machine see the command line of this process; here it can be changed.

use std::fs;

/// Changes the arguments of this process where everybody can read them; they follow each other, each with a zero byte at its end,
/// and stay as long as they are. What std has told of them before is a copy.
///
/// Call it before there is another thread: where there is one, or where the system does not say where the arguments are, nothing is
/// changed.
pub fn change_arguments(change: impl FnOnce(&mut [u8])) {
    if !is_alone() {
        return;
    }
    let Some((start, length)) = place() else { return };
    // SAFETY: the kernel says that the arguments of this process stand there. It has one thread, which holds no reference
    // into them: what was read is a copy. They are never freed.
    change(unsafe { std::slice::from_raw_parts_mut(start as *mut u8, length) });
}

fn is_alone() -> bool {
    fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}

/// Where the arguments begin, and how many bytes they are: fields 48 and 49 of proc(5), stat.
fn place() -> Option<(usize, usize)> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, is field 2 and may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(48 - 3);
    let start: usize = fields.next()?.parse().ok()?;
    let end: usize = fields.next()?.parse().ok()?;
    (start > 0 && end > start).then_some((start, end - start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beside_other_threads_nothing_is_changed() {
        std::thread::scope(|scope| {
            let (end, ended) = std::sync::mpsc::channel::<()>();
            scope.spawn(move || ended.recv());
            change_arguments(|_| panic!("another thread may read them"));
            drop(end);
        });
    }
}
