//! Owners that are known not to exist.

use super::Identity;
use std::collections::BTreeMap;

/// How many are remembered.
const MAX: usize = 500;

/// Owners that are known not to exist, so that the server is not asked about each of their dependents. The
/// ones that were asked for longest ago are forgotten. Upstream's `ReferenceCache`.
#[derive(Default, Debug)]
pub struct AbsentOwners {
    used_at: BTreeMap<Identity, u64>,
    by_use: BTreeMap<u64, Identity>,
    clock: u64,
}

impl AbsentOwners {
    /// This one does not exist.
    pub fn add(&mut self, identity: Identity) {
        self.clock += 1;
        if let Some(before) = self.used_at.insert(identity.clone(), self.clock) {
            self.by_use.remove(&before);
        }
        self.by_use.insert(self.clock, identity);
        if self.by_use.len() > MAX
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.used_at.remove(&oldest);
        }
    }

    /// Whether this one is known not to exist.
    pub fn has(&mut self, identity: &Identity) -> bool {
        let known = self.used_at.contains_key(identity);
        if known {
            self.add(identity.clone());
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::super::Gvk;
    use super::*;
    use std::sync::Arc;

    #[test]
    fn the_one_that_was_used_longest_ago_is_forgotten() {
        let gvk = Arc::new(Gvk::new("v1", "Pod"));
        let identity = |number: usize| Identity {
            gvk: gvk.clone(),
            namespace: "n".into(),
            name: "p".into(),
            uid: number.to_string().into(),
        };
        let mut absent = AbsentOwners::default();
        for number in 0..MAX {
            absent.add(identity(number));
        }
        assert!(absent.has(&identity(0)));
        absent.add(identity(MAX));
        assert!(absent.has(&identity(0)) && !absent.has(&identity(1)));
        assert_eq!(absent.used_at.len(), absent.by_use.len());
        assert_eq!(absent.used_at.len(), MAX);
    }
}
