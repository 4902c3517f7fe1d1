//! How many more volumes nodes can hold.

use std::collections::BTreeMap;
use stowplan_base::Sym;

/// How many more volumes of each driver the nodes can hold, by position.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    nodes: usize,
    /// One column per driver that has a limit on some node, or had.
    by_driver: BTreeMap<Sym, Vec<i32>>,
}

/// No limit.
const ENDLESS: i32 = i32::MAX;

impl Room {
    /// A node appeared at the end of the list.
    pub(super) fn push(&mut self) {
        self.nodes += 1;
        for column in self.by_driver.values_mut() {
            column.push(ENDLESS);
        }
    }

    /// A node went; the last one took its place.
    pub(super) fn swap_remove(&mut self, at: usize) {
        self.nodes -= 1;
        for column in self.by_driver.values_mut() {
            column.swap_remove(at);
        }
    }

    /// A node has no limits.
    pub(super) fn clear(&mut self, at: usize) {
        for column in self.by_driver.values_mut() {
            column[at] = ENDLESS;
        }
    }

    /// A node can hold so many more volumes of a driver.
    pub(super) fn set(&mut self, driver: Sym, at: usize, room: i64) {
        let nodes = self.nodes;
        let column = self.by_driver.entry(driver);
        let column = column.or_insert_with(|| vec![ENDLESS; nodes]);
        column[at] = i32::try_from(room).unwrap_or(if room < 0 { i32::MIN } else { ENDLESS });
    }

    /// The positions of nodes with room for fewer volumes than that.
    pub(super) fn less(&self, driver: Sym, wanted: i64) -> impl Iterator<Item = u32> {
        let column = self.by_driver.get(&driver).map_or(&[][..], Vec::as_slice);
        let less = move |room: i32| room < ENDLESS && i64::from(room) < wanted;
        (0..)
            .zip(column)
            .filter(move |(_, room)| less(**room))
            .map(|(at, _)| at)
    }
}
