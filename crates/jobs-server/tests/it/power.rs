//! Power fails at any point of any write of the log, and again while it is recovered: every frame that was
//! acknowledged is there, in its order, and a frame that was not is there as a whole or not at all.

use crate::disk::Memory;
use std::sync::Arc;
use stowplan_base::Rng;
use stowplan_jobs_server::log::{Disk, FRAME_HEAD, Log, LogSettings, OpenError};

/// One process, from opening the disk until power fails.
struct Life {
    disk: Memory,
    /// Frames that were written, those of former lives included.
    frames: Vec<Vec<u8>>,
    /// How many frames were acknowledged after how many changes of the disk.
    acked: Vec<(usize, usize)>,
}

fn settings(rng: &mut Rng) -> LogSettings {
    LogSettings {
        segment_bytes: [600, 4_000, 1 << 20][rng.below(3)],
        prefill: rng.below(2) == 0,
    }
}

impl Life {
    /// Opens the disk; at least so many frames have to be there, and only such as were written.
    fn begin(
        disk: Memory,
        settings: LogSettings,
        written: &[Vec<u8>],
        acked: usize,
    ) -> Result<(Self, Log), String> {
        let mut frames: Vec<Vec<u8>> = Vec::new();
        let log = Log::open(Arc::new(disk.clone()), settings, |_, records| {
            frames.push(records.to_vec());
            Ok(())
        });
        let log = log.map_err(|error| error.to_string())?;
        if frames.len() < acked {
            return Err(format!(
                "{} frames of {acked} that were acknowledged",
                frames.len()
            ));
        }
        if frames[..] != written[..frames.len().min(written.len())] {
            return Err("other frames than were written".to_owned());
        }
        // Until it is open, what was acknowledged before has to stay.
        let acked = vec![(0, acked), (disk.changes(), frames.len())];
        Ok((
            Self {
                disk,
                frames,
                acked,
            },
            log,
        ))
    }

    fn work(&mut self, log: &mut Log, rng: &mut Rng) {
        for _ in 0..=rng.below(3) {
            let len = [rng.below(40), rng.below(3_000)][rng.below(2)] + 8;
            let mut frame = vec![rng.below(256) as u8; FRAME_HEAD + len];
            frame[FRAME_HEAD..][..8].copy_from_slice(&rng.next_u64().to_le_bytes());
            log.write(&mut frame).unwrap();
            self.frames.push(frame[FRAME_HEAD..].to_vec());
        }
        match log.is_full() {
            true => log.roll().unwrap(),
            false => log.file().unwrap().sync().unwrap(),
        }
        self.acked.push((self.disk.changes(), self.frames.len()));
    }
}

fn run(seed: u64, disk: Memory, crashes: usize) -> Result<usize, String> {
    let mut rng = Rng::new(seed);
    let settings = settings(&mut rng);
    let (mut life, mut log) = Life::begin(disk, settings, &[], 0)?;
    for _ in 0..5 + rng.below(20) {
        life.work(&mut log, &mut rng);
    }
    let mut count = 0;
    for _ in 0..crashes {
        let (mut disk, mut written, mut marks) =
            (life.disk.clone(), life.frames.clone(), life.acked.clone());
        for _ in 0..3 {
            let at = rng.below(disk.changes() + 1);
            let acked = marks
                .iter()
                .rev()
                .find(|(changes, _)| *changes <= at)
                .map_or(0, |(_, frames)| *frames);
            let after = match rng.below(4) {
                0 => disk.after_kill(at),
                _ => disk.after_power_loss(at, &mut rng),
            };
            count += 1;
            let (mut next, mut log) = Life::begin(after, settings, &written, acked)?;
            for _ in 0..rng.below(4) {
                next.work(&mut log, &mut rng);
            }
            (disk, written, marks) = (next.disk, next.frames, next.acked);
        }
    }
    Ok(count)
}

fn setting(name: &str, or: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(or)
}

#[test]
fn no_acknowledged_frame_is_lost_with_power() {
    let wanted = setting("STOWPLAN_POWER_LOSSES", 3_000) as usize;
    let mut seed = setting("STOWPLAN_SEED", 1);
    let mut done = 0;
    while done < wanted {
        match run(seed, Memory::default(), 20) {
            Ok(count) => done += count,
            Err(problem) => panic!("STOWPLAN_SEED={seed}: {problem}"),
        }
        seed += 1;
    }
}

/// The test can fail: a disk that only pretends to sync is found out.
#[test]
fn a_disk_that_lies_is_found_out() {
    let found = (1..=10).filter(|seed| run(*seed, Memory::lying(), 20).is_err());
    assert!(found.count() >= 8);
}

/// A last segment that was never begun goes; one that says something else is kept for whoever can read it.
#[test]
fn a_last_segment_with_an_unknown_head_is_not_deleted() {
    let settings = LogSettings {
        segment_bytes: 600,
        prefill: false,
    };
    let heads: [(&[u8], bool); 3] = [
        (b"STOWJOB2________", false),
        (&[0; 16], true),
        (b"STOW", true),
    ];
    for (head, known) in heads {
        let disk = Memory::default();
        drop(Log::open(Arc::new(disk.clone()), settings, |_, _| Ok(())).unwrap());
        let next = format!("{:016x}.jobs", 16);
        disk.create(&next).unwrap().write_at(head, 0).unwrap();
        let opened = Log::open(Arc::new(disk.clone()), settings, |_, _| Ok(()));
        match known {
            true => assert!(opened.is_ok()),
            false => assert!(matches!(opened, Err(OpenError::Damaged { .. }))),
        }
        assert!(disk.list().unwrap().contains(&next));
    }
}
