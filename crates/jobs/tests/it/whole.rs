//! What the twin does not play: fairness, leases of living workers, batches, periodic entries, compaction.

use stowplan_base::{Duration, Rng, Time};
use stowplan_jobs::{
    Ack, BatchSpec, CallbackState, Failed, Fetched, Filter, Limits, Machine, NewJob, Out,
    PeriodicSpec, Place, Record, Settings, State, Who,
};

const START: Time = Time::from_secs(1_700_000_000);
const FAILED: Failed<'_> = Failed {
    error: b"\"message\":\"x\"",
    fingerprint: 7,
};

fn job<'a>(jid: &'a str, tenant: &'a str) -> NewJob<'a> {
    NewJob {
        jid,
        queue: "q",
        kind: "Kind",
        tenant,
        priority: 5,
        retry: 25,
        reserve_s: 0,
        at: None,
        expires: None,
        unique: None,
        batch: "",
        policy: "",
        tracked: false,
        body: b"\"x\":1",
    }
}

/// A queue, and all that it wrote down.
struct World {
    machine: Machine,
    log: Vec<u8>,
    now: Time,
}

impl World {
    fn new() -> Self {
        Self {
            machine: Machine::new(Settings::default(), 1, START),
            log: Vec::new(),
            now: START,
        }
    }

    fn act<T>(&mut self, act: impl FnOnce(&mut Machine, &mut Out, Time) -> T) -> (T, Out) {
        let mut out = Out {
            base: self.log.len() as u64,
            ..Out::default()
        };
        let done = act(&mut self.machine, &mut out, self.now);
        self.log.extend_from_slice(&out.log);
        (done, out)
    }

    fn push(&mut self, new: &NewJob<'_>) {
        self.act(|machine, out, now| machine.push(out, now, new))
            .0
            .unwrap();
    }

    /// The job that a worker gets, and its token.
    fn fetch(&mut self, who: Who) -> Option<(String, String, u64)> {
        let (fetched, out) =
            self.act(|machine, out, now| machine.fetch(out, now, who, ["q"].into_iter()));
        if fetched == Fetched::Waits {
            self.pass(3_000);
            return None;
        }
        let delivery = out.delivered[0];
        let bytes = self.read(delivery.job);
        let (Record::Job(job), _) = Record::decode(&bytes).unwrap() else {
            panic!("no job");
        };
        Some((job.jid.to_owned(), job.tenant.to_owned(), delivery.token))
    }

    fn read(&self, place: Place) -> Vec<u8> {
        self.log[place.at as usize..][..place.len as usize].to_vec()
    }

    fn ack(&mut self, who: Who, jid: &str, token: Option<u64>) -> Ack {
        self.act(|machine, out, now| machine.ack(out, now, who, jid, token))
            .0
    }

    fn pass(&mut self, ms: i64) {
        self.now = self.now + Duration::from_millis(ms);
        self.act(|machine, out, now| machine.tick(out, now));
    }

    fn state(&self, jid: &str) -> Option<State> {
        let found = self.machine.select(
            &Filter {
                jids: &[jid],
                ..Filter::default()
            },
            1,
        );
        let (slot, id) = *found.first()?;
        Some(self.machine.view(slot, id, self.now)?.state)
    }
}

const PRODUCER: Who = Who {
    conn: 1,
    worker: None,
};

#[test]
fn tenants_get_their_weighted_share_whatever_arrives() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let mut world = World::new();
        let weights = [1_u32, 2, 5];
        for (tenant, weight) in weights.iter().enumerate() {
            let limits = Limits {
                weight: *weight,
                ..Limits::default()
            };
            world.act(|machine, out, now| {
                machine.limit_tenant(out, now, &format!("t{tenant}"), limits)
            });
        }
        let mut waiting = [0_i64; 3];
        let mut served = [0.0_f64; 3];
        let mut next = 0;
        for _ in 0..600 {
            for (tenant, waiting) in waiting.iter_mut().enumerate() {
                // Everybody has something to do all the time; some have very much.
                while *waiting < 1 + rng.below([3, 40, 3][tenant]) as i64 {
                    next += 1;
                    world.push(&job(&format!("job-{next:05}"), &format!("t{tenant}")));
                    *waiting += 1;
                }
            }
            let (jid, tenant, _) = world.fetch(PRODUCER).unwrap();
            let tenant: usize = tenant[1..].parse().unwrap();
            waiting[tenant] -= 1;
            served[tenant] += 1.0 / f64::from(weights[tenant]);
            assert_eq!(world.ack(PRODUCER, &jid, None), Ack::Done);
            // Start-time fair queueing: two that always wait differ by at most a job of each.
            for a in 0..3 {
                for b in 0..3 {
                    let bound = 1.0 / f64::from(weights[a]) + 1.0 / f64::from(weights[b]);
                    assert!(
                        served[a] - served[b] <= bound + 1e-9,
                        "seed {seed}: {served:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn one_tenants_million_does_not_delay_anothers_one() {
    let mut world = World::new();
    for i in 0..5_000 {
        world.push(&job(&format!("many-{i:05}"), "many"));
    }
    for _ in 0..10 {
        world.fetch(PRODUCER).unwrap();
    }
    world.push(&job("the-only-one", "one"));
    let next: Vec<_> = (0..2).map(|_| world.fetch(PRODUCER).unwrap().1).collect();
    assert!(next.contains(&"one".to_owned()), "{next:?}");
}

#[test]
fn tenants_keep_to_their_caps_and_rates() {
    let mut world = World::new();
    let limits = Limits {
        running_max: 2,
        ..Limits::default()
    };
    world.act(|machine, out, now| machine.limit_tenant(out, now, "capped", limits));
    let limits = Limits {
        rate: 10.0,
        burst: 1,
        ..Limits::default()
    };
    world.act(|machine, out, now| machine.limit_tenant(out, now, "slow", limits));
    for i in 0..50 {
        world.push(&job(&format!("capped-{i}"), "capped"));
        world.push(&job(&format!("slow-{i:04}"), "slow"));
    }
    let mut got = Vec::new();
    while let (Fetched::Delivered, out) =
        world.act(|machine, out, now| machine.fetch(out, now, PRODUCER, ["q"].into_iter()))
    {
        let bytes = world.read(out.delivered[0].job);
        let (Record::Job(job), _) = Record::decode(&bytes).unwrap() else {
            panic!("no job")
        };
        got.push(job.jid.to_owned());
    }
    assert_eq!(got.len(), 3, "{got:?}");
    // The one who waits gets the next one when there is a token for it.
    world.now = world.now + Duration::from_millis(101);
    let (_, out) = world.act(|machine, out, now| machine.tick(out, now));
    assert_eq!(out.delivered.len(), 1);
    let capped = got
        .iter()
        .find(|jid| jid.starts_with("capped"))
        .unwrap()
        .clone();
    let (fetched, _) =
        world.act(|machine, out, now| machine.fetch(out, now, PRODUCER, ["q"].into_iter()));
    assert_eq!(fetched, Fetched::Waits);
    let (ack, out) = world.act(|machine, out, now| machine.ack(out, now, PRODUCER, &capped, None));
    assert_eq!((ack, out.delivered.len()), (Ack::Done, 1));
}

#[test]
fn a_lease_lasts_while_its_worker_beats_and_a_late_answer_is_fenced() {
    let mut world = World::new();
    let worker = |world: &mut World, conn, wid| {
        let worker = Some(world.machine.connect(world.now, wid, ""));
        Who { conn, worker }
    };
    let a = worker(&mut world, 2, "a");
    world.push(&job("job-00001", ""));
    let (_, _, first) = world.fetch(a).unwrap();
    for _ in 0..300 {
        world.pass(15_000);
        assert!(world.machine.beat(world.now, "a", None).is_some());
    }
    assert_eq!(
        world.state("job-00001"),
        Some(State::Reserved),
        "75 minutes, and it still beats"
    );
    // Its connections end, and it does not come back.
    world.machine.disconnect(world.now, a);
    world.pass(14_000);
    assert_eq!(world.state("job-00001"), Some(State::Reserved));
    world.pass(1_001);
    assert_eq!(world.state("job-00001"), Some(State::Queued));
    let b = worker(&mut world, 3, "b");
    let (_, _, second) = world.fetch(b).unwrap();
    assert!(second > first);
    let a = worker(&mut world, 4, "a");
    assert_eq!(world.ack(a, "job-00001", None), Ack::Fenced);
    assert_eq!(world.ack(a, "job-00001", Some(first)), Ack::Fenced);
    assert_eq!(
        world.ack(PRODUCER, "job-00001", None),
        Ack::Fenced,
        "who says nothing may be late, too"
    );
    assert_eq!(world.state("job-00001"), Some(State::Reserved));
    assert_eq!(world.ack(b, "job-00001", Some(second)), Ack::Done);
    assert_eq!(world.machine.totals().fenced, 3);
}

#[test]
fn a_job_that_kills_its_workers_is_dead_with_that_reason() {
    let mut world = World::new();
    world.push(&job("poison-01", ""));
    for conn in 0..3 {
        let wid = format!("w{conn}");
        let who = Who {
            conn: conn + 2,
            worker: Some(world.machine.connect(world.now, &wid, "")),
        };
        world.fetch(who).unwrap();
        world.machine.disconnect(world.now, who);
        world.pass(15_001);
    }
    assert_eq!(world.state("poison-01"), Some(State::Dead));
    let (slot, id) = world.machine.select(
        &Filter {
            jids: &["poison-01"],
            ..Filter::default()
        },
        1,
    )[0];
    let view = world.machine.view(slot, id, world.now).unwrap();
    let reason = world.read(*view.failures.last().unwrap());
    assert!(String::from_utf8_lossy(&reason).contains("PoisonPill"));
}

#[test]
fn batches_call_back_when_all_is_done() {
    let mut world = World::new();
    let (success, complete) = (
        job("success-1", "").prepare(),
        job("complete-1", "").prepare(),
    );
    let spec = BatchSpec {
        bid: "b-1",
        success: &success,
        complete: &complete,
        ..BatchSpec::default()
    };
    world
        .act(|machine, out, now| machine.batch_new(out, now, &spec))
        .0
        .unwrap();
    for jid in ["batched-1", "batched-2"] {
        world.push(&NewJob {
            batch: "b-1",
            retry: 1,
            policy: "fixed:1s",
            ..job(jid, "")
        });
    }
    world
        .act(|machine, out, now| machine.batch_commit(out, now, "b-1"))
        .0
        .unwrap();
    world.fetch(PRODUCER).unwrap();
    world.fetch(PRODUCER).unwrap();
    assert_eq!(world.ack(PRODUCER, "batched-1", None), Ack::Done);
    assert_eq!(world.state("complete-1"), None);
    let failed = world
        .act(|machine, out, now| machine.fail(out, now, PRODUCER, "batched-2", None, &FAILED))
        .0;
    assert_eq!(failed, Ack::Done);
    assert_eq!(
        world.state("complete-1"),
        Some(State::Queued),
        "each has run"
    );
    assert_eq!(world.state("success-1"), None);
    world.pass(1_001);
    while let Some((jid, ..)) = world.fetch(PRODUCER) {
        assert_eq!(
            world.ack(
                PRODUCER,
                &jid,
                Some(world.machine.totals().processed.max(1))
            ),
            Ack::Fenced
        );
        let slots = world.machine.select(
            &Filter {
                jids: &[&jid],
                ..Filter::default()
            },
            1,
        );
        let token = world
            .machine
            .view(slots[0].0, slots[0].1, world.now)
            .unwrap()
            .lease
            .unwrap()
            .token;
        assert_eq!(world.ack(PRODUCER, &jid, Some(token)), Ack::Done);
    }
    let status = world.machine.batch("b-1").unwrap();
    assert_eq!(
        (status.complete, status.success),
        (CallbackState::Done, CallbackState::Done)
    );
    assert_eq!((status.total, status.pending, status.failed), (2, 0, 1));
}

#[test]
fn periodic_entries_launch_each_time_once_also_over_restarts() {
    let mut world = World::new();
    let template = NewJob {
        body: b"\"jid\":\"\x01j\",\"created_at\":\"\x01t\"",
        ..job("........", "")
    };
    let prepared = template.prepare();
    let spec = PeriodicSpec {
        name: "every-minute",
        schedule: "* * * * *",
        zone: "Europe/Berlin",
        catch_up: "",
        dst: "",
        forbid_overlap: false,
        job: &prepared,
    };
    world
        .act(|machine, out, now| machine.periodic_set(out, now, &spec))
        .0
        .unwrap();
    for _ in 0..600 {
        world.pass(1_000);
    }
    assert_eq!(world.machine.totals().queued, 10);
    // Down for an hour: the last of those that were missed is launched, and no earlier one.
    let now = world.now + Duration::from_secs(3_600);
    let mut machine = Machine::new(Settings::default(), 2, now);
    machine.begin_replay();
    machine.replay(0, &world.log).unwrap();
    machine.end_replay(now);
    (world.machine, world.now) = (machine, now);
    world.pass(1);
    assert_eq!(world.machine.totals().queued, 11);
    let jobs = world.machine.select(&Filter::default(), 100);
    let last = world
        .machine
        .view(jobs[10].0, jobs[10].1, world.now)
        .unwrap();
    let body = world.read(last.place);
    let minute = now.as_millis() / 60_000 * 60;
    assert!(String::from_utf8_lossy(&body).contains(&format!("every-minute-{minute}")));
}

#[test]
fn what_is_written_again_is_what_was_there() {
    let mut world = World::new();
    let who = Who {
        conn: 9,
        worker: Some(world.machine.connect(world.now, "w", "")),
    };
    for i in 0..200 {
        let jid = format!("job-{i:05}");
        world.push(&NewJob {
            policy: "fixed:1h",
            ..job(&jid, "t")
        });
    }
    for i in 0..100 {
        let (jid, _, _) = world.fetch(who).unwrap();
        match i % 3 {
            0 => drop(world.ack(who, &jid, None)),
            1 => {
                world.act(|machine, out, now| machine.fail(out, now, who, &jid, None, &FAILED));
            }
            _ => {}
        }
    }
    let before = world.log.len() as u64;
    let mut old = Vec::new();
    assert_eq!(world.machine.old_jobs(0, u32::MAX, before, &mut old), None);
    let log = world.log.clone();
    let mut read = |place: Place| Some(log[place.at as usize..][..place.len as usize].to_vec());
    for (slot, id) in old {
        world
            .act(|machine, out, _| machine.rewrite(out, slot, id, &mut read))
            .0
            .unwrap();
    }
    world.act(|machine, out, _| machine.rewrite_rest(out, before));
    let seen = |machine: &Machine, now| {
        let all = machine.select(&Filter::default(), usize::MAX);
        let views = all.into_iter().map(|(slot, id)| {
            let mut view = machine.view(slot, id, now).unwrap();
            // What was learned is not written down.
            view.lease.iter_mut().for_each(|lease| lease.typical = None);
            view
        });
        (
            views.collect::<Vec<_>>(),
            machine.totals().processed,
            machine.queues(now),
        )
    };
    // The old part of the log is gone.
    let mut machine = Machine::new(Settings::default(), 2, world.now);
    machine.begin_replay();
    machine
        .replay(before, &world.log[before as usize..])
        .unwrap();
    machine.end_replay(world.now);
    let (found, expected) = (seen(&machine, world.now), seen(&world.machine, world.now));
    for (found, expected) in found.0.iter().zip(&expected.0) {
        assert_eq!(found, expected);
    }
    assert_eq!(
        (found.0.len(), found.1, found.2),
        (expected.0.len(), expected.1, expected.2)
    );
}

#[test]
fn a_batch_knows_of_jobs_that_are_killed_and_come_back_and_its_callbacks_are_not_lost() {
    let mut world = World::new();
    let success = job("success-2", "").prepare();
    let spec = BatchSpec {
        bid: "b-2",
        success: &success,
        ..BatchSpec::default()
    };
    world
        .act(|machine, out, now| machine.batch_new(out, now, &spec))
        .0
        .unwrap();
    for jid in ["batched-3", "batched-4", "batched-5"] {
        world.push(&NewJob {
            batch: "b-2",
            ..job(jid, "")
        });
    }
    let commit = |machine: &mut Machine, out: &mut Out, now| machine.batch_commit(out, now, "b-2");
    world.act(commit).0.unwrap();
    let find = |world: &World, jid| {
        let jids = [jid];
        let filter = Filter {
            jids: &jids,
            ..Filter::default()
        };
        world.machine.select(&filter, 1)[0]
    };
    let counts = |world: &World| {
        let batch = world.machine.batch("b-2").unwrap();
        (batch.pending, batch.failed)
    };
    let (slot, id) = find(&world, "batched-3");
    assert!(
        world
            .act(|machine, out, now| machine.kill(out, now, slot, id))
            .0
    );
    assert_eq!(counts(&world), (2, 1));
    let later = world.now + Duration::from_secs(1);
    assert!(
        world
            .act(|machine, out, now| machine.reschedule(out, now, slot, id, later))
            .0
    );
    assert_eq!(counts(&world), (3, 0));
    world.pass(1_001);
    world.act(|machine, out, _| machine.drain(out, &["q"]));
    for _ in 0..3 {
        let (jid, ..) = world.fetch(PRODUCER).unwrap();
        assert_eq!(world.state("success-2"), None);
        assert_eq!(world.ack(PRODUCER, &jid, None), Ack::Done);
    }
    assert_eq!(counts(&world), (0, 0));
    assert_eq!(world.state("success-2"), Some(State::Queued));
}

/// An entry of each minute, after the process was stopped (or was not there) for some minutes.
fn launched_after(catch_up: &str, minutes: i64, restart: bool) -> u64 {
    let mut world = World::new();
    let prepared = job("........", "").prepare();
    let spec = PeriodicSpec {
        name: "every-minute",
        schedule: "* * * * *",
        zone: "",
        catch_up,
        dst: "",
        forbid_overlap: false,
        job: &prepared,
    };
    world
        .act(|machine, out, now| machine.periodic_set(out, now, &spec))
        .0
        .unwrap();
    world.now = world.now + Duration::from_secs(60 * minutes);
    if restart {
        let mut machine = Machine::new(Settings::default(), 2, world.now);
        machine.begin_replay();
        machine.replay(0, &world.log).unwrap();
        machine.end_replay(world.now);
        world.machine = machine;
    }
    world.pass(1);
    world.machine.totals().queued
}

#[test]
fn missed_times_are_caught_up_with_as_an_entry_asks_for() {
    assert_eq!(launched_after("latest", 60, true), 1);
    assert_eq!(
        launched_after("latest", 60, false),
        2,
        "the first, and the last"
    );
    assert_eq!(launched_after("skip", 60, true), 0);
    assert_eq!(launched_after("all", 60, true), 60);
    assert_eq!(launched_after("all", 60, false), 60);
    assert_eq!(launched_after("all", 1_500, true), 1_000);
}
