//! The process of a server is killed again and again under load: what it acknowledged is there, and what was done
//! is not run again.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use stowplan_env::System;
use stowplan_jobs_server::log::{Folder, LogSettings};
use stowplan_jobs_server::{Client, Reply, ServeSettings, Server};

/// The folder, for the process that is to be killed.
const FOLDER: &str = "STOWPLAN_JOBS_TO_KILL";

/// Not a test of its own: the process that is killed, if it is started as such.
#[test]
fn the_process_to_kill() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let disk = Arc::new(Folder::open(Path::new(&folder)).unwrap());
    // Small segments, so that they are compacted all the time.
    let log = LogSettings {
        segment_bytes: 100_000,
        prefill: false,
    };
    let settings = ServeSettings {
        log,
        ..ServeSettings::default()
    };
    let local = ([127, 0, 0, 1], 0).into();
    let server = Server::bind(local, disk, settings, Arc::new(System::new())).unwrap();
    println!("\nlistening on {}", server.address().unwrap());
    server.serve().unwrap();
}

struct Process(Child, String);

impl Process {
    fn start(folder: &Path) -> Self {
        let program = std::env::current_exe().unwrap();
        let mut child = Command::new(program)
            .args(["kill::the_process_to_kill", "--exact", "--nocapture"])
            .env(FOLDER, folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.find_map(|line| {
            line.unwrap()
                .strip_prefix("listening on ")
                .map(str::to_owned)
        });
        Self(child, address.unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What was told to clients.
#[derive(Default)]
struct Told {
    pushed: BTreeSet<String>,
    /// Sent, and not answered.
    unsure: BTreeSet<String>,
    acked: BTreeSet<String>,
    ack_unsure: BTreeSet<String>,
    runs: BTreeMap<String, u32>,
}

impl Told {
    /// Works until the server is gone.
    fn work(&mut self, address: &str, life: u64, writer: usize, next: &AtomicU64) {
        let wid = format!("w{life}-{writer}");
        let Ok(mut client) = Client::connect(address, None, Some(&wid)) else {
            return;
        };
        loop {
            let jid = format!("job-{:08}", next.fetch_add(1, Ordering::SeqCst));
            let push = format!(
                r#"PUSH {{"jid":"{jid}","jobtype":"T","args":["{}"],"queue":"q"}}"#,
                "x".repeat(200)
            );
            match client.call(&push) {
                Ok(_) => drop(self.pushed.insert(jid)),
                Err(_) => {
                    self.unsure.insert(jid);
                    return;
                }
            }
            let Ok(job) = client.ask("FETCH q") else {
                return;
            };
            let Some(jid) = job["jid"].as_str().map(str::to_owned) else {
                continue;
            };
            *self.runs.entry(jid.clone()).or_default() += 1;
            match client.call(&format!(r#"ACK {{"jid":"{jid}"}}"#)) {
                Ok(Reply::Simple(_)) => drop(self.acked.insert(jid)),
                _ => {
                    self.ack_unsure.insert(jid);
                    return;
                }
            }
        }
    }
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_done_is_run_again() {
    let kills = std::env::var("STOWPLAN_KILLS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(15);
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("kill-{}", std::process::id()));
    let next = AtomicU64::new(1);
    let mut all = Told::default();
    for life in 0..kills {
        let mut process = Process::start(&folder);
        let address = process.1.clone();
        let mut told: Vec<Told> = (0..4).map(|_| Told::default()).collect();
        std::thread::scope(|scope| {
            for (writer, told) in told.iter_mut().enumerate() {
                let (address, next) = (&address, &next);
                scope.spawn(move || told.work(address, life, writer, next));
            }
            std::thread::sleep(Duration::from_millis(100 + life * 37 % 150));
            process.0.kill().unwrap();
        });
        for told in told {
            for jid in told.runs.keys() {
                assert!(
                    !all.acked.contains(jid),
                    "{jid} was acknowledged, and ran again"
                );
            }
            all.pushed.extend(told.pushed);
            all.unsure.extend(told.unsure);
            all.acked.extend(told.acked);
            all.ack_unsure.extend(told.ack_unsure);
            told.runs
                .into_iter()
                .for_each(|(jid, runs)| *all.runs.entry(jid).or_default() += runs);
        }
    }
    let process = Process::start(&folder);
    let mut client = Client::connect(&process.1, None, None).unwrap();
    let mut left = BTreeSet::new();
    for state in ["queued", "working", "retries", "dead", "scheduled"] {
        let jobs = client
            .ask(&format!(r#"STOWPLAN {{"op":"list","state":"{state}"}}"#))
            .unwrap();
        for job in jobs.as_array().unwrap() {
            assert!(left.insert(job["job"]["jid"].as_str().unwrap().to_owned()));
        }
    }
    for jid in &all.pushed {
        let done = all.acked.contains(jid) || all.ack_unsure.contains(jid);
        assert!(
            done || left.contains(jid),
            "{jid} was accepted, and is neither done nor there"
        );
        assert!(
            !(all.acked.contains(jid) && left.contains(jid)),
            "{jid} is done, and there"
        );
    }
    assert!(
        all.acked.len() > 100,
        "too little was done: {}",
        all.acked.len()
    );
    let known = |jid: &String| all.pushed.contains(jid) || all.unsure.contains(jid);
    assert!(left.iter().all(known), "jobs that nobody pushed");
    drop(process);
    let _ = std::fs::remove_dir_all(folder);
}
