//! How many pods there are of which priority.

/// The priorities of pods, ascending, each with the number of pods that have it.
#[derive(Clone, Debug, Default)]
pub(super) struct Priorities(Vec<(i32, usize)>);

impl Priorities {
    /// The least of them.
    pub(super) fn least(&self) -> Option<i32> {
        self.0.first().map(|(priority, _)| *priority)
    }

    /// A pod came.
    pub(super) fn add(&mut self, priority: i32) {
        match self.find(priority) {
            Ok(at) => self.0[at].1 += 1,
            Err(at) => self.0.insert(at, (priority, 1)),
        }
    }

    /// A pod went.
    pub(super) fn remove(&mut self, priority: i32) {
        if let Ok(at) = self.find(priority) {
            self.0[at].1 -= 1;
            if self.0[at].1 == 0 {
                self.0.remove(at);
            }
        }
    }

    fn find(&self, priority: i32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&priority, |(known, _)| *known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_is_known_while_pods_come_and_go() {
        let mut priorities = Priorities::default();
        assert_eq!(priorities.least(), None);
        for priority in [7, -3, 7, 0, -3] {
            priorities.add(priority);
        }
        assert_eq!(priorities.least(), Some(-3));
        priorities.remove(-3);
        assert_eq!(priorities.least(), Some(-3));
        priorities.remove(-3);
        assert_eq!(priorities.least(), Some(0));
        for priority in [7, 7, 0] {
            priorities.remove(priority);
        }
        assert_eq!(priorities.least(), None);
    }
}
