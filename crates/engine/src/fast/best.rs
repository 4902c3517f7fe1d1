//! The best of many nodes, block by block.

use super::groups::NEVER;

/// How many nodes make a block.
const BLOCK: usize = 256;

/// How many blocks make a district.
const DISTRICT: usize = 64;

/// The best total of every block of nodes, and how many have it; brought up to date where
/// something changed. The same again for districts of blocks, so that of a million nodes as few are
/// looked at as of a thousand.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Best>,
    districts: Vec<Best>,
    /// All blocks are out of date.
    stale: bool,
}

/// The best of some nodes.
#[derive(Clone, Copy, Debug)]
struct Best {
    total: i32,
    /// How many nodes have it; 0 if that was not counted.
    ties: u32,
    stale: bool,
}

const UNKNOWN: Best = Best {
    total: i32::MIN,
    ties: 0,
    stale: true,
};

impl Best {
    fn of(totals: impl Iterator<Item = i32>) -> Self {
        Self {
            total: totals.max().unwrap_or(i32::MIN),
            ties: 0,
            stale: false,
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
    pub(super) fn total(self, bonus: &[i32]) -> i32 {
        self.score + bonus[self.group as usize]
    }
}

impl Blocks {
    /// The node at this position changed.
    pub(super) fn touch(&mut self, at: usize) {
        if let Some(block) = self.blocks.get_mut(at / BLOCK) {
            block.stale = true;
            self.districts[at / BLOCK / DISTRICT].stale = true;
        }
    }

    /// What groups add changed, or all nodes did.
    pub(super) fn touch_all(&mut self) {
        self.stale = true;
    }

    /// The best total, and how many nodes have it; `None` if none is feasible.
    pub(super) fn best(&mut self, rows: &[Row], bonus: &[i32]) -> Option<(i32, usize)> {
        self.bring_up_to_date(rows, bonus);
        let totals = self.districts.iter().map(|district| district.total);
        let best = totals.max().unwrap_or(i32::MIN);
        if best < NEVER / 2 {
            return None;
        }
        let mut ties = 0;
        for (i, district) in self.districts.iter_mut().enumerate() {
            if district.total != best {
                continue;
            }
            if district.ties == 0 {
                let first = i * DISTRICT;
                let blocks = self.blocks[first..].iter_mut().take(DISTRICT);
                let rows = rows[first * BLOCK..].chunks(BLOCK);
                district.ties = count_ties(blocks.zip(rows), bonus, best);
            }
            ties += district.ties as usize;
        }
        Some((best, ties))
    }

    fn bring_up_to_date(&mut self, rows: &[Row], bonus: &[i32]) {
        let needed = rows.len().div_ceil(BLOCK);
        if self.stale || self.blocks.len() != needed {
            self.blocks.clear();
            self.blocks.resize(needed, UNKNOWN);
            self.districts.clear();
            self.districts.resize(needed.div_ceil(DISTRICT), UNKNOWN);
            self.stale = false;
        }
        let districts = self.districts.iter_mut();
        let blocks = self.blocks.chunks_mut(DISTRICT);
        let rows = rows.chunks(BLOCK * DISTRICT);
        for ((district, blocks), rows) in districts.zip(blocks).zip(rows) {
            if !district.stale {
                continue;
            }
            for (block, rows) in blocks.iter_mut().zip(rows.chunks(BLOCK)) {
                if block.stale {
                    *block = Best::of(rows.iter().map(|row| row.total(bonus)));
                }
            }
            *district = Best::of(blocks.iter().map(|block| block.total));
        }
    }

    /// The position of the nth of the best nodes.
    pub(super) fn nth(
        &self,
        rows: &[Row],
        bonus: &[i32],
        best: i32,
        mut n: usize,
    ) -> Option<usize> {
        let district = skip(&self.districts, best, &mut n)?;
        let first = district * DISTRICT;
        let block = first + skip(&self.blocks[first..], best, &mut n)?;
        let first = block * BLOCK;
        let mut tied = (first..)
            .zip(&rows[first..])
            .filter(|(_, row)| row.total(bonus) == best);
        tied.nth(n).map(|(at, _)| at)
    }
}

/// How many nodes of these blocks have the best total.
fn count_ties<'a>(
    blocks: impl Iterator<Item = (&'a mut Best, &'a [Row])>,
    bonus: &[i32],
    best: i32,
) -> u32 {
    let mut ties = 0;
    for (block, rows) in blocks.filter(|(block, _)| block.total == best) {
        if block.ties == 0 {
            let tied = rows.iter().filter(|row| row.total(bonus) == best);
            block.ties = tied.count() as u32;
        }
        ties += block.ties;
    }
    ties
}

/// Where among these the nth of the best nodes is; from there, `n` is counted on.
fn skip(parts: &[Best], best: i32, n: &mut usize) -> Option<usize> {
    parts.iter().position(|part| {
        let ties = match part.total == best {
            true => part.ties as usize,
            false => 0,
        };
        let is_here = *n < ties;
        *n -= if is_here { 0 } else { ties };
        is_here
    })
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
        for size in [1, 255, 256, 257, 16_384, 16_385, 50_000] {
            let mut bonus = vec![0, 5, NEVER];
            let row = |rng: &mut Rng| Row {
                score: rng.below(3) as i32,
                group: rng.below(3) as u32,
            };
            let mut rows: Vec<Row> = (0..size).map(|_| row(&mut rng)).collect();
            let mut blocks = Blocks::default();
            for step in 0..60 {
                match rng.below(12) {
                    0 => {
                        bonus[rng.below(2)] = rng.below(4) as i32;
                        blocks.touch_all();
                    }
                    1 if rows.len() > 1 => {
                        rows.pop();
                        blocks.touch_all();
                    }
                    2 => rows.push(row(&mut rng)),
                    _ => {
                        let at = rng.below(rows.len());
                        rows[at] = row(&mut rng);
                        blocks.touch(at);
                    }
                }
                if rng.below(3) == 0 {
                    continue;
                }
                // A row that was pushed is touched before it is asked for.
                blocks.touch(rows.len() - 1);
                let expected = best_of_all(&rows, &bonus);
                let found = blocks.best(&rows, &bonus);
                let counted = expected.as_ref().map(|(best, at)| (*best, at.len()));
                assert_eq!(found, counted, "{size} rows, step {step}");
                let Some((best, positions)) = expected else {
                    continue;
                };
                for n in [0, positions.len() / 2, positions.len() - 1] {
                    let at = blocks.nth(&rows, &bonus, best, n);
                    assert_eq!(at, Some(positions[n]), "{size} rows, step {step}");
                }
                assert_eq!(blocks.nth(&rows, &bonus, best, positions.len()), None);
            }
        }
    }
}
