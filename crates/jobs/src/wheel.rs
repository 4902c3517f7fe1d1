//! Timers: setting one and finding the next due cost the same however many there are.

use stowplan_base::Time;

/// Slots per level; a level spans 64 times the one below.
const SLOTS: usize = 64;
const BITS: u32 = 6;
/// Enough for every millisecond that [`Time`] can tell.
const LEVELS: usize = 8;

/// Timers by the millisecond in which they are due, rounded up, so that none is early.
///
/// An entry is in the level of the highest digit (of six bits) in which its millisecond differs from the
/// present one, so the next entry is in the lowest level that is not empty. Timers are not taken out: whoever
/// sets one knows when it fires whether it still counts.
#[derive(Debug)]
pub(crate) struct Wheel<T> {
    now_ms: u64,
    levels: Vec<Level<T>>,
    due: Vec<(Time, T)>,
    len: usize,
}

#[derive(Debug)]
struct Level<T> {
    occupied: u64,
    slots: Vec<Vec<(Time, T)>>,
}

fn millis_up(at: Time) -> u64 {
    let nanos = at.as_nanos().max(0).unsigned_abs();
    nanos.div_ceil(1_000_000)
}

impl<T: Copy> Wheel<T> {
    pub(crate) fn new(now: Time) -> Self {
        let level = || Level {
            occupied: 0,
            slots: (0..SLOTS).map(|_| Vec::new()).collect(),
        };
        Self {
            now_ms: now.as_millis().max(0).unsigned_abs(),
            levels: (0..LEVELS).map(|_| level()).collect(),
            due: Vec::new(),
            len: 0,
        }
    }

    pub(crate) fn set(&mut self, at: Time, item: T) {
        self.len += 1;
        self.place(at, item);
    }

    fn place(&mut self, at: Time, item: T) {
        let tick = millis_up(at);
        if tick <= self.now_ms {
            self.due.push((at, item));
            return;
        }
        let level = ((63 - (tick ^ self.now_ms).leading_zeros()) / BITS) as usize;
        let Some(level) = self.levels.get_mut(level) else {
            // Later than the last level reaches: nobody lives to see it.
            self.len -= 1;
            return;
        };
        let place = level_of(tick, self.now_ms);
        let slot = ((tick >> (BITS * place)) & 63) as usize;
        level.occupied |= 1 << slot;
        level.slots[slot].push((at, item));
    }

    /// The level and slot that comes next, and when it begins.
    fn next_slot(&self) -> Option<(usize, usize, u64)> {
        let level = self.levels.iter().position(|level| level.occupied != 0)?;
        let slot = self.levels[level].occupied.trailing_zeros() as usize;
        let shift = BITS * level as u32;
        let above = (self.now_ms >> shift) & !63;
        Some((level, slot, (above | slot as u64) << shift))
    }

    /// When to look again: no timer is due before that.
    pub(crate) fn next(&self) -> Option<Time> {
        if !self.due.is_empty() {
            return Some(Time::from_millis(self.now_ms.cast_signed()));
        }
        let (_, _, begins) = self.next_slot()?;
        Some(Time::from_millis(begins.cast_signed()))
    }

    /// Moves the present on; gives what has come due, in the order of its time.
    pub(crate) fn advance(&mut self, to: Time, fired: &mut Vec<(Time, T)>) {
        let to = to.as_millis().max(0).unsigned_abs();
        let first = fired.len();
        loop {
            fired.append(&mut self.due);
            match self.next_slot() {
                Some((level, slot, begins)) if begins <= to => {
                    self.now_ms = begins;
                    let level = &mut self.levels[level];
                    level.occupied &= !(1 << slot);
                    for (at, item) in std::mem::take(&mut level.slots[slot]) {
                        self.place(at, item);
                    }
                }
                _ => break,
            }
        }
        self.now_ms = self.now_ms.max(to);
        self.len -= fired.len() - first;
        fired[first..].sort_by_key(|(at, _)| *at);
    }
}

fn level_of(tick: u64, now: u64) -> u32 {
    (63 - (tick ^ now).leading_zeros()) / BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_base::Rng;

    #[test]
    fn fires_what_a_sorted_list_would() {
        for seed in 0..50 {
            let mut rng = Rng::new(seed);
            let mut now = Time::from_secs(1_700_000_000);
            let mut wheel = Wheel::new(now);
            let mut plain: Vec<(Time, usize)> = Vec::new();
            for item in 0..2_000 {
                let scale = 1_usize << rng.below(45);
                let at = Time::from_nanos(now.as_nanos() + rng.below(scale) as i64 - 1_000);
                wheel.set(at, item);
                plain.push((at, item));
                if rng.below(8) == 0 {
                    now = now + std::time::Duration::from_nanos(rng.below(scale) as u64);
                    let mut fired = Vec::new();
                    wheel.advance(now, &mut fired);
                    assert!(fired.is_sorted_by_key(|(at, _)| *at));
                    fired.sort();
                    let reached = |at: &Time| millis_up(*at) <= now.as_millis().unsigned_abs();
                    let mut expected: Vec<_> =
                        plain.extract_if(.., |(at, _)| reached(at)).collect();
                    expected.sort();
                    assert_eq!(fired, expected);
                    assert_eq!(wheel.len, plain.len());
                    let first = plain.iter().map(|(at, _)| *at).min();
                    if let (Some(next), Some(first)) = (wheel.next(), first) {
                        assert!(millis_up(next) <= millis_up(first));
                    }
                }
            }
        }
    }
}
