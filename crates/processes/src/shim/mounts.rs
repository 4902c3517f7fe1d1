//! What a container sees of the machine: a root of its own, in which the host is read-only, `/tmp`, `/run`,
//! `/dev` and `/proc` are its own, and volumes are at their places.

use super::namespaces::named;
use crate::record::{Mount, RunSpec};
use crate::within;
use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Component, Path, PathBuf};

/// What of the host's root is replaced by something of the container's own.
const OWN: &[&str] = &["dev", "lost+found", "proc", "run", "tmp"];
/// What every program expects to find in `/dev`.
const DEVICES: &[&str] = &["full", "null", "random", "tty", "urandom", "zero"];
/// How much a container may write to places that are no volumes.
const ROOT_BYTES: &str = "mode=0755,size=256m";
/// Why a volume is not mounted there: runc refuses it as well.
pub(crate) const NOT_THERE: &str = "nothing may be mounted at / or in /proc";
/// What is mounted.
const MOUNTS: &str = "/proc/self/mountinfo";
/// How many links are followed.
const LINKS_MAX: usize = 40;

/// Builds the container's root and moves there. This process has a mount space of its own.
pub(super) fn build(spec: &RunSpec, folder: &Path) -> io::Result<()> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    named("cannot keep mounts to itself", mount_change("/", private))?;
    let root = folder.join("root");
    fs::create_dir_all(&root)?;
    temporary(&root, ROOT_BYTES)?;
    let view = View {
        root,
        hidden: &spec.hidden,
    };
    view.show_folder(Path::new("/"), OWN)?;
    view.make_read_only(&view.root, &BTreeSet::new())?;
    view.hide(Path::new("/"))?;
    view.own_folders(folder)?;
    let mut mounts: Vec<&Mount> = spec.mounts.iter().collect();
    mounts.sort_by_key(|one| one.target.components().count());
    for one in mounts {
        let target = one.target.display();
        named(&format!("cannot mount {target}"), view.mount(one))?;
    }
    view.enter()
}

/// A file system in memory.
fn temporary(at: &Path, options: &str) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    let options = std::ffi::CString::new(options)?;
    let what = format!("cannot mount a tmpfs at {}", at.display());
    named(
        &what,
        mount("tmpfs", at, "tmpfs", flags, Some(options.as_c_str())),
    )
}

/// The root that is being built.
struct View<'a> {
    root: PathBuf,
    /// Folders and files of the host that are nobody's business.
    hidden: &'a [PathBuf],
}

impl View<'_> {
    /// Where a path of the container is until the root is entered, without following links.
    fn inside(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Shows what is in a folder of the host, one by one, but for some.
    fn show_folder(&self, folder: &Path, but: &[&str]) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if but.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            let (from, to) = (entry.path(), self.inside(&entry.path()));
            // It would contain itself.
            if self.root == from {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_symlink() {
                symlink(fs::read_link(&from)?, &to)?;
                continue;
            }
            make_place(&to, kind.is_dir())?;
            let what = format!("cannot show {}", from.display());
            named(&what, mount_bind_recursive(&from, &to))?;
        }
        Ok(())
    }

    /// All that is mounted below a folder can only be read from now on, but for what was there before.
    fn make_read_only(&self, folder: &Path, before: &BTreeSet<String>) -> io::Result<()> {
        let table = fs::read_to_string(MOUNTS)?;
        for line in table.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            let (Some(id), Some(place), Some(options)) =
                (fields.first(), fields.get(4), fields.get(5))
            else {
                continue;
            };
            let place = PathBuf::from(unescape(place));
            if place == folder || !place.starts_with(folder) || before.contains(*id) {
                continue;
            }
            let what = format!("cannot make {} read-only", place.display());
            named(&what, read_only(&place, options))?;
        }
        Ok(())
    }

    /// Hides what is nobody's business in a folder of the host that is shown.
    fn hide(&self, folder: &Path) -> io::Result<()> {
        for hidden in self.hidden {
            let place = self.inside(hidden);
            let is_own = |own: &&str| hidden.starts_with(Path::new("/").join(own));
            if !hidden.starts_with(folder) || OWN.iter().any(is_own) {
                continue;
            }
            if place.is_dir() {
                temporary(&place, "mode=0755,size=4k")?;
            } else if place.exists() {
                named(
                    "cannot hide a file",
                    mount_bind_recursive("/dev/null", &place),
                )?;
                read_only(&place, &options_of(&place)?)?;
            }
        }
        Ok(())
    }

    /// `/tmp`, `/run`, `/dev` and `/proc`.
    fn own_folders(&self, folder: &Path) -> io::Result<()> {
        for name in OWN.iter().filter(|name| **name != "lost+found") {
            fs::create_dir(self.root.join(name))?;
        }
        let tmp = folder.join("tmp");
        fs::create_dir_all(&tmp)?;
        named(
            "cannot mount /tmp",
            mount_bind_recursive(&tmp, self.root.join("tmp")),
        )?;
        temporary(&self.root.join("run"), "mode=0755,size=64m")?;
        fs::create_dir(self.root.join("run/lock"))?;
        let dev = self.root.join("dev");
        for name in DEVICES {
            let (from, to) = (Path::new("/dev").join(name), dev.join(name));
            if from.exists() {
                make_place(&to, false)?;
                named("cannot show a device", mount_bind_recursive(&from, &to))?;
            }
        }
        for (name, target) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
            ("ptmx", "pts/ptmx"),
        ] {
            symlink(target, dev.join(name))?;
        }
        for name in ["shm", "pts"] {
            fs::create_dir(dev.join(name))?;
        }
        temporary(&dev.join("shm"), "mode=1777,size=64m")?;
        let options = c"newinstance,ptmxmode=0666,mode=620";
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        // Without it there are no terminals inside; all else works.
        let _ = mount("devpts", dev.join("pts"), "devpts", flags, Some(options));
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC | MountFlags::NODEV;
        let proc = mount(
            "proc",
            self.root.join("proc"),
            "proc",
            flags,
            None::<&std::ffi::CStr>,
        );
        named("cannot mount /proc", proc)
    }

    /// A volume at its place.
    fn mount(&self, one: &Mount) -> io::Result<()> {
        let opened = one.sub_path.as_deref();
        let opened = opened.map(|path| within::open(&one.source, path));
        let opened = opened.transpose()?;
        // What was opened is mounted, even if somebody puts a link in its place.
        let source = match &opened {
            Some(opened) => PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd())),
            None => one.source.clone(),
        };
        let is_folder = fs::metadata(&source)?.is_dir();
        let place = self.resolve(&one.target)?;
        if place == self.root || place.starts_with(self.root.join("proc")) {
            return Err(io::Error::other(NOT_THERE));
        }
        if !place.exists() {
            self.make_places(&place, is_folder)?;
        }
        mount_bind_recursive(&source, &place)?;
        if one.read_only {
            read_only(&place, &options_of(&place)?)?;
        }
        Ok(())
    }

    /// Where a path of the container is, when links are followed within it.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let mut done = self.root.clone();
        let mut todo: Vec<PathBuf> = components(path);
        let mut links = 0;
        while let Some(next) = todo.pop() {
            if next == Path::new("..") {
                if done != self.root {
                    done.pop();
                }
                continue;
            }
            let place = done.join(&next);
            let Ok(target) = fs::read_link(&place) else {
                done = place;
                continue;
            };
            links += 1;
            if links > LINKS_MAX {
                return Err(io::Error::other("too many levels of symbolic links"));
            }
            if target.is_absolute() {
                done.clone_from(&self.root);
            }
            todo.extend(components(&target));
        }
        Ok(done)
    }

    /// Makes a place to mount something at, where there is none. Where the host is read-only its folder is
    /// shown again, one by one, in a folder that can be written to.
    fn make_places(&self, place: &Path, is_folder: bool) -> io::Result<()> {
        let parent = place.parent().unwrap_or(place);
        let there = parent
            .ancestors()
            .find(|one| one.is_dir())
            .unwrap_or(&self.root);
        let probe = there.join(".stowplan");
        match fs::create_dir(&probe) {
            Ok(()) => fs::remove_dir(&probe)?,
            Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {
                let host = Path::new("/").join(there.strip_prefix(&self.root).unwrap_or(there));
                // It may be a volume, at whose place the host has something else.
                if !is_same(there, &host) {
                    return Err(error);
                }
                let before = mount_ids()?;
                temporary(there, "mode=0755,size=1m")?;
                self.show_folder(&host, &[])?;
                self.make_read_only(there, &before)?;
                self.hide(&host)?;
            }
            Err(error) => return Err(error),
        }
        fs::create_dir_all(parent)?;
        make_place(place, is_folder)
    }

    /// Moves to the root, and lets go of the one before.
    fn enter(&self) -> io::Result<()> {
        std::env::set_current_dir(&self.root)?;
        named(
            "cannot change the root",
            rustix::process::pivot_root(".", "."),
        )?;
        named(
            "cannot let go of the host",
            unmount(".", UnmountFlags::DETACH),
        )?;
        std::env::set_current_dir("/")
    }
}

/// The names that a path consists of, the last one first.
fn components(path: &Path) -> Vec<PathBuf> {
    let names = path.components().filter_map(|one| match one {
        Component::Normal(name) => Some(PathBuf::from(name)),
        Component::ParentDir => Some(PathBuf::from("..")),
        _ => None,
    });
    let mut names: Vec<PathBuf> = names.collect();
    names.reverse();
    names
}

fn make_place(place: &Path, is_folder: bool) -> io::Result<()> {
    match is_folder {
        true => fs::create_dir(place),
        false => File::create_new(place).map(drop),
    }
}

/// Whether two paths lead to the same file or folder.
fn is_same(one: &Path, other: &Path) -> bool {
    let number = |path: &Path| fs::metadata(path).map(|meta| (meta.dev(), meta.ino()));
    matches!((number(one), number(other)), (Ok(one), Ok(other)) if one == other)
}

/// The numbers of all mounts that there are.
fn mount_ids() -> io::Result<BTreeSet<String>> {
    let table = fs::read_to_string(MOUNTS)?;
    let ids = table.lines().filter_map(|line| line.split(' ').next());
    Ok(ids.map(str::to_owned).collect())
}

/// What is mounted at a place keeps the options that it has.
fn read_only(place: &Path, options: &str) -> io::Result<()> {
    let mut flags = MountFlags::BIND | MountFlags::RDONLY;
    for option in options.split(',') {
        flags |= match option {
            "nosuid" => MountFlags::NOSUID,
            "nodev" => MountFlags::NODEV,
            "noexec" => MountFlags::NOEXEC,
            "noatime" => MountFlags::NOATIME,
            "nodiratime" => MountFlags::NODIRATIME,
            "relatime" => MountFlags::RELATIME,
            "ro" => return Ok(()),
            _ => MountFlags::empty(),
        };
    }
    Ok(mount_remount(place, flags, c"")?)
}

/// The options of what is mounted last at a place.
fn options_of(place: &Path) -> io::Result<String> {
    let table = fs::read_to_string(MOUNTS)?;
    let mut options = String::new();
    for line in table.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        if let (Some(at), Some(found)) = (fields.get(4), fields.get(5))
            && Path::new(&unescape(at)) == place
        {
            (*found).clone_into(&mut options);
        }
    }
    Ok(options)
}

/// `\040` is a space, as the kernel writes it.
fn unescape(text: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let digits = [bytes.next(), bytes.next(), bytes.next()];
        let code = digits.iter().flatten().fold(0_u32, |code, digit| {
            code * 8 + u32::from(digit.wrapping_sub(b'0'))
        });
        out.push(code as u8);
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Makes a pipe that has a name.
pub(crate) fn make_fifo(path: &Path) -> io::Result<()> {
    use rustix::fs::{FileType, Mode, mknodat};
    let mode = Mode::RUSR | Mode::WUSR;
    Ok(mknodat(CWD, path, FileType::Fifo, mode, 0)?)
}

#[cfg(test)]
mod tests;
