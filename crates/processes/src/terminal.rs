//! Terminals, for containers and for commands in them.

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A terminal that is new.
pub(crate) struct Terminal {
    /// The end that we keep.
    pub(crate) master: File,
    /// The end of who is talked to.
    pub(crate) slave: File,
    /// Where that end is on the machine.
    pub(crate) path: PathBuf,
}

impl Terminal {
    pub(crate) fn open() -> io::Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let path = ptsname(&master, Vec::new())?;
        let path = PathBuf::from(path.to_string_lossy().into_owned());
        Ok(Self {
            master: File::from(master),
            slave: open_slave(&path)?,
            path,
        })
    }
}

/// Opens the end of a terminal that has a name; it does not become the terminal of this process.
pub(crate) fn open_slave(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOCTTY.bits().cast_signed();
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .custom_flags(flags)
        .open(path)
}

/// Says how large a terminal is.
pub fn set_size(terminal: &File, width: u16, height: u16) -> io::Result<()> {
    let size = rustix::termios::Winsize {
        ws_row: height,
        ws_col: width,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    Ok(rustix::termios::tcsetwinsize(terminal, size)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_has_a_size_that_both_ends_know() {
        let terminal = Terminal::open().unwrap();
        let again = open_slave(&terminal.path).unwrap();
        set_size(&again, 111, 33).unwrap();
        for end in [&terminal.master, &terminal.slave, &again] {
            let size = rustix::termios::tcgetwinsize(end).unwrap();
            assert_eq!((size.ws_col, size.ws_row), (111, 33));
        }
    }
}
