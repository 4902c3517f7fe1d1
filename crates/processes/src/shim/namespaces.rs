//! Spaces of a container's own: users, processes, mounts, host name, IPC.

use super::mounts;
use crate::record::RunSpec;
use rustix::process::{getgid, getuid};
use rustix::thread::{
    CapabilitySet, UnshareFlags, remove_capability_from_bounding_set, set_no_new_privs,
};
use std::fs;
use std::io;
use std::path::Path;

/// What a container may still do among its own: what container runtimes leave to it by default.
const KEPT: &[CapabilitySet] = &[
    CapabilitySet::CHOWN,
    CapabilitySet::DAC_OVERRIDE,
    CapabilitySet::FOWNER,
    CapabilitySet::FSETID,
    CapabilitySet::KILL,
    CapabilitySet::SETGID,
    CapabilitySet::SETUID,
    CapabilitySet::NET_BIND_SERVICE,
    CapabilitySet::SYS_CHROOT,
];

// Only the table of open files would be unsafe to leave, and that is not left.
#[expect(
    deprecated,
    reason = "the other form is unsafe for flags that are not used here"
)]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(flags)?)
}

/// Says what failed.
pub(super) fn named<T>(what: &str, result: Result<T, impl Into<io::Error>>) -> io::Result<T> {
    result.map_err(|error| {
        let error = error.into();
        io::Error::new(error.kind(), format!("{what}: {error}"))
    })
}

/// Has a user space of its own, in which it is root and nobody else exists.
fn leave_users(uid: u32, gid: u32) -> io::Result<()> {
    let (outer_uid, outer_gid) = (getuid(), getgid());
    named(
        "cannot make a user namespace",
        unshare(UnshareFlags::NEWUSER),
    )?;
    map_users((uid, outer_uid.as_raw()), (gid, outer_gid.as_raw()))
}

fn map_users(uid: (u32, u32), gid: (u32, u32)) -> io::Result<()> {
    let write =
        |file: &str, text: String| named(file, fs::write(format!("/proc/self/{file}"), text));
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{} {} 1", uid.0, uid.1))?;
    write("gid_map", format!("{} {} 1", gid.0, gid.1))
}

/// The shim's part: children are in a process space of their own, of which the first is the root.
pub(super) fn leave_users_and_processes() -> io::Result<()> {
    leave_users(0, 0)?;
    named("cannot make a pid namespace", unshare(UnshareFlags::NEWPID))
}

/// The container's part, as the first in its process space: what it sees of the machine.
pub(super) fn enter(spec: &RunSpec, folder: &Path) -> io::Result<()> {
    let flags = UnshareFlags::NEWNS | UnshareFlags::NEWUTS | UnshareFlags::NEWIPC;
    named("cannot make a mount namespace", unshare(flags))?;
    mounts::build(spec, folder)?;
    named(
        "cannot set the host name",
        rustix::system::sethostname(spec.hostname.as_bytes()),
    )
}

/// Whatever is executed from now on has no more than is kept, and gets nothing back. Who is to become another user
/// by then needs one more, without which the kernel lets nobody stand in for root; it is gone once that is done.
pub(super) fn drop_bounding(uid: u32, gid: u32) -> io::Result<()> {
    let is_needed = |one| one == CapabilitySet::SETFCAP && (uid, gid) != (0, 0);
    for capability in CapabilitySet::all().iter() {
        if !KEPT.contains(&capability) && !is_needed(capability) {
            // Those that this kernel does not know are not there to be given up.
            let _ = remove_capability_from_bounding_set(capability);
        }
    }
    Ok(set_no_new_privs(true)?)
}

/// Is a user of the container's own choice. The maps are written from within `/proc`.
pub(super) fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    match (uid, gid) {
        (0, 0) => Ok(()),
        _ => leave_users(uid, gid),
    }
}

/// Gives up what a container's command must not have.
pub(super) fn give_up(uid: u32, gid: u32) -> io::Result<()> {
    drop_bounding(0, 0)?;
    become_user(uid, gid)
}

/// Tries all of it, in a folder that is there for it.
pub(super) fn check(folder: &Path) -> io::Result<()> {
    use std::os::unix::process::CommandExt;
    if std::env::var_os("STOWPLAN_CHECK").is_none() {
        leave_users_and_processes()?;
        let mut command = super::check_command(folder);
        let done = command
            .env("STOWPLAN_CHECK", "1")
            .arg0("stowplan")
            .output()?;
        return match done.status.success() {
            true => Ok(()),
            false => Err(io::Error::other(
                String::from_utf8_lossy(&done.stderr).trim().to_owned(),
            )),
        };
    }
    let spec: RunSpec = crate::record::read(&folder.join("spec.json"))?;
    enter(&spec, folder)?;
    give_up(1, 1)
}
