//! The terminal of this process has a size, and its keys can be read without Enter.

use std::mem;

/// Columns and rows of the terminal that standard output goes to; `None` where that is none, or one that has no size.
pub fn size() -> Option<(usize, usize)> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes one winsize to the address given.
    let told = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) } == 0;
    (told && size.ws_col > 0 && size.ws_row > 0).then(|| (size.ws_col.into(), size.ws_row.into()))
}

/// The terminal of standard input while keys come one by one, are not shown, and reading does not wait; Ctrl-C stays a signal.
/// Dropping it gives the terminal back as it was.
pub struct SingleKeys {
    before: libc::termios,
}

impl SingleKeys {
    /// `None` where standard input is no terminal.
    pub fn begin() -> Option<Self> {
        // SAFETY: all zeroes are a valid termios.
        let mut before: libc::termios = unsafe { mem::zeroed() };
        // SAFETY: tcgetattr writes one termios to the address given.
        (unsafe { libc::tcgetattr(libc::STDIN_FILENO, &raw mut before) } == 0).then_some(())?;
        let mut now = before;
        now.c_lflag &= !(libc::ICANON | libc::ECHO);
        (now.c_cc[libc::VMIN], now.c_cc[libc::VTIME]) = (0, 0);
        // SAFETY: the pointer is to a termios of this function.
        (unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, &raw const now) } == 0)
            .then_some(Self { before })
    }
}

impl Drop for SingleKeys {
    fn drop(&mut self) {
        // SAFETY: the pointer is to a termios that tcgetattr filled in.
        unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, &raw const self.before) };
    }
}
