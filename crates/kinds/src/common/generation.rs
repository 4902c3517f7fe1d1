//! `metadata.generation`: how often what is wanted has changed.

use serde_json::Value;
use stowplan_apimachinery::{Edit, View};

/// Starts counting.
pub fn start(object: &mut Value) {
    object.at_mut("metadata").set("generation", 1);
}

/// Counts one more than before if something changed. An update comes in with the old number.
pub fn raise_if(new: &mut Value, old: &Value, changed: bool) {
    if changed {
        let before = old.at("metadata").int("generation").unwrap_or_default();
        new.at_mut("metadata").set("generation", before + 1);
    }
}

/// Whether an update counted.
pub fn raised(new: &Value, old: &Value) -> bool {
    new.at("metadata").int("generation") != old.at("metadata").int("generation")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn counts_changes() {
        let mut old = json!({});
        start(&mut old);
        let mut new = old.clone();
        raise_if(&mut new, &old, false);
        assert!(!raised(&new, &old));
        raise_if(&mut new, &old, true);
        assert_eq!(new["metadata"]["generation"], 2);
    }
}
