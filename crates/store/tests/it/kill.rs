//! A process that holds a store under load is killed at random moments, also while it opens the
//! file that the one before left: what it acknowledged, and what its watch saw, is there.

use crate::tools::{Folder, setting};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use stowplan_base::Rng;
use stowplan_store::{Expect, Options, Retention, Revision, Store, Txn};

/// The file, for the process that is to be killed.
const FILE: &str = "STOWPLAN_STORE_TO_KILL";
const WRITERS: usize = 4;

const OPTIONS: Options = Options {
    retention: Retention {
        revisions: 300,
        bytes: usize::MAX,
    },
    bytes_max: usize::MAX,
    decoded_bytes: 0,
    inline: false,
    failure_pause: std::time::Duration::from_secs(1),
};

fn counter(store: &Store, key: &str) -> u64 {
    let entry = store.get(key.as_bytes());
    entry.map_or(0, |e| {
        std::str::from_utf8(&e.value).unwrap().parse().unwrap()
    })
}

/// Not a test of its own: the process that is killed, if it is started as such.
#[test]
fn the_process_to_kill() {
    let Some(file) = std::env::var_os(FILE) else {
        return;
    };
    let store = Store::on_disk(file, OPTIONS).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| report_events(&store));
        for writer in 0..WRITERS {
            let store = &store;
            scope.spawn(move || count_up(store, writer));
        }
    });
}

/// One write to the pipe per line, so that a kill cannot mix two.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let said = out.write_all(format!("{line}\n").as_bytes());
    if said.and_then(|()| out.flush()).is_err() {
        // Nobody listens any more.
        std::process::exit(1);
    }
}

/// Each transaction writes the next number under two keys, and now and then makes or removes a
/// third.
fn count_up(store: &Store, writer: usize) {
    let key = |name: &str| format!("{writer}/{name}");
    let mut number = counter(store, &key("a"));
    loop {
        number += 1;
        let size = if number.is_multiple_of(16) { 9_000 } else { 30 };
        let mut txn = Txn::new()
            .put(key("a"), number.to_string(), Expect::Any)
            .put(key("b"), number.to_string(), Expect::Any);
        txn = match number % 3 {
            0 => txn.put(key("c"), "x".repeat(size), Expect::Any),
            1 => txn.delete(key("c"), Expect::Any),
            _ => txn,
        };
        let done = store.commit_blocking(txn).unwrap();
        say(&format!("acked {writer} {number} {}", done.revision));
    }
}

fn report_events(store: &Store) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut watch = store.watch("0/a", store.revision()).unwrap();
    runtime.block_on(async {
        while let Ok(seen) = watch.next().await {
            for event in seen.events {
                let value = String::from_utf8_lossy(&event.entry.value).into_owned();
                say(&format!("saw {} {value}", event.revision));
            }
        }
    });
}

/// What has been told so far, by all processes.
#[derive(Default)]
struct Told {
    /// The last number of each writer.
    acked: BTreeMap<usize, u64>,
    revision: Revision,
    /// Events of one key: revision and number.
    saw: BTreeMap<u64, u64>,
    acks: u64,
}

impl Told {
    fn hear(&mut self, line: &str) {
        let words: Vec<_> = line.split(' ').collect();
        let number = |i: usize| words[i].parse::<u64>().unwrap();
        match words[..] {
            ["acked", _, _, _] => {
                self.acks += 1;
                self.acked.insert(number(1) as usize, number(2));
                self.revision = self.revision.max(Revision(number(3)));
            }
            ["saw", _, _] => drop(self.saw.insert(number(1), number(2))),
            // The test harness speaks too.
            _ => {}
        }
    }

    fn check(&mut self, store: &Store) {
        assert!(store.revision() >= self.revision);
        for writer in 0..WRITERS {
            let acked = self.acked.get(&writer).copied().unwrap_or(0);
            let a = counter(store, &format!("{writer}/a"));
            let b = counter(store, &format!("{writer}/b"));
            assert_eq!(a, b, "half of a transaction of writer {writer}");
            // One more may have been on its way.
            assert!(
                a == acked || a == acked + 1,
                "writer {writer}: {a}, acknowledged {acked}"
            );
            self.acked.insert(writer, a);
        }
        self.revision = store.revision();
        let mut watch = store.watch("0/a", store.compacted()).unwrap();
        let mut kept = BTreeMap::new();
        for event in watch.try_next().unwrap().events {
            let value = std::str::from_utf8(&event.entry.value).unwrap();
            kept.insert(event.revision.0, value.parse::<u64>().unwrap());
        }
        self.saw
            .retain(|revision, _| *revision > store.compacted().0);
        for (revision, number) in &self.saw {
            assert_eq!(
                kept.get(revision),
                Some(number),
                "revision {revision} was seen"
            );
        }
    }
}

fn start(file: &Path) -> (Child, Receiver<String>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["kill::the_process_to_kill", "--exact", "--nocapture"])
        .env(FILE, file)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        // A line without its end was cut off by the kill: it does not count.
        while out.read_line(&mut line).is_ok_and(|n| n > 0) && line.ends_with('\n') {
            drop(send.send(line.trim_end().to_owned()));
            line.clear();
        }
    });
    (child, receive)
}

/// One process, from its start to its end.
fn one(file: &Path, rng: &mut Rng, told: &mut Told) {
    let (mut child, lines) = start(file);
    // Often while it works, sometimes while it opens what the one before left.
    if rng.below(4) > 0 {
        for line in lines.iter() {
            told.hear(&line);
            if line.starts_with("acked") {
                break;
            }
        }
    }
    std::thread::sleep(Duration::from_micros(rng.below(40_000) as u64));
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(status.code().is_none(), "it ended by itself: {status}");
    lines.iter().for_each(|line| told.hear(&line));
}

#[test]
fn no_acknowledged_write_is_lost_by_a_kill() {
    let kills = setting("STOWPLAN_KILLS", 20);
    let seed = setting("STOWPLAN_SEED", 1);
    println!("STOWPLAN_SEED={seed}");
    let mut rng = Rng::new(seed);
    let folder = Folder::new();
    let (file, copy) = (folder.file("store"), folder.file("copy"));
    let mut told = Told::default();
    for _ in 0..kills {
        one(&file, &mut rng, &mut told);
        if !file.exists() {
            continue;
        }
        // The next process finds the file as the killed one left it, or as recovery left it.
        let look = match rng.below(2) {
            0 => &file,
            _ => {
                std::fs::copy(&file, &copy).unwrap();
                &copy
            }
        };
        told.check(&Store::on_disk(look, OPTIONS).unwrap());
    }
    assert!(
        told.acks >= kills,
        "only {} writes were acknowledged",
        told.acks
    );
    println!("{kills} kills, {} acknowledged writes", told.acks);
}
