//! Power fails at any point of any write, and fails again while the store recovers: what was
//! acknowledged is there, what was not is there as a whole or not at all, and nothing that was once
//! seen goes away.

use crate::disk::Disk;
use crate::tools::setting;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use stowplan_base::Rng;
use stowplan_store::{
    EventKind, Expect, OpenError, Options, Redb, Retention, Revision, Store, Txn,
};

/// What a store may be found to be at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Mark {
    revision: Revision,
    compacted: Revision,
}

/// Where an empty store is.
const EMPTY: Mark = Mark {
    revision: Revision::FIRST,
    compacted: Revision::FIRST,
};

/// A write: key, and value unless it is a deletion.
type Write = (Vec<u8>, Option<Vec<u8>>);

/// One process, from opening the disk until power fails or it is killed.
struct Life {
    disk: Disk,
    options: Options,
    /// Every write ever, those of former lives included: the first has revision 2.
    writes: Vec<Write>,
    /// What was acknowledged, and after how many changes of the disk. The first one is what was
    /// found when the store was open.
    marks: Vec<(usize, Mark)>,
    /// What may be found after a crash before that.
    before: Vec<Mark>,
    /// Changes of the disk that were made before this life.
    born: usize,
}

impl Life {
    /// Opens the disk, and checks what it finds.
    fn begin(
        disk: Disk,
        options: Options,
        mut writes: Vec<Write>,
        before: Vec<Mark>,
    ) -> Result<(Self, Store), String> {
        let born = disk.changes();
        let store = open(&disk, options).map_err(|error| error.to_string())?;
        let mark = mark(&store);
        if !before.contains(&mark) {
            return Err(format!("{mark:?} found, expected one of {before:?}"));
        }
        writes.truncate(mark.revision.since_first());
        check_content(&store, &writes)?;
        let life = Self {
            marks: vec![(disk.changes(), mark)],
            disk,
            options,
            writes,
            before,
            born,
        };
        Ok((life, store))
    }

    /// Does something, and notes what is acknowledged.
    fn work(&mut self, store: &mut Store, rng: &mut Rng) -> Result<(), String> {
        match rng.below(12) {
            0 => {
                let room = store.revision().0 - store.compacted().0;
                let to = store.revision().0 - rng.below(room as usize + 1) as u64;
                store
                    .compact_blocking(Revision(to))
                    .map_err(|e| e.to_string())?;
            }
            1 => {
                store.close();
                *store = open(&self.disk, self.options).map_err(|e| e.to_string())?;
            }
            _ => {
                let txns: Vec<_> = (0..=rng.below(4)).map(|_| txn(rng)).collect();
                for outcome in store.commit_all_blocking(txns) {
                    let done = outcome.map_err(|error| error.to_string())?;
                    for event in done.events {
                        let value = event.current().map(|entry| entry.value.to_vec());
                        self.writes.push((event.key().to_vec(), value));
                        if event.revision.since_first() != self.writes.len() {
                            return Err(format!("revision {} is not the next", event.revision));
                        }
                    }
                }
            }
        }
        self.marks.push((self.disk.changes(), mark(store)));
        Ok(())
    }

    /// What may be found after a crash at some change of the disk.
    fn allowed(&self, changes: usize) -> Vec<Mark> {
        let done = self.marks.iter().rposition(|(at, _)| *at <= changes);
        match done {
            Some(done) => {
                let marks = self.marks[done..].iter().take(2);
                marks.map(|(_, mark)| *mark).collect()
            }
            None => self.before.clone(),
        }
    }

    /// Ends it at some change of the disk: power fails, or only the process is killed.
    fn crash(&self, rng: &mut Rng) -> (Disk, Vec<Mark>) {
        let opening = self.marks[0].0 - self.born;
        let all = self.disk.changes() - self.born;
        // Half of them while it opens, if it did anything then.
        let at = match rng.below(2) {
            0 if opening > 0 => rng.below(opening + 1),
            _ => rng.below(all + 1),
        };
        let at = self.born + at;
        let disk = match rng.below(4) {
            0 => self.disk.after_kill(at),
            _ => self.disk.after_power_loss(at, rng),
        };
        (disk, self.allowed(at))
    }
}

trait SinceFirst {
    fn since_first(self) -> usize;
}

impl SinceFirst for Revision {
    fn since_first(self) -> usize {
        (self.0 - Revision::FIRST.0) as usize
    }
}

fn open(disk: &Disk, options: Options) -> Result<Store, OpenError> {
    Store::open(Redb::on_storage(disk.clone(), "disk")?, options)
}

fn mark(store: &Store) -> Mark {
    Mark {
        revision: store.revision(),
        compacted: store.compacted(),
    }
}

/// One to three writes to a few keys, of all sizes.
fn txn(rng: &mut Rng) -> Txn {
    let mut txn = Txn::new();
    let first = rng.below(20);
    for i in 0..=rng.below(3) {
        let key = format!("key/{:02}", (first + i) % 20);
        if rng.below(4) == 0 {
            txn = txn.delete(key, Expect::Any);
            continue;
        }
        let size = match rng.below(20) {
            0 => rng.below(60_000),
            1..5 => rng.below(6_000),
            _ => rng.below(300),
        };
        let byte = rng.below(256) as u8;
        txn = txn.put(key, vec![byte; size], Expect::Any);
    }
    txn
}

/// Compares everything that can be read with what was written.
fn check_content(store: &Store, writes: &[Write]) -> Result<(), String> {
    let mut expected: BTreeMap<&[u8], &[u8]> = BTreeMap::new();
    for (key, value) in writes {
        match value {
            Some(value) => drop(expected.insert(key, value)),
            None => drop(expected.remove(&key[..])),
        }
    }
    let page = store
        .range(b"", None, None, None)
        .map_err(|e| e.to_string())?;
    let found = page.entries.iter().map(|e| (&e.key[..], &e.value[..]));
    if !found.eq(expected) {
        return Err(format!("other content at {:?}", mark(store)));
    }
    let compacted = store.compacted();
    let mut watch = store.watch("", compacted).map_err(|e| e.to_string())?;
    let mut next = compacted.since_first();
    loop {
        let seen = watch.try_next().map_err(|e| e.to_string())?;
        if seen.events.is_empty() {
            break;
        }
        for event in seen.events {
            let value = (event.kind == EventKind::Put).then(|| event.entry.value.to_vec());
            if writes.get(next) != Some(&(event.key().to_vec(), value)) {
                return Err(format!("another event of revision {}", event.revision));
            }
            next += 1;
        }
    }
    match next == writes.len() {
        true => Ok(()),
        false => Err(format!("{next} events, {} writes", writes.len())),
    }
}

/// One store's life, many ways in which it ends, and what comes after. Returns how many crashes
/// were looked at.
fn run(seed: u64, disk: Disk, crashes: u64) -> Result<u64, String> {
    let mut rng = Rng::new(seed);
    let options = Options {
        retention: Retention {
            revisions: [3, 1_000][rng.below(2)],
            ..Retention::ALL
        },
        bytes_max: usize::MAX,
        decoded_bytes: 0,
        inline: true,
        failure_pause: std::time::Duration::from_secs(1),
    };
    let (mut life, mut store) = Life::begin(disk, options, Vec::new(), vec![EMPTY])?;
    for _ in 0..10 + rng.below(40) {
        life.work(&mut store, &mut rng)?;
    }
    store.close();
    let mut count = 0;
    for _ in 0..crashes {
        // A new life from some point of the first one, and sometimes another one after that.
        let (mut disk, mut allowed) = life.crash(&mut rng);
        let mut writes = life.writes.clone();
        for _ in 0..3 {
            count += 1;
            let (mut next, mut store) = Life::begin(disk, options, writes, allowed)?;
            for _ in 0..rng.below(4) {
                next.work(&mut store, &mut rng)?;
            }
            if rng.below(2) == 0 {
                store.close();
                break;
            }
            // It just stops: closing would write.
            next.disk.turn_off();
            drop(store);
            (disk, allowed) = next.crash(&mut rng);
            writes = next.writes;
        }
    }
    Ok(count)
}

/// How often power fails in the course of one run.
const PER_RUN: u64 = 20;

#[test]
fn no_acknowledged_write_is_lost_with_power() {
    let wanted = setting("STOWPLAN_POWER_LOSSES", 300);
    let next = AtomicU64::new(setting("STOWPLAN_SEED", 1));
    let done = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while done.load(Ordering::Relaxed) < wanted {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    match run(seed, Disk::default(), PER_RUN) {
                        Ok(count) => done.fetch_add(count, Ordering::Relaxed),
                        Err(problem) => panic!("STOWPLAN_SEED={seed}: {problem}"),
                    };
                }
            });
        }
    });
    println!("{} crashes", done.into_inner());
}

/// The test can fail: a disk that only pretends to sync is found out.
#[test]
fn a_disk_that_lies_is_found_out() {
    let seeds = 1..=10;
    let found = seeds.filter(|seed| run(*seed, Disk::lying(), PER_RUN).is_err());
    assert!(found.count() >= 5);
}

#[test]
fn one_seed_one_run() {
    let trace = |seed| {
        let disk = Disk::default();
        let count = run(seed, disk.clone(), 5);
        (count, disk.fingerprint())
    };
    assert_eq!(trace(7), trace(7));
    assert_ne!(trace(7).1, trace(8).1);
}
