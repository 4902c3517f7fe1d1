//! A record of an attempt as it is told.

use serde_json::{Map, Value, json};
use stowplan_report::{Masks, Readable};

/// How large a record may be when it is told, in bytes.
pub(super) const BYTES_MAX: usize = 4096;

/// What is told of an attempt.
pub(crate) struct Decision {
    pub(super) head: Value,
    /// Where the pod goes.
    pub(super) node: Option<String>,
    /// Why nodes will not do, each reason with the number of nodes.
    pub(super) reasons: Vec<Value>,
    pub(super) best: Vec<Best>,
}

/// One of the best nodes, and what it was given.
pub(super) struct Best {
    pub(super) node: String,
    pub(super) scores: Map<String, Value>,
}

impl Decision {
    /// Takes out what the reader may not know: the names of other nodes than the pod's.
    pub(crate) fn redact(&mut self, readable: &Readable) {
        if readable.nodes {
            return;
        }
        // Errors name things.
        if self.head["outcome"] == "Error" {
            self.head["message"] = stowplan_report::HIDDEN_ERROR.into();
        }
        let mut masks = Masks::new(self.node.as_deref());
        self.best.iter_mut().for_each(|b| masks.mask(&mut b.node));
    }

    /// At most [`BYTES_MAX`] bytes of JSON. What is too long is left out from its end: the last of the
    /// reasons, then the worst of the best nodes.
    pub(crate) fn to_json(&self) -> Value {
        let mut told = self.head.clone();
        if let Some(node) = &self.node {
            told["node"] = node.as_str().into();
        }
        let best = self.best.iter().map(|best| {
            let mut entry = json!({"node": best.node});
            for (name, value) in &best.scores {
                entry[name] = value.clone();
            }
            entry
        });
        let lists = [("reasons", self.reasons.clone()), ("best", best.collect())];
        for (name, entries) in lists {
            told[name] = json!([]);
            let mut room = BYTES_MAX.saturating_sub(told.to_string().len());
            let fits = |entry: &Value| {
                // A comma goes with each.
                let left = room.checked_sub(entry.to_string().len() + 1);
                room = left.unwrap_or(0);
                left.is_some()
            };
            told[name] = Value::from_iter(entries.into_iter().take_while(fits));
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_nodes_are_named_to_those_who_may_list_nodes() {
        let best = |node: &str, total: i64| {
            let scores = json!({"total": total}).as_object().cloned();
            Best {
                node: node.to_owned(),
                scores: scores.unwrap_or_default(),
            }
        };
        let decision = || Decision {
            head: json!({"outcome": "Bound"}),
            node: Some("own".to_owned()),
            reasons: vec![json!({"count": 3, "reason": "full"})],
            best: vec![best("secret", 9), best("own", 8)],
        };
        let told = |readable: &Readable| {
            let mut decision = decision();
            decision.redact(readable);
            decision.to_json()
        };
        let hidden = told(&Readable::default());
        let expected = json!({
            "outcome": "Bound", "node": "own", "reasons": [{"count": 3, "reason": "full"}],
            "best": [{"node": "node-1", "total": 9}, {"node": "own", "total": 8}],
        });
        assert_eq!(hidden, expected);
        let open = Readable {
            nodes: true,
            ..Readable::default()
        };
        assert_eq!(told(&open)["best"][0]["node"], "secret");
    }
}
