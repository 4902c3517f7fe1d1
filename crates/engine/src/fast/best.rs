//! The best of many nodes, found without looking at all of them.

use super::groups::NEVER;
use crate::cast::narrow;

/// How many nodes make a part of the lowest level, and how many parts make one of the next.
const FAN: usize = 32;

/// Enough levels for 2^32 nodes.
const LEVELS: usize = 7;

/// A tree over all nodes: of each part the best total, and how many nodes have it.
///
/// A node that changes is taken in on the way from its part up to the root. Only where the last of
/// the best nodes got worse is a part looked at again, when it is asked for. While a part is not
/// stale, it is right, and so is every part below that has its total.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    /// All parts, from the lowest level to the root.
    parts: Vec<Best>,
    /// Where each level begins.
    starts: [usize; LEVELS],
    /// The level of the root.
    top: usize,
    /// How many nodes there are.
    rows: usize,
    /// Everything is out of date.
    stale: bool,
}

/// The best of some nodes.
#[derive(Clone, Copy, Debug)]
struct Best {
    total: i32,
    /// How many nodes have it; 0 if that is out of date.
    ties: u32,
}

const STALE: Best = Best {
    total: i32::MIN,
    ties: 0,
};

impl Best {
    fn is_stale(self) -> bool {
        self.ties == 0
    }

    /// A node's total changed; `doubtful` says that the part which the node is in is stale.
    fn follow(&mut self, before: i32, after: i32, doubtful: bool) {
        if self.is_stale() {
            return;
        }
        if after >= self.total && doubtful {
            self.ties = 0;
        } else if after > self.total {
            *self = Self {
                total: after,
                ties: 1,
            };
        } else if after == self.total {
            self.ties += 1;
        } else if before == self.total {
            self.ties -= 1;
        }
    }

    /// Takes in so many nodes with this total.
    fn add(&mut self, total: i32, ties: u32) {
        if total > self.total {
            *self = Self { total, ties };
        } else if total == self.total {
            self.ties += ties;
        }
    }
}

/// One node's part in the contest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The scores that concern it alone.
    pub(super) score: i32,
    /// Its group.
    pub(super) group: u32,
}

impl Row {
    #[inline]
    pub(super) fn total(self, bonus: &[i32]) -> i32 {
        self.score + bonus[self.group as usize]
    }
}

/// The nodes, and what their groups add.
#[derive(Clone, Copy)]
struct Totals<'a> {
    rows: &'a [Row],
    bonus: &'a [i32],
}

impl<'a> Totals<'a> {
    /// The nodes of a part of the lowest level.
    fn rows_of(self, part: usize) -> &'a [Row] {
        let first = part * FAN;
        &self.rows[first..(first + FAN).min(self.rows.len())]
    }

    /// The best of a part of the lowest level. Without a branch for every node: which is better
    /// cannot be foretold.
    fn best_of(self, part: usize) -> Best {
        let mut totals = [i32::MIN; FAN];
        let rows = self.rows_of(part);
        for (total, row) in totals.iter_mut().zip(rows) {
            *total = row.total(self.bonus);
        }
        let total = totals.iter().fold(i32::MIN, |best, total| best.max(*total));
        let ties = totals.iter().map(|other| u32::from(*other == total)).sum();
        Best { total, ties }
    }
}

impl Tree {
    /// About how many bytes it takes up.
    pub(super) fn size(&self) -> usize {
        self.parts.capacity() * size_of::<Best>()
    }

    /// The total of the node at this position changed.
    #[inline]
    pub(super) fn touch(&mut self, at: usize, before: i32, after: i32) {
        if self.stale || at >= self.rows || before == after {
            return;
        }
        let mut doubtful = false;
        let mut part = at / FAN;
        for level in 0..=self.top {
            let best = &mut self.parts[self.starts[level] + part];
            best.follow(before, after, doubtful);
            doubtful = best.is_stale();
            part /= FAN;
        }
    }

    /// Whether all nodes are to be looked at anyway.
    pub(super) fn is_stale(&self) -> bool {
        self.stale
    }

    /// What groups add changed, or all nodes did.
    pub(super) fn touch_all(&mut self) {
        self.stale = true;
    }

    /// The best total, and how many nodes have it; `None` if none is feasible.
    pub(super) fn best(&mut self, rows: &[Row], bonus: &[i32]) -> Option<(i32, usize)> {
        if rows.is_empty() {
            return None;
        }
        if self.stale || self.rows != rows.len() {
            self.plant(rows.len());
        }
        let Best { total, ties } = self.renew(self.top, 0, Totals { rows, bonus });
        (total >= NEVER / 2).then_some((total, ties as usize))
    }

    /// Makes room for so many nodes, of which nothing is known.
    fn plant(&mut self, rows: usize) {
        self.parts.clear();
        self.top = 0;
        let mut parts = rows.div_ceil(FAN);
        loop {
            self.starts[self.top] = self.parts.len();
            self.parts.resize(self.parts.len() + parts, STALE);
            if parts == 1 {
                break;
            }
            parts = parts.div_ceil(FAN);
            self.top += 1;
        }
        self.rows = rows;
        self.stale = false;
    }

    /// The indices of the parts that make this one, which is not of the lowest level.
    fn below(&self, level: usize, part: usize) -> std::ops::Range<usize> {
        let first = self.starts[level - 1] + part * FAN;
        first..(first + FAN).min(self.starts[level])
    }

    /// The best of a part, for which those below are looked at if they have to be.
    fn renew(&mut self, level: usize, part: usize, totals: Totals<'_>) -> Best {
        let at = self.starts[level] + part;
        if self.parts[at].is_stale() {
            self.parts[at] = if level == 0 {
                totals.best_of(part)
            } else {
                let first = self.starts[level - 1];
                let mut best = STALE;
                for below in self.below(level, part) {
                    let Best { total, ties } = self.renew(level - 1, below - first, totals);
                    best.add(total, ties);
                }
                best
            };
        }
        self.parts[at]
    }

    /// The positions and totals of the `most` best feasible nodes, the best first and among equals
    /// those that come first, after the best were found.
    pub(super) fn top(
        &self,
        rows: &[Row],
        bonus: &[i32],
        most: usize,
        found: &mut Vec<(u32, i32)>,
    ) {
        found.clear();
        for (part, best) in self.parts.iter().take(rows.len().div_ceil(FAN)).enumerate() {
            let least = found.get(most.saturating_sub(1)).map(|(_, total)| *total);
            if least.is_some_and(|least| !best.is_stale() && best.total <= least) {
                continue;
            }
            let part_rows = rows.iter().enumerate().skip(part * FAN).take(FAN);
            for (at, row) in part_rows {
                let total = row.total(bonus);
                let least = found.get(most.saturating_sub(1)).map(|(_, total)| *total);
                if total < NEVER / 2 || least.is_some_and(|least| total <= least) {
                    continue;
                }
                let place = found.partition_point(|(_, better)| *better >= total);
                found.truncate(most.saturating_sub(1));
                found.insert(place.min(found.len()), (narrow(at), total));
            }
        }
    }

    /// The position of the nth of the best nodes, after these were found and counted.
    pub(super) fn nth(&self, rows: &[Row], bonus: &[i32], best: i32, n: usize) -> Option<usize> {
        let root = self.parts.last()?;
        let mut n = u32::try_from(n).ok().filter(|n| *n < root.ties)?;
        let mut part = 0;
        for level in (1..=self.top).rev() {
            part *= FAN;
            for below in &self.parts[self.below(level, part / FAN)] {
                // None where they are out of date.
                let ties = if below.total == best { below.ties } else { 0 };
                if n < ties {
                    break;
                }
                n -= ties;
                part += 1;
            }
        }
        let rows = Totals { rows, bonus }.rows_of(part);
        for (at, row) in (part * FAN..).zip(rows) {
            if row.total(bonus) == best {
                if n == 0 {
                    return Some(at);
                }
                n -= 1;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_base::Rng;

    /// The positions of the best rows, found by looking at each.
    fn best_of_all(rows: &[Row], bonus: &[i32]) -> Option<(i32, Vec<usize>)> {
        let best = rows.iter().map(|row| row.total(bonus)).max()?;
        let at = (0..rows.len()).filter(|at| rows[*at].total(bonus) == best);
        (best >= NEVER / 2).then(|| (best, at.collect()))
    }

    #[test]
    fn the_best_are_found_whatever_changes() {
        let mut rng = Rng::new(11);
        for (size, scores) in [1, 31, 32, 33, 1024, 1025, 40_000]
            .into_iter()
            .flat_map(|size| [(size, 3), (size, 50)])
        {
            let mut bonus = vec![0, 5, NEVER];
            let row = |rng: &mut Rng| Row {
                score: rng.below(scores) as i32,
                group: rng.below(3) as u32,
            };
            let mut rows: Vec<Row> = (0..size).map(|_| row(&mut rng)).collect();
            let mut tree = Tree::default();
            for step in 0..400 {
                match rng.below(100) {
                    0 => {
                        bonus[rng.below(2)] = rng.below(4) as i32;
                        tree.touch_all();
                    }
                    1 if rows.len() > 1 => {
                        rows.pop();
                        tree.touch_all();
                    }
                    2 => rows.push(row(&mut rng)),
                    kind => {
                        // Most often one of the best gets worse.
                        let best = best_of_all(&rows, &bonus).filter(|_| kind > 50);
                        let at = match best {
                            Some((_, best)) => best[rng.below(best.len())],
                            None => rng.below(rows.len()),
                        };
                        let before = rows[at].total(&bonus);
                        rows[at] = row(&mut rng);
                        tree.touch(at, before, rows[at].total(&bonus));
                    }
                }
                if rng.below(3) == 0 {
                    continue;
                }
                let expected = best_of_all(&rows, &bonus);
                let found = tree.best(&rows, &bonus);
                let counted = expected.as_ref().map(|(best, at)| (*best, at.len()));
                assert_eq!(found, counted, "{size} rows, step {step}");
                let Some((best, positions)) = expected else {
                    continue;
                };
                for n in [0, positions.len() / 2, positions.len() - 1] {
                    let at = tree.nth(&rows, &bonus, best, n);
                    assert_eq!(at, Some(positions[n]), "{size} rows, step {step}");
                }
                assert_eq!(tree.nth(&rows, &bonus, best, positions.len()), None);
                let mut top = Vec::new();
                tree.top(&rows, &bonus, 10, &mut top);
                let all = rows.iter().map(|row| row.total(&bonus)).zip(0..);
                let mut all: Vec<(i32, u32)> = all.filter(|(t, _)| *t >= NEVER / 2).collect();
                all.sort_by_key(|(total, at)| (std::cmp::Reverse(*total), *at));
                let all: Vec<_> = all.iter().take(10).map(|(t, at)| (*at, *t)).collect();
                assert_eq!(top, all, "{size} rows, step {step}");
            }
        }
    }
}
