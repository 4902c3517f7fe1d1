//! What a container sees of the machine. Each test builds a root in a process with namespaces of its own.

use super::*;
use crate::testing::Folder;
use std::process::Command;

/// Says to a test that it is the process with namespaces of its own.
const WITHIN: &str = "STOWPLAN_TEST_WITHIN";

/// Whether the test goes on here; otherwise it has been run by another process, where it is possible.
fn is_within(test: &str) -> bool {
    if std::env::var_os(WITHIN).is_some() {
        return true;
    }
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "--pid", "--fork"]);
        command
    };
    if !unshare()
        .arg("true")
        .status()
        .is_ok_and(|status| status.success())
    {
        eprintln!("not tested: namespaces cannot be made here");
        return false;
    }
    let name = format!("shim::mounts::tests::{test}");
    let mut command = unshare();
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", &name, "--nocapture"]);
    let output = command.env(WITHIN, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{wrong}");
    assert!(said.contains("1 passed"), "{said}");
    false
}

/// A host that has something to hide in `/mnt/home/state`.
fn host() {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).unwrap();
    mount(
        "tmpfs",
        "/mnt",
        "tmpfs",
        MountFlags::empty(),
        None::<&std::ffi::CStr>,
    )
    .unwrap();
    fs::create_dir_all("/mnt/home/state").unwrap();
    fs::create_dir("/mnt/home/user").unwrap();
    fs::write("/mnt/home/state/secret", "secret").unwrap();
    fs::write("/mnt/home/config", "secret").unwrap();
    fs::write("/mnt/home/user/file", "file").unwrap();
}

fn spec(source: &Path, targets: &[&str]) -> RunSpec {
    let mount = |target: &&str| Mount {
        source: source.to_owned(),
        sub_path: None,
        target: PathBuf::from(target),
        read_only: false,
    };
    RunSpec {
        mounts: targets.iter().map(mount).collect(),
        hidden: vec!["/mnt/home/state".into(), "/mnt/home/config".into()],
        ..RunSpec::empty()
    }
}

#[test]
fn a_mount_beside_what_is_hidden_does_not_show_it() {
    if !is_within("a_mount_beside_what_is_hidden_does_not_show_it") {
        return;
    }
    host();
    let folder = Folder::new("hidden");
    let volume = Folder::new("volume");
    fs::write(volume.path().join("ours"), "ours").unwrap();
    // Beside an ancestor of what is hidden, and beside it.
    let spec = spec(volume.path(), &["/mnt/data", "/mnt/home/data"]);
    build(&spec, folder.path()).unwrap();
    for place in ["/mnt/data/ours", "/mnt/home/data/ours"] {
        assert_eq!(fs::read_to_string(place).unwrap(), "ours", "{place}");
    }
    assert_eq!(fs::read_to_string("/mnt/home/user/file").unwrap(), "file");
    assert!(fs::write("/mnt/home/user/file", "").is_err());
    assert_eq!(fs::read_dir("/mnt/home/state").unwrap().count(), 0);
    assert!(fs::read("/mnt/home/config").is_ok_and(|text| text.is_empty()));
}

#[test]
fn a_place_in_a_volume_that_is_read_only_does_not_show_the_host() {
    if !is_within("a_place_in_a_volume_that_is_read_only_does_not_show_the_host") {
        return;
    }
    host();
    let folder = Folder::new("nested");
    let volume = Folder::new("volume");
    let mut spec = spec(volume.path(), &["/run", "/run/data"]);
    spec.mounts[0].read_only = true;
    let error = build(&spec, folder.path()).unwrap_err();
    assert!(error.to_string().contains("Read-only"), "{error}");
}

#[test]
fn nothing_takes_the_place_of_the_root_or_of_proc() {
    if !is_within("nothing_takes_the_place_of_the_root_or_of_proc") {
        return;
    }
    host();
    let volume = Folder::new("volume");
    for target in ["/", "/mnt/..", "/proc", "/proc/sys", "/dev/fd/7"] {
        let folder = Folder::new("refused");
        let error = build(&spec(volume.path(), &[target]), folder.path()).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("nothing may be mounted"), "{target}: {said}");
    }
}
