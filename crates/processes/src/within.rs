//! Paths within a folder that others may write to: no link leads out of it, whatever they do meanwhile.

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

/// Opens what is at a path within a folder, to be mounted or looked at.
pub(crate) fn open(root: &Path, path: &Path) -> io::Result<OwnedFd> {
    open_at(open_root(root)?.as_fd(), path).map_err(Into::into)
}

/// Makes sure that there is something at a path within a folder: folders, where there is nothing.
pub(crate) fn make(root: &Path, path: &Path) -> io::Result<()> {
    let root = open_root(root)?;
    let mut done = PathBuf::new();
    let mut folder = root.try_clone()?;
    for part in path.components() {
        let Component::Normal(name) = part else {
            continue;
        };
        done.push(name);
        folder = match open_at(root.as_fd(), &done) {
            Err(Errno::NOENT) => {
                match mkdirat(&folder, name, Mode::from_bits_retain(0o755)) {
                    // Somebody else made it, or it is a link to nothing.
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                open_at(root.as_fd(), &done)?
            }
            opened => opened?,
        };
    }
    Ok(())
}

fn open_root(root: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(CWD, root, flags, Mode::empty())?)
}

fn open_at(root: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(root, path, flags, Mode::empty(), resolve)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_leads_out_of_a_folder() {
        let folder = Folder::new("within");
        let (root, out) = (folder.path().join("volume"), folder.path().join("out"));
        for one in [&root, &out] {
            fs::create_dir(one).unwrap();
        }
        make(&root, Path::new("a/b")).unwrap();
        assert!(root.join("a/b").is_dir());
        symlink("a", root.join("inside")).unwrap();
        make(&root, Path::new("inside/c")).unwrap();
        assert!(root.join("a/c").is_dir());
        open(&root, Path::new("inside/c")).unwrap();
        symlink("../out", root.join("up")).unwrap();
        symlink(&out, root.join("absolute")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        for wrong in ["up", "up/new", "absolute", "absolute/new", "dangling/new"] {
            assert!(make(&root, Path::new(wrong)).is_err(), "{wrong}");
            assert!(open(&root, Path::new(wrong)).is_err(), "{wrong}");
        }
        assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
        assert!(open(&root, Path::new("../out")).is_err());
    }
}
