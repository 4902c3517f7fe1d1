//! Stores in files.

use crate::tools::{Folder, delete, put, short};
use redb::{ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition};
use std::fs;
use std::io::Write;
use stowplan_store::{CommitError, Expect, OpenError, Options, Revision, Store, Txn};

const RECORDS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("records");

fn open(file: &std::path::Path) -> Result<Store, OpenError> {
    Store::on_disk(file, Options::default())
}

fn history(store: &Store) -> Vec<String> {
    let mut watch = store.watch("", store.compacted()).unwrap();
    let seen = watch.try_next().unwrap();
    seen.events.iter().map(|e| short(e)).collect()
}

#[test]
fn a_file_holds_everything() {
    let folder = Folder::new();
    let file = folder.file("store");
    let store = open(&file).unwrap();
    put(&store, "a", "1");
    put(&store, "b", "1");
    put(&store, "a", "2");
    delete(&store, "b");
    let before = history(&store);
    assert_eq!(
        before,
        ["2 put a=1", "3 put b=1", "4 put a=2", "5 delete b"]
    );
    let a = store.get(b"a").unwrap();
    drop(store);

    let store = open(&file).unwrap();
    assert_eq!(store.revision(), Revision(5));
    assert_eq!(history(&store), before);
    let again = store.get(b"a").unwrap();
    assert_eq!(
        (&again.key, &again.value, again.version),
        (&a.key, &a.value, a.version)
    );
    assert_eq!(again.create_revision, a.create_revision);
    let old = store.range(b"", Some(Revision(3)), None, None).unwrap();
    assert_eq!(old.entries.len(), 2);
    assert_eq!(put(&store, "c", "1").revision, Revision(6));
}

#[test]
fn compaction_reaches_the_file() {
    let folder = Folder::new();
    let file = folder.file("store");
    let store = open(&file).unwrap();
    let big = "x".repeat(10_000);
    for i in 0..300 {
        put(&store, &format!("{}", i % 3), &big);
    }
    delete(&store, "0");
    delete(&store, "1");
    let last = store.revision();
    store.compact_blocking(last).unwrap();
    assert_eq!(put(&store, "later", "").revision, last.next());
    drop(store);

    let store = open(&file).unwrap();
    assert_eq!(store.compacted(), last);
    assert_eq!(history(&store), [format!("{} put later=", last.next())]);
    assert_eq!(store.get(b"2").unwrap().version, 100);
    assert_eq!(store.count(b""), 2);
    store.compact_blocking(last.next()).unwrap();
    delete(&store, "2");
    delete(&store, "later");
    let last = store.revision();
    store.compact_blocking(last).unwrap();
    drop(store);
    let database = redb::Database::open(&file).unwrap();
    let read = database.begin_read().unwrap();
    assert_eq!(read.open_table(RECORDS).unwrap().len().unwrap(), 0);
    drop((read, database));

    let store = open(&file).unwrap();
    assert_eq!(store.revision(), last, "though no record is left to tell");
    assert_eq!(store.count(b""), 0);
}

#[test]
fn a_file_is_opened_once() {
    let folder = Folder::new();
    let file = folder.file("store");
    let store = open(&file).unwrap();
    let error = open(&file).unwrap_err();
    assert!(matches!(error, OpenError::InUse { .. }));
    let name = file.display();
    assert_eq!(
        error.to_string(),
        format!("{name} is in use by another process: only one may open it")
    );
    store.close();
    open(&file).unwrap();
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let file = folder.file("store");
    open(&file).unwrap();
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn files_that_cannot_be_opened_are_named() {
    let folder = Folder::new();
    for (file, what) in [
        (folder.file("missing/store"), "missing folder"),
        (folder.path().to_owned(), "a folder"),
    ] {
        let error = open(&file).unwrap_err();
        assert!(matches!(error, OpenError::Io { .. }), "{what}: {error:?}");
        assert!(error.to_string().contains(&file.display().to_string()));
    }
}

#[test]
fn other_files_are_refused() {
    let folder = Folder::new();
    let text = folder.file("text");
    fs::write(
        &text,
        "these are not the keys you are looking for\n".repeat(1_000),
    )
    .unwrap();
    let error = open(&text).unwrap_err();
    assert!(matches!(error, OpenError::Foreign { .. }), "{error:?}");

    let other = folder.file("other");
    let database = redb::Database::create(&other).unwrap();
    let write = database.begin_write().unwrap();
    let table = redb::TableDefinition::<u64, u64>::new("things");
    write.open_table(table).unwrap();
    write.commit().unwrap();
    drop(database);
    let error = open(&other).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("is not a store: it holds other tables: things")
    );
}

#[test]
fn a_newer_format_is_refused() {
    let folder = Folder::new();
    let file = folder.file("store");
    open(&file).unwrap();
    let database = redb::Database::create(&file).unwrap();
    let write = database.begin_write().unwrap();
    let meta = redb::TableDefinition::<&str, u64>::new("meta");
    write.open_table(meta).unwrap().insert("format", 7).unwrap();
    write.commit().unwrap();
    drop(database);
    let error = open(&file).unwrap_err();
    let text = format!(
        "{} has store format 7; this version reads format 1",
        file.display()
    );
    assert_eq!(error.to_string(), text);
}

#[test]
fn records_that_make_no_sense_are_refused() {
    let folder = Folder::new();
    type Damage = fn(&mut redb::Table<'_, u64, &[u8]>);
    let cases: [(&str, Damage); 4] = [
        (
            "the record of revision 4 does not follow the one before",
            |t| {
                t.remove(3).unwrap();
            },
        ),
        ("the record of revision 3 is too short", |t| {
            t.insert(3, &b"short"[..]).unwrap();
        }),
        (
            "the record of revision 5 does not match its checksum",
            |t| {
                let copy = t.get(4).unwrap().unwrap().value().to_vec();
                t.insert(5, copy.as_slice()).unwrap();
            },
        ),
        (
            "the record of revision 2 does not match its checksum",
            |t| {
                let mut copy = t.get(2).unwrap().unwrap().value().to_vec();
                *copy.last_mut().unwrap() ^= 1;
                t.insert(2, copy.as_slice()).unwrap();
            },
        ),
    ];
    for (i, (problem, damage)) in cases.iter().enumerate() {
        let file = folder.file(&i.to_string());
        let store = open(&file).unwrap();
        for value in ["1", "2", "3"] {
            put(&store, "a", value);
        }
        drop(store);
        let database = redb::Database::create(&file).unwrap();
        let write = database.begin_write().unwrap();
        damage(&mut write.open_table(RECORDS).unwrap());
        write.commit().unwrap();
        drop(database);
        let error = open(&file).unwrap_err();
        assert!(matches!(error, OpenError::Damaged { .. }));
        assert!(error.to_string().ends_with(problem), "{error}");
    }
}

#[tokio::test]
async fn commits_wait_for_the_file() {
    let folder = Folder::new();
    let store = open(&folder.file("store")).unwrap();
    let create = |i: u32| store.commit(Txn::new().put(format!("{i}"), "", Expect::Absent));
    let (a, b, c) = tokio::join!(create(1), create(2), create(1));
    assert_eq!(
        (a.unwrap().revision, b.unwrap().revision),
        (Revision(2), Revision(3))
    );
    assert!(matches!(c, Err(CommitError::Conflict(_))));
    store.compact(Revision(3)).await.unwrap();
    assert_eq!(store.compacted(), Revision(3));
    let future = store.compact(Revision(4)).await;
    assert!(matches!(future, Err(CommitError::Future { .. })));
}

/// redb writes its magic number last; until then there are zeros.
#[test]
fn a_file_whose_creation_was_cut_short_is_begun_anew() {
    let folder = Folder::new();
    for length in [1, 512, 5_000, 1 << 20] {
        let file = folder.file(&length.to_string());
        let mut content = vec![0; length];
        if let Some(header) = content.get_mut(9..300) {
            header.fill(7);
        }
        fs::write(&file, &content).unwrap();
        put(&open(&file).unwrap(), "a", "1");
        assert_eq!(open(&file).unwrap().count(b""), 1);
    }
}

#[test]
fn other_files_are_left_as_they_are() {
    let folder = Folder::new();
    let mut content = vec![0; 1 << 20];
    content[5_000] = 1;
    let late = folder.file("late");
    fs::write(&late, &content).unwrap();
    assert!(matches!(open(&late), Err(OpenError::Foreign { .. })));
    assert!(fs::read(&late).unwrap() == content);

    // Somebody holds redb's locks on a file without magic number: it is just creating it.
    let file = folder.file("creating");
    let creating = redb::Database::create(&file).unwrap();
    let length = fs::metadata(&file).unwrap().len();
    let mut other = fs::OpenOptions::new().write(true).open(&file).unwrap();
    other.write_all(&vec![0; length as usize]).unwrap();
    assert!(matches!(open(&file), Err(OpenError::InUse { .. })));
    assert_eq!(fs::metadata(&file).unwrap().len(), length);
    drop(creating);
}
