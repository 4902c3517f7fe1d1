//! Which objects belong to a controller. Upstream's `ControllerRefManager`.

use super::{Selector, controller_of, controller_ref, is_deleting, labels, uid};
use crate::Write;
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
