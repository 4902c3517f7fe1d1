//! Which objects belong to a controller. Upstream's `ControllerRefManager`.

use super::{Selector, controller_of, controller_ref, is_deleting, labels, uid};
use crate::{Outcome, Plan, Write};
use serde_json::json;
use std::sync::Arc;
use stowplan_cache::{Key, Object};

/// What a controller has, and what has to be written so that it has what it should.
pub struct Claimed<K> {
    /// Those that it controls and selects.
    pub owned: Vec<Arc<K>>,
    /// Adoptions of those that nobody controls, releases of those that it does not select any more. When
    /// there are any, carry them out first and look again.
    pub writes: Vec<Write>,
}

impl<K> Claimed<K> {
    /// What is to be done before all else, if anything: what is adopted or released brings the owner back.
    pub fn take_plan<O: Object>(&mut self, owner: &O) -> Option<Plan> {
        let writes = std::mem::take(&mut self.writes);
        if writes.is_empty() {
            return None;
        }
        let check = Plan::write(is_as_seen(owner));
        Some(
            check.then(|_, outcomes| match outcomes.iter().all(Outcome::is_done) {
                true => Plan::parallel(writes),
                false => Plan::nothing(),
            }),
        )
    }
}

/// Sorts candidates into those that the owner controls, those that it should adopt and those that it should
/// release. `is_wanted` says of one that nobody controls whether it may be adopted.
pub fn claim<O: Object, K: Object>(
    owner: &O,
    selector: &Selector,
    candidates: impl IntoIterator<Item = Arc<K>>,
    is_wanted: impl Fn(&K) -> bool,
) -> Claimed<K> {
    let mut claimed = Claimed {
        owned: Vec::new(),
        writes: Vec::new(),
    };
    for object in candidates {
        let matches = selector.matches(labels(&*object));
        match controller_of(&*object) {
            Some(controller) if controller.uid != uid(owner) => {}
            Some(_) if matches => claimed.owned.push(object),
            Some(_) if !is_deleting(owner) => claimed.writes.push(release(owner, &*object)),
            Some(_) => {}
            None => {
                let may_adopt = !is_deleting(owner) && !is_deleting(&*object);
                if matches && may_adopt && is_wanted(&object) {
                    claimed.writes.push(adopt(owner, &*object));
                }
            }
        }
    }
    claimed
}

/// Fails unless the owner is still as it was seen. To be carried out before adoptions: who is adopted by an
/// owner that is gone is collected as garbage. Upstream's `RecheckDeletionTimestamp`.
pub fn is_as_seen<O: Object>(owner: &O) -> Write {
    let patch = json!({"metadata": {
        "uid": uid(owner),
        "resourceVersion": owner.metadata().resource_version.as_deref(),
    }});
    Write::merge::<O>(&Key::of(owner), "", &patch)
}

fn adopt<O: Object, K: Object>(owner: &O, object: &K) -> Write {
    let patch = json!({"metadata": {
        "ownerReferences": [controller_ref(owner)],
        "uid": uid(object),
    }});
    Write::strategic_merge::<K>(&Key::of(object), "", &patch).tolerating(&[404])
}

/// That the object is gone, or that somebody else released it, is as good.
fn release<O: Object, K: Object>(owner: &O, object: &K) -> Write {
    let patch = json!({"metadata": {
        "ownerReferences": [{"$patch": "delete", "uid": uid(owner)}],
        "uid": uid(object),
    }});
    Write::strategic_merge::<K>(&Key::of(object), "", &patch).tolerating(&[404, 422])
}
