//! ClusterRoles that collect the rules of others. Upstream: `pkg/controller/clusterroleaggregation`.

use crate::common::{Selector, labels, uid};
use crate::{Controller, Cx, Key, Plan, Watches, Write};
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};

/// An index of the roles that collect rules, under one value.
const INDEX: &str = "aggregates";
const YES: &str = "yes";

/// Gives ClusterRoles with an `aggregationRule` the rules of all roles that it selects.
#[derive(Default)]
pub struct Aggregation;

impl Controller for Aggregation {
    fn watch(&self, watches: &mut Watches) {
        watches.index::<ClusterRole>(INDEX, |role| {
            let aggregates = role.aggregation_rule.iter();
            aggregates.map(|_| YES.to_owned()).collect()
        });
        watches.on::<ClusterRole>(|cluster, delta, keys| {
            if delta
                .before()
                .is_some_and(|before| is_same(before, delta.object()))
            {
                return;
            }
            for role in cluster.of::<ClusterRole>().indexed(INDEX, YES) {
                keys.add_object(&*role);
            }
        });
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let Some(role) = cx.cluster.get::<ClusterRole>("", &key.name) else {
            return Plan::nothing();
        };
        let Some(aggregation) = &role.aggregation_rule else {
            return Plan::nothing();
        };
        let others = cx.cluster.all::<ClusterRole>();
        let mut rules: Vec<PolicyRule> = Vec::new();
        for selector in aggregation.cluster_role_selectors.iter().flatten() {
            let selector = Selector::new(Some(selector));
            for other in &others {
                if uid(&**other) == uid(&*role) || !selector.matches(labels(&**other)) {
                    continue;
                }
                for rule in other.rules.iter().flatten() {
                    if !rules.contains(rule) {
                        rules.push(rule.clone());
                    }
                }
            }
        }
        if role.rules.as_deref().unwrap_or_default() == rules {
            return Plan::nothing();
        }
        let mut role = ClusterRole::clone(&role);
        role.rules = Some(rules);
        Plan::write(Write::update(&role).tolerating(&[404]))
    }
}

/// Whether nothing changed that could matter.
fn is_same(before: &ClusterRole, now: &ClusterRole) -> bool {
    before.rules == now.rules
        && before.aggregation_rule == now.aggregation_rule
        && labels(before) == labels(now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;
    use serde_json::{Value, json};
    use std::time::Duration;

    fn rule(name: &str) -> Value {
        json!({"verbs": [name], "resources": [name], "apiGroups": [""]})
    }

    fn role(name: &str, label: &str, rules: &[&str]) -> Value {
        let rules: Vec<Value> = rules.iter().map(|name| rule(name)).collect();
        json!({"metadata": {"name": name, "labels": {"to": label}}, "rules": rules})
    }

    fn verbs(world: &World, name: &str) -> String {
        let role = world.get::<ClusterRole>("", name);
        let rules = role.rules.iter().flatten();
        rules
            .flat_map(|rule| rule.verbs.clone())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Upstream: `TestSyncClusterRole`.
    #[test]
    fn a_role_has_the_rules_of_those_that_it_selects() {
        let mut world = World::default();
        world.join(0, &Aggregation);
        let mut view = role("view", "edit", &["stale"]);
        view["aggregationRule"] =
            json!({"clusterRoleSelectors": [{"matchLabels": {"to": "view"}}]});
        let mut edit = role("edit", "admin", &[]);
        edit["aggregationRule"] = json!({"clusterRoleSelectors":
            [{"matchLabels": {"to": "edit"}}, {"matchLabels": {"to": "none"}}]});
        world.add_json::<ClusterRole>(view);
        world.add_json::<ClusterRole>(edit);
        world.add_json::<ClusterRole>(role("b", "view", &["x", "y"]));
        world.add_json::<ClusterRole>(role("a", "view", &["y", "z"]));
        world.add_json::<ClusterRole>(role("c", "edit", &["w"]));
        world.settle(&[&Aggregation], Duration::from_secs(1));
        assert_eq!(verbs(&world, "view"), "y z x");
        assert_eq!(verbs(&world, "edit"), "w y z x");
        world.take_writes();
        world.remove::<ClusterRole>("", "b");
        world.settle(&[&Aggregation], Duration::from_secs(1));
        assert_eq!(world.take_writes().len(), 2);
        assert_eq!(verbs(&world, "view"), "y z");
        assert_eq!(verbs(&world, "edit"), "w y z");
    }
}
