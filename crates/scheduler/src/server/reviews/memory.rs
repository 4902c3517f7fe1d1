//! Answers of the last seconds.

use super::Digest;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stowplan_base::{Env, Time};

/// What a memory holds at the most.
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheLimits {
    pub(super) answers: usize,
    pub(super) bytes: usize,
}

/// Something that takes up room.
pub(super) trait Measured {
    fn bytes(&self) -> usize;
}

/// Answers by what was asked. When there is no more room the oldest goes, one at a time.
pub(super) struct ReviewCache<V> {
    env: Arc<dyn Env>,
    room: CacheLimits,
    /// How long an answer is believed.
    belief: Duration,
    kept: Mutex<Kept<V>>,
}

struct Kept<V> {
    answers: HashMap<Digest, Answer<V>>,
    /// Oldest first, each once for every time that it was put.
    order: VecDeque<(u64, Digest)>,
    bytes: usize,
    puts: u64,
}

struct Answer<V> {
    /// Which put it was.
    put: u64,
    at: Time,
    value: V,
}

impl<V: Clone + Measured> ReviewCache<V> {
    pub(super) fn new(room: CacheLimits, belief: Duration, env: Arc<dyn Env>) -> Self {
        Self {
            env,
            room,
            belief,
            kept: Mutex::new(Kept {
                answers: HashMap::new(),
                order: VecDeque::new(),
                bytes: 0,
                puts: 0,
            }),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept<V>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer, while it is believed.
    pub(super) fn get(&self, key: &Digest) -> Option<V> {
        let kept = self.kept();
        let answer = kept.answers.get(key)?;
        (self.env.monotonic().since(answer.at) < self.belief).then(|| answer.value.clone())
    }

    /// Whether there was an answer, even if it is not believed any more.
    pub(super) fn knew(&self, key: &Digest) -> bool {
        self.kept().answers.contains_key(key)
    }

    pub(super) fn put(&self, key: Digest, value: V) {
        let bytes = value.bytes();
        let mut kept = self.kept();
        kept.remove(&key);
        // One that is too large would drive out many others.
        if bytes > self.room.bytes / 8 {
            return;
        }
        kept.bytes += bytes;
        kept.puts += 1;
        let put = kept.puts;
        let at = self.env.monotonic();
        kept.answers.insert(key, Answer { put, at, value });
        kept.order.push_back((put, key));
        while kept.answers.len() > self.room.answers || kept.bytes > self.room.bytes {
            let Some((put, oldest)) = kept.order.pop_front() else {
                break;
            };
            if kept.is_current(put, &oldest) {
                kept.remove(&oldest);
            }
        }
        kept.tidy(self.room.answers);
    }

    /// It is not so any more.
    pub(super) fn forget(&self, key: &Digest) {
        self.kept().remove(key);
    }
}

impl<V: Measured> Kept<V> {
    fn remove(&mut self, key: &Digest) {
        if let Some(answer) = self.answers.remove(key) {
            self.bytes -= answer.value.bytes();
        }
    }

    fn is_current(&self, put: u64, key: &Digest) -> bool {
        let current = self.answers.get(key);
        current.is_some_and(|answer| answer.put == put)
    }

    /// Forgets the order of what was put anew since, once that is most of it.
    fn tidy(&mut self, answers: usize) {
        if self.order.len() <= 2 * answers {
            return;
        }
        let mut order = std::mem::take(&mut self.order);
        order.retain(|(put, key)| self.is_current(*put, key));
        self.order = order;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_env::System;

    impl Measured for usize {
        fn bytes(&self) -> usize {
            *self
        }
    }

    fn key(i: usize) -> Digest {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&i.to_le_bytes());
        key
    }

    fn memory() -> ReviewCache<usize> {
        let room = CacheLimits {
            answers: 10,
            bytes: 1_000,
        };
        ReviewCache::new(room, Duration::from_secs(10), Arc::new(System::new()))
    }

    fn figures(memory: &ReviewCache<usize>) -> (usize, usize) {
        let kept = memory.kept();
        assert!(kept.order.len() <= 21);
        (kept.answers.len(), kept.bytes)
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_goes_when_there_are_too_many_or_they_are_too_large() {
        let memory = memory();
        for i in 0..100 {
            memory.put(key(i), 1);
        }
        assert_eq!(figures(&memory), (10, 10));
        assert!(!memory.knew(&key(89)) && memory.knew(&key(90)));
        for i in 100..120 {
            memory.put(key(i), 120);
        }
        assert_eq!(figures(&memory), (8, 960));
        memory.put(key(0), 126);
        assert!(!memory.knew(&key(0)), "too large for itself");
        assert_eq!(figures(&memory), (8, 960));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_put_again_and_again_counts_once() {
        let memory = memory();
        for i in 0..1_000 {
            memory.put(key(i % 3), i % 7);
        }
        assert_eq!(figures(&memory).0, 3);
        memory.forget(&key(0));
        assert!(!memory.knew(&key(0)));
        tokio::time::advance(Duration::from_secs(11)).await;
        assert!(memory.get(&key(1)).is_none() && memory.knew(&key(1)));
    }
}
