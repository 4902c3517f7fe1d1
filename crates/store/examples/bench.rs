//! How fast the store is:
//! `cargo run --release -p stowplan-store --example bench [FOLDER [PART…]]`.
//!
//! Prints one line per figure. The folder (by default the current one) decides which disk is
//! measured; the parts are `disk`, `memory`, `churn` and `open`.

use std::path::{Path, PathBuf};
use std::time::Duration;
use stowplan_env::Stopwatch;
use stowplan_store::{Expect, Options, Retention, Store, Txn};

const WRITERS: usize = 64;
const WATCHERS: usize = 1_000;
const OBJECTS: usize = 100_000;
/// About a pod.
const VALUE_BYTES: usize = 2_000;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Outcome<()> {
    let folder = std::env::args_os()
        .nth(1)
        .map_or_else(PathBuf::new, PathBuf::from);
    let file = folder.join(format!("store-bench-{}", std::process::id()));
    let outcome = all(&file).await;
    for name in [&file, &copy_of(&file)] {
        drop(std::fs::remove_file(name));
    }
    outcome
}

async fn all(file: &Path) -> Outcome<()> {
    let parts: Vec<_> = std::env::args().skip(2).collect();
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|p| p == part);
    let options = Options::default();
    if wanted("disk") {
        let store = Store::on_disk(file, options)?;
        commits("disk", &store, 30_000).await?;
        watches("disk", &store).await?;
        drop(store);
        std::fs::remove_file(file)?;
    }
    if wanted("memory") {
        let store = Store::in_memory(options);
        commits("memory", &store, 300_000).await?;
        watches("memory", &store).await?;
    }
    if wanted("churn") {
        churn(file).await?;
        std::fs::remove_file(file)?;
    }
    if wanted("open") {
        opening(file)?;
    }
    Ok(())
}

/// Many writers, each waiting for its own commits.
async fn commits(name: &str, store: &Store, count: usize) -> Outcome<()> {
    let start = Stopwatch::start();
    let writers = (0..WRITERS).map(|writer| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut waits = Vec::new();
            for i in 0..count / WRITERS {
                let key = format!("commits/{writer}/{i}");
                let txn = Txn::new().put(key, vec![b'x'; VALUE_BYTES], Expect::Absent);
                let asked = Stopwatch::start();
                store.commit(txn).await?;
                waits.push(asked.elapsed());
            }
            Outcome::Ok(waits)
        })
    });
    let mut waits = Vec::new();
    for writer in writers.collect::<Vec<_>>() {
        waits.extend(writer.await??);
    }
    let rate = waits.len() as f64 / start.elapsed().as_secs_f64();
    println!(
        "{name}: {rate:.0} commits/s with {WRITERS} writers, {}",
        quantiles(waits)
    );
    Ok(())
}

/// From asking for a commit until each of many watchers has its event.
async fn watches(name: &str, store: &Store) -> Outcome<()> {
    const EVENTS: usize = 200;
    let zero = Stopwatch::start();
    let after = store.revision();
    let watchers = (0..WATCHERS).map(|_| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut watch = store.watch("watched/", after)?;
            let mut waits = Vec::new();
            while waits.len() < EVENTS {
                for event in watch.next().await?.events {
                    let asked: u64 = std::str::from_utf8(&event.entry.value)?.parse()?;
                    waits.push(zero.elapsed().saturating_sub(Duration::from_nanos(asked)));
                }
            }
            Outcome::Ok(waits)
        })
    });
    let watchers: Vec<_> = watchers.collect();
    for i in 0..EVENTS {
        let asked = zero.elapsed().as_nanos().to_string();
        let txn = Txn::new().put(format!("watched/{i}"), asked, Expect::Any);
        store.commit(txn).await?;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let mut waits = Vec::new();
    for watcher in watchers {
        waits.extend(watcher.await??);
    }
    println!(
        "{name}: {WATCHERS} watchers see an event after {}",
        quantiles(waits)
    );
    Ok(())
}

/// The same keys over and over, so that history is dropped all the time.
async fn churn(file: &Path) -> Outcome<()> {
    let retention = Retention {
        revisions: 5_000,
        ..Retention::default()
    };
    let store = Store::on_disk(
        file,
        Options {
            retention,
            ..Options::default()
        },
    )?;
    let start = Stopwatch::start();
    const COUNT: usize = 30_000;
    let writers = (0..WRITERS).map(|writer| {
        let store = store.clone();
        tokio::spawn(async move {
            for i in 0..COUNT / WRITERS {
                let key = format!("churn/{writer}/{}", i % 20);
                let txn = Txn::new().put(key, vec![b'x'; VALUE_BYTES], Expect::Any);
                store.commit(txn).await?;
            }
            Outcome::Ok(())
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await??;
    }
    let rate = COUNT as f64 / start.elapsed().as_secs_f64();
    let size = std::fs::metadata(file)?.len() >> 20;
    println!("disk: {rate:.0} updates/s while history is dropped, the file has {size} MiB");
    Ok(())
}

/// How long until a large store can be used, after a clean end and after a crash.
fn opening(file: &Path) -> Outcome<()> {
    let store = Store::on_disk(file, Options::default())?;
    for piece in 0..OBJECTS / 1_000 {
        let txn = |i| {
            let key = format!("objects/{}", piece * 1_000 + i);
            Txn::new().put(key, vec![b'x'; VALUE_BYTES], Expect::Absent)
        };
        for outcome in store.commit_all_blocking((0..1_000).map(txn).collect()) {
            outcome?;
        }
    }
    // What a crash leaves is the file of a store that is still open.
    let crashed = copy_of(file);
    std::fs::copy(file, &crashed)?;
    drop(store);
    for (name, file) in [("a clean end", file), ("a crash", &crashed)] {
        let start = Stopwatch::start();
        let store = Store::on_disk(file, Options::default())?;
        let took = start.elapsed();
        println!(
            "disk: {} objects ready {took:.2?} after {name}",
            store.count(b"objects/")
        );
        let start = Stopwatch::start();
        let page = store.range(b"objects/", None, None, Some(10_000))?;
        println!(
            "memory: {} of them listed in {:.1?}",
            page.entries.len(),
            start.elapsed()
        );
    }
    Ok(())
}

fn copy_of(file: &Path) -> PathBuf {
    file.with_extension("copy")
}

fn quantiles(mut waits: Vec<Duration>) -> String {
    waits.sort();
    let at = |share: f64| {
        let i = (waits.len() as f64 * share) as usize;
        waits
            .get(i.min(waits.len().saturating_sub(1)))
            .copied()
            .unwrap_or_default()
    };
    format!(
        "p50 {:.1?}, p99 {:.1?}, most {:.1?}",
        at(0.5),
        at(0.99),
        at(1.0)
    )
}
