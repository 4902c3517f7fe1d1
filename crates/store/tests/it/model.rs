//! Random operations, compared with a store that is too simple to be wrong.

use crate::disk::Disk;
use crate::tools::setting;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeMap;
use stowplan_store::{
    CommitError, Error, EventKind, Expect, Options, Redb, Retention, Revision, Store, Txn, Watch,
};

/// Keys that are prefixes of each other, and prefixes that are keys.
const KEYS: [&str; 8] = ["a", "a/", "a/b", "a/b/c", "a0", "b", "b/1", "c"];
const PREFIXES: [&str; 6] = ["", "a", "a/", "a/b", "b", "x"];

#[derive(Clone, Copy, Debug)]
enum Want {
    Any,
    Absent,
    Present,
    /// The last write of the key, and so many before.
    Seen(u64),
}

#[derive(Clone, Debug)]
struct Change {
    conditions: Vec<(usize, Want)>,
    /// A value, or a deletion.
    writes: Vec<(usize, Want, Option<u8>)>,
}

#[derive(Clone, Debug)]
enum Op {
    Commit(Vec<Change>),
    /// To so many revisions before the last.
    Compact(u64),
    /// At so many revisions before the last (beyond it: in the future).
    Range {
        prefix: usize,
        back: Option<i64>,
        after: Option<usize>,
        limit: Option<usize>,
    },
    Watch {
        prefix: usize,
        back: i64,
    },
    Poll(usize),
    Leave(usize),
    Reopen,
}

fn change() -> impl Strategy<Value = Change> {
    let want = prop_oneof![
        4 => Just(Want::Any),
        1 => Just(Want::Absent),
        1 => Just(Want::Present),
        2 => (0..2_u64).prop_map(Want::Seen),
    ];
    let value = proptest::option::weighted(0.7, any::<u8>());
    (
        vec((0..KEYS.len(), want.clone()), 0..2),
        vec((0..KEYS.len(), want, value), 0..4),
    )
        .prop_map(|(conditions, writes)| Change { conditions, writes })
}

fn op() -> impl Strategy<Value = Op> {
    let prefix = 0..PREFIXES.len();
    prop_oneof![
        8 => vec(change(), 1..4).prop_map(Op::Commit),
        1 => (0..12_u64).prop_map(Op::Compact),
        4 => (
            prefix.clone(),
            proptest::option::of(-2..20_i64),
            proptest::option::of(0..KEYS.len()),
            proptest::option::of(0..4_usize),
        ).prop_map(|(prefix, back, after, limit)| Op::Range { prefix, back, after, limit }),
        2 => (prefix, -1..20_i64).prop_map(|(prefix, back)| Op::Watch { prefix, back }),
        4 => (0..8_usize).prop_map(Op::Poll),
        1 => (0..8_usize).prop_map(Op::Leave),
        1 => Just(Op::Reopen),
    ]
}

/// All that ever happened, replayed for each question.
struct Model {
    compacted: u64,
    /// `log[i]` is revision `i + 2`.
    log: Vec<(&'static str, Option<u8>)>,
}

/// Value, created, modified, version.
type Version = (u8, u64, u64, u64);

impl Model {
    fn revision(&self) -> u64 {
        1 + self.log.len() as u64
    }

    fn at(&self, revision: u64) -> BTreeMap<&'static str, Version> {
        let mut state: BTreeMap<&str, Version> = BTreeMap::new();
        for (now, (key, value)) in (2..=revision).zip(&self.log) {
            match value {
                Some(value) => {
                    let (created, version) = state.get(key).map_or((now, 0), |v| (v.1, v.3));
                    state.insert(key, (*value, created, now, version + 1));
                }
                None => drop(state.remove(key)),
            }
        }
        state
    }

    fn now(&self) -> BTreeMap<&'static str, Version> {
        self.at(self.revision())
    }

    fn expect(&self, key: &str, want: Want) -> Expect {
        match want {
            Want::Any => Expect::Any,
            Want::Absent => Expect::Absent,
            Want::Present => Expect::Present,
            Want::Seen(back) => {
                let seen = self.now().get(key).map_or(7, |v| v.2);
                Expect::Revision(Revision(seen.saturating_sub(back)))
            }
        }
    }

    fn holds(&self, key: &str, expect: Expect) -> bool {
        let current = self.now().get(key).map(|v| v.2);
        match expect {
            Expect::Any => true,
            Expect::Absent => current.is_none(),
            Expect::Present => current.is_some(),
            Expect::Revision(revision) => current == Some(revision.0),
        }
    }

    /// Events after a revision, with a prefix: revision, key, value, value before.
    fn events(&self, after: u64, prefix: &str) -> Vec<(u64, &'static str, Option<u8>, Option<u8>)> {
        let log = (2..).zip(&self.log).skip((after.max(1) - 1) as usize);
        log.filter(|(_, (key, _))| key.starts_with(prefix))
            .map(|(now, (key, value))| (now, *key, *value, self.at(now - 1).get(key).map(|v| v.0)))
            .collect()
    }
}

/// The store and the model side by side.
struct Pair {
    model: Model,
    store: Store,
    disk: Option<Disk>,
    /// Prefix, how far it came.
    watches: Vec<(Watch, &'static str, u64)>,
}

const OPTIONS: Options = Options {
    retention: Retention::ALL,
    bytes_max: usize::MAX,
    decoded_bytes: 0,
    inline: true,
    failure_pause: std::time::Duration::from_secs(1),
};

impl Pair {
    fn new(disk: Option<Disk>) -> Self {
        let store = match &disk {
            Some(disk) => {
                let redb = Redb::on_storage(disk.clone(), "disk").unwrap();
                Store::open(redb, OPTIONS).unwrap()
            }
            None => Store::in_memory(OPTIONS),
        };
        Self {
            model: Model {
                compacted: 1,
                log: Vec::new(),
            },
            store,
            disk,
            watches: Vec::new(),
        }
    }

    fn run(&mut self, op: &Op) {
        match op {
            Op::Commit(changes) => self.commit(changes),
            Op::Compact(back) => {
                let to = self.model.revision().saturating_sub(*back);
                self.store.compact_blocking(Revision(to)).unwrap();
                self.model.compacted = self.model.compacted.max(to);
            }
            Op::Range {
                prefix,
                back,
                after,
                limit,
            } => self.range(PREFIXES[*prefix], *back, after.map(|i| KEYS[i]), *limit),
            Op::Watch { prefix, back } => self.watch(PREFIXES[*prefix], *back),
            Op::Poll(i) => self.poll(*i),
            Op::Leave(i) => {
                if *i < self.watches.len() {
                    self.watches.swap_remove(*i);
                }
            }
            Op::Reopen => {
                if let Some(disk) = self.disk.clone() {
                    self.watches.clear();
                    self.store.close();
                    let redb = Redb::on_storage(disk, "disk").unwrap();
                    self.store = Store::open(redb, OPTIONS).unwrap();
                }
            }
        }
        self.compare();
    }

    fn commit(&mut self, changes: &[Change]) {
        let mut expected = Vec::new();
        let mut txns = Vec::new();
        for change in changes {
            let (txn, outcome) = self.plan(change);
            txns.push(txn);
            expected.push(outcome);
        }
        let outcomes = self.store.commit_all_blocking(txns);
        for (outcome, expected) in outcomes.into_iter().zip(expected) {
            match (outcome, expected) {
                (Ok(done), Ok((revision, events))) => {
                    assert_eq!((done.revision.0, done.events.len()), (revision, events));
                }
                (Err(CommitError::WrittenTwice), Err(None)) => {}
                (Err(CommitError::Conflict(conflict)), Err(Some((key, expect)))) => {
                    assert_eq!((conflict.key, conflict.expected), (key.into(), expect));
                }
                (outcome, expected) => panic!("{outcome:?}, expected {expected:?}"),
            }
        }
    }

    /// The transaction, and what must come of it; carries it out in the model.
    #[allow(clippy::type_complexity)]
    fn plan(
        &mut self,
        change: &Change,
    ) -> (Txn, Result<(u64, usize), Option<(&'static str, Expect)>>) {
        let mut txn = Txn::new();
        let mut asked = Vec::new();
        for (key, want) in &change.conditions {
            let expect = self.model.expect(KEYS[*key], *want);
            asked.push((KEYS[*key], expect));
            txn = txn.require(KEYS[*key], expect);
        }
        let mut keys = Vec::new();
        for (key, want, value) in &change.writes {
            let expect = self.model.expect(KEYS[*key], *want);
            asked.push((KEYS[*key], expect));
            keys.push(key);
            txn = match value {
                Some(value) => txn.put(KEYS[*key], vec![*value], expect),
                None => txn.delete(KEYS[*key], expect),
            };
        }
        keys.sort();
        if keys.windows(2).any(|k| k[0] == k[1]) {
            return (txn, Err(None));
        }
        let failed = asked
            .into_iter()
            .find(|(key, e)| !self.model.holds(key, *e));
        if let Some(failed) = failed {
            return (txn, Err(Some(failed)));
        }
        let before = self.model.log.len();
        for (key, _, value) in &change.writes {
            if value.is_some() || self.model.now().contains_key(KEYS[*key]) {
                self.model.log.push((KEYS[*key], *value));
            }
        }
        let events = self.model.log.len() - before;
        (txn, Ok((self.model.revision(), events)))
    }

    fn range(&self, prefix: &str, back: Option<i64>, after: Option<&str>, limit: Option<usize>) {
        let now = self.model.revision();
        let at = back.map_or(now, |back| now.saturating_add_signed(-back));
        let asked = back.map(|_| Revision(at));
        let page = self
            .store
            .range(prefix.as_bytes(), asked, after.map(str::as_bytes), limit);
        if at > now {
            assert!(matches!(page, Err(Error::Future { .. })), "{page:?}");
            return;
        }
        if at < self.model.compacted {
            assert!(matches!(page, Err(Error::Compacted { .. })), "{page:?}");
            return;
        }
        let page = page.unwrap();
        let then = self.model.at(at);
        let all: Vec<_> = then
            .iter()
            .filter(|(key, _)| key.starts_with(prefix) && after.is_none_or(|a| **key > a))
            .collect();
        let shown = limit.map_or(all.len(), |limit| limit.min(all.len()));
        let found: Vec<_> = page.entries.iter().map(|e| parts(e)).collect();
        let expected = all[..shown].iter();
        let expected: Vec<_> = expected
            .map(|(k, v)| (k.as_bytes().to_vec(), **v))
            .collect();
        assert_eq!(found, expected);
        assert_eq!(
            (page.remaining, page.more),
            (all.len() - shown, shown < all.len())
        );
        assert_eq!(page.revision.0, at);
    }

    fn watch(&mut self, prefix: &'static str, back: i64) {
        let now = self.model.revision();
        let after = now.saturating_add_signed(-back);
        match self.store.watch(prefix, Revision(after)) {
            Ok(watch) => {
                assert!(after <= now && after >= self.model.compacted);
                assert_eq!(watch.revision().0, after);
                self.watches.push((watch, prefix, after));
            }
            Err(Error::Future { .. }) => assert!(after > now),
            Err(Error::Compacted { .. }) => assert!(after < self.model.compacted),
            Err(error) => panic!("{error}"),
        }
    }

    fn poll(&mut self, i: usize) {
        let compacted = self.model.compacted;
        let Some((watch, prefix, seen)) = self.watches.get_mut(i) else {
            return;
        };
        let expected = self.model.events(*seen, prefix);
        if expected.first().is_some_and(|e| e.0 <= compacted) {
            assert!(matches!(watch.try_next(), Err(Error::Compacted { .. })));
            return;
        }
        let next = watch.try_next().unwrap();
        let found: Vec<_> = next
            .events
            .iter()
            .map(|e| {
                let value = (e.kind == EventKind::Put).then(|| e.entry.value[0]);
                let before = e.previous.as_ref().map(|p| p.value[0]);
                (
                    e.revision.0,
                    std::str::from_utf8(e.key()).unwrap(),
                    value,
                    before,
                )
            })
            .collect();
        assert_eq!(found, expected);
        assert_eq!(next.revision.0, self.model.revision());
        *seen = next.revision.0;
    }

    fn compare(&self) {
        let state = self.model.now();
        assert_eq!(self.store.revision().0, self.model.revision());
        assert_eq!(self.store.compacted().0, self.model.compacted);
        for key in KEYS {
            let found = self.store.get(key.as_bytes()).map(|e| parts(&e).1);
            assert_eq!(found, state.get(key).copied(), "{key}");
        }
        for prefix in PREFIXES {
            let count = state.keys().filter(|key| key.starts_with(prefix)).count();
            assert_eq!(self.store.count(prefix.as_bytes()), count);
        }
        let stats = self.store.stats();
        assert_eq!(
            stats.history as u64,
            self.model.revision() - self.model.compacted
        );
        assert_eq!(stats.watches, self.watches.len());
    }
}

fn parts(entry: &stowplan_store::Entry) -> (Vec<u8>, Version) {
    let (created, modified) = (entry.create_revision.0, entry.mod_revision.0);
    (
        entry.key.to_vec(),
        (entry.value[0], created, modified, entry.version),
    )
}

fn config(share: u64) -> ProptestConfig {
    let cases = setting("STOWPLAN_CASES", 512) / share;
    ProptestConfig {
        cases: u32::try_from(cases).unwrap(),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(setting("STOWPLAN_SEED", 1)),
        ..ProptestConfig::default()
    }
}

#[test]
fn in_memory_it_does_as_the_model() {
    proptest!(config(1), |(ops in vec(op(), 1..60))| {
        let mut pair = Pair::new(None);
        ops.iter().for_each(|op| pair.run(op));
    });
}

#[test]
fn on_disk_it_does_as_the_model() {
    proptest!(config(8), |(ops in vec(op(), 1..60))| {
        let mut pair = Pair::new(Some(Disk::default()));
        ops.iter().for_each(|op| pair.run(op));
    });
}
