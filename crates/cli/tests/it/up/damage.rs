//! Files that are not what they were: one error that names the file, and no word of a panic.

use super::client::{Client, Folder, Server, up};
use super::{block_on, create};
use std::fs;
use std::path::Path;

/// Numbers that are always the same and look like none.
fn noise(bytes: &mut [u8]) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for byte in bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = state.to_be_bytes()[0];
    }
}

/// `stowplan up` gives up on the folder, and says why once.
fn check(folder: &Path, what: &str) {
    let run = up(folder).output().expect("it runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(1), "{what}: {said}");
    let file = folder.join("store.redb").display().to_string();
    let [line] = said.lines().collect::<Vec<_>>()[..] else {
        panic!("{what}: {said}");
    };
    assert!(line.starts_with("error: "), "{what}: {said}");
    assert!(line.contains(&file), "{what}: {said}");
    assert!(!said.contains("panicked"), "{what}: {said}");
}

#[test]
fn a_damaged_file_is_one_error() {
    let folder = Folder::new();
    let file = folder.0.join("store.redb");
    let mut server = Server::spawn(&mut up(&folder.0));
    let client = Client::read(&server.ready());
    block_on(async {
        for i in 0..40 {
            let value = "x".repeat(4_000);
            assert_eq!(create(&client, &format!("m{i}"), &value).await, 201);
        }
    });
    assert_eq!(server.stop("-TERM").code(), Some(0));
    let whole = fs::read(&file).expect("the file");
    /// redb's header, which says where everything else is.
    const HEADER: usize = 4096;
    let damage = |what: &str, spoil: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        spoil(&mut bytes);
        fs::write(&file, bytes).expect("written");
        check(&folder.0, what);
    };
    damage("half a file", &|bytes| bytes.truncate(bytes.len() / 2));
    damage("a beginning", &|bytes| bytes.truncate(100));
    damage("another header", &|bytes| noise(&mut bytes[..HEADER]));
    damage("a header of which half is gone", &|bytes| {
        noise(&mut bytes[64..320]);
    });
    damage("other pages", &|bytes| noise(&mut bytes[HEADER..]));
    damage("no pages", &|bytes| bytes[HEADER..].fill(0));
    damage("full pages", &|bytes| bytes[HEADER..].fill(0xff));
    fs::remove_file(&file).expect("removed");
    fs::create_dir(&file).expect("a folder");
    check(&folder.0, "a folder");
}

#[test]
fn a_file_with_nothing_in_it_is_a_new_one() {
    let folder = Folder::new();
    fs::write(folder.0.join("store.redb"), "").expect("written");
    let mut server = Server::spawn(&mut up(&folder.0));
    let client = Client::read(&server.ready());
    assert_eq!(block_on(create(&client, "kept", "1")), 201);
    assert_eq!(server.stop("-TERM").code(), Some(0));
}
