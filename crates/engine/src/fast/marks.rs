//! Nodes that a class has to look at again.

use crate::cast::narrow;

/// Which nodes changed, and how.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    /// Their positions.
    dirty: Vec<u32>,
    /// One byte per node: what changed of it.
    marks: Vec<Mark>,
}

/// What changed of a node; the greater includes the lesser.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum Mark {
    #[default]
    Nothing,
    /// Pods on it that no domain counts.
    Pods,
    /// Anything.
    All,
}

impl Marks {
    #[inline]
    pub(super) fn set(&mut self, at: u32, mark: Mark) {
        if self.marks.len() <= at as usize {
            self.marks.resize(at as usize + 1, Mark::Nothing);
        }
        let before = &mut self.marks[at as usize];
        if *before == Mark::Nothing {
            self.dirty.push(at);
        }
        *before = mark.max(*before);
    }

    /// Puts many marks in order: nodes lie in memory in the order of their positions.
    pub(super) fn sort(&mut self) {
        if self.dirty.len() * 16 > self.marks.len() {
            // Of many, all are looked through in less time than they are sorted.
            self.dirty.clear();
            let marks = self.marks.iter().enumerate().rev();
            let marked = marks.filter(|(_, mark)| **mark != Mark::Nothing);
            self.dirty.extend(marked.map(|(at, _)| narrow(at)));
        } else if self.dirty.len() > 64 {
            self.dirty.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    pub(super) fn forget(&mut self) {
        while self.take().is_some() {}
    }

    #[inline]
    pub(super) fn take(&mut self) -> Option<(u32, Mark)> {
        let at = self.dirty.pop()?;
        Some((at, std::mem::take(&mut self.marks[at as usize])))
    }
}
