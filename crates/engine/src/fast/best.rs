//! The best of many nodes, block by block.

use super::groups::NEVER;

/// How many nodes make a block.
const BLOCK: usize = 256;

/// The best total of every block of nodes, and how many have it; brought up to date where
/// something changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    /// All blocks are out of date.
    stale: bool,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    best: i32,
    /// How many nodes have it; 0 if that was not counted.
    ties: u32,
    stale: bool,
}

const UNKNOWN: Block = Block {
    best: i32::MIN,
    ties: 0,
    stale: true,
};

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
        }
    }

    /// What groups add changed, or all nodes did.
    pub(super) fn touch_all(&mut self) {
        self.stale = true;
    }

    /// The best total, and how many nodes have it; `None` if none is feasible.
    pub(super) fn best(&mut self, rows: &[Row], bonus: &[i32]) -> Option<(i32, usize)> {
        let needed = rows.len().div_ceil(BLOCK);
        if self.stale || self.blocks.len() != needed {
            self.blocks.clear();
            self.blocks.resize(needed, UNKNOWN);
            self.stale = false;
        }
        let mut best = i32::MIN;
        for (block, rows) in self.blocks.iter_mut().zip(rows.chunks(BLOCK)) {
            if block.stale {
                *block = Block {
                    best: best_of(rows, bonus),
                    ties: 0,
                    stale: false,
                };
            }
            best = best.max(block.best);
        }
        if best < NEVER / 2 {
            return None;
        }
        let mut ties = 0;
        for (block, rows) in self.blocks.iter_mut().zip(rows.chunks(BLOCK)) {
            if block.best == best {
                if block.ties == 0 {
                    let tied = rows.iter().filter(|row| row.total(bonus) == best);
                    block.ties = tied.count() as u32;
                }
                ties += block.ties as usize;
            }
        }
        Some((best, ties))
    }

    /// The position of the nth of the best nodes.
    pub(super) fn nth(
        &self,
        rows: &[Row],
        bonus: &[i32],
        best: i32,
        mut n: usize,
    ) -> Option<usize> {
        for (i, (block, rows)) in self.blocks.iter().zip(rows.chunks(BLOCK)).enumerate() {
            if block.best != best {
                continue;
            }
            if n >= block.ties as usize {
                n -= block.ties as usize;
                continue;
            }
            let mut tied = (0..).zip(rows).filter(|(_, row)| row.total(bonus) == best);
            return tied.nth(n).map(|(at, _): (usize, _)| i * BLOCK + at);
        }
        None
    }
}

fn best_of(rows: &[Row], bonus: &[i32]) -> i32 {
    let totals = rows.iter().map(|row| row.total(bonus));
    totals.max().unwrap_or(i32::MIN)
}
