//! One rule of a role: which verbs on what.
//!
//! Upstream: `pkg/apis/rbac/v1/evaluation_helpers.go` and
//! `k8s.io/component-helpers/auth/rbac/validation/policy_comparator.go`.

use crate::{Attributes, Target};
use serde_json::Value;
use stowplan_machinery::View;
use stowplan_machinery::go::quote;

/// A rule, as in `rules` of a Role.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)] // the API's own names
pub struct Rule {
    pub api_groups: Vec<String>,
    pub resources: Vec<String>,
    pub resource_names: Vec<String>,
    pub non_resource_urls: Vec<String>,
    pub verbs: Vec<String>,
}

fn has(list: &[String], element: &str) -> bool {
    list.iter().any(|e| e == element)
}

fn covers_all(owner: &[String], wanted: &[String]) -> bool {
    has(owner, "*") || wanted.iter().all(|w| has(owner, w))
}

fn url_matches(pattern: &str, url: &str) -> bool {
    pattern == url || (pattern.ends_with('*') && url.starts_with(pattern.trim_end_matches('*')))
}

impl Rule {
    /// Reads a rule.
    pub fn read(rule: &Value) -> Self {
        let texts = |key| {
            let list = rule.list(key).iter();
            list.filter_map(|v| v.as_str().map(str::to_owned)).collect()
        };
        Self {
            api_groups: texts("apiGroups"),
            resources: texts("resources"),
            resource_names: texts("resourceNames"),
            non_resource_urls: texts("nonResourceURLs"),
            verbs: texts("verbs"),
        }
    }

    /// The rules of a Role or ClusterRole.
    pub fn of_role(role: &Value) -> Vec<Self> {
        role.list("rules").iter().map(Self::read).collect()
    }

    /// Whether it allows a request.
    pub fn allows(&self, request: &Attributes<'_>) -> bool {
        if !has(&self.verbs, "*") && !has(&self.verbs, request.verb) {
            return false;
        }
        match request.target {
            Target::Path(path) => {
                let matches = |url: &String| url == "*" || url_matches(url, path);
                self.non_resource_urls.iter().any(matches)
            }
            Target::Resource {
                group,
                resource,
                subresource,
                name,
                ..
            } => {
                (has(&self.api_groups, "*") || has(&self.api_groups, group))
                    && self.names_resource(resource, subresource)
                    && (self.resource_names.is_empty() || has(&self.resource_names, name))
            }
        }
    }

    fn names_resource(&self, resource: &str, subresource: &str) -> bool {
        let named = |rule: &String| {
            if rule == "*" {
                return true;
            }
            match (rule.split_once('/'), subresource) {
                (None, "") => rule == resource,
                (Some((r, s)), sub) if !sub.is_empty() => (r == resource || r == "*") && s == sub,
                _ => false,
            }
        };
        self.resources.iter().any(named)
    }

    /// Single permissions: one group, resource, verb and name each.
    pub(crate) fn break_down(&self) -> Vec<Self> {
        let one = |text: &String| vec![text.clone()];
        let mut out = Vec::new();
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    let whole = Self {
                        api_groups: one(group),
                        resources: one(resource),
                        verbs: one(verb),
                        ..Self::default()
                    };
                    if self.resource_names.is_empty() {
                        out.push(whole);
                        continue;
                    }
                    out.extend(self.resource_names.iter().map(|name| Self {
                        resource_names: one(name),
                        ..whole.clone()
                    }));
                }
            }
        }
        for url in &self.non_resource_urls {
            out.extend(self.verbs.iter().map(|verb| Self {
                non_resource_urls: one(url),
                verbs: one(verb),
                ..Self::default()
            }));
        }
        out
    }

    /// Whether who holds this rule holds that single permission.
    pub(crate) fn covers(&self, single: &Self) -> bool {
        let resources = |wanted: &String| {
            let any_of_sub = wanted.split_once('/').map(|(_, sub)| format!("*/{sub}"));
            has(&self.resources, wanted) || any_of_sub.is_some_and(|r| has(&self.resources, &r))
        };
        let urls = |wanted: &String| {
            let mut held = self.non_resource_urls.iter();
            held.any(|pattern| url_matches(pattern, wanted))
        };
        let names = self.resource_names.is_empty()
            || (!single.resource_names.is_empty()
                && single
                    .resource_names
                    .iter()
                    .all(|n| has(&self.resource_names, n)));
        covers_all(&self.verbs, &single.verbs)
            && covers_all(&self.api_groups, &single.api_groups)
            && (has(&self.resources, "*") || single.resources.iter().all(resources))
            && single.non_resource_urls.iter().all(urls)
            && names
    }

    /// The text of upstream's `CompactString`.
    pub(crate) fn compact(&self) -> String {
        let mut parts = Vec::new();
        let mut part = |name: &str, list: &[String]| {
            if !list.is_empty() {
                parts.push(format!("{name}:{}", quote_all(list)));
            }
        };
        part("APIGroups", &self.api_groups);
        part("Resources", &self.resources);
        part("NonResourceURLs", &self.non_resource_urls);
        part("ResourceNames", &self.resource_names);
        part("Verbs", &self.verbs);
        format!("{{{}}}", parts.join(", "))
    }
}

/// A list of texts as Go's `%q` prints it.
pub(crate) fn quote_all(list: &[String]) -> String {
    let quoted: Vec<String> = list.iter().map(|text| quote(text)).collect();
    format!("[{}]", quoted.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::User;
    use serde_json::json;

    fn allows(rule: Value, verb: &str, resource: &str, subresource: &str, name: &str) -> bool {
        let user = User::new("u", &[]);
        Rule::read(&rule).allows(&Attributes {
            user: &user,
            verb,
            target: Target::Resource {
                group: "",
                resource,
                subresource,
                namespace: "n",
                name,
            },
        })
    }

    #[test]
    fn rules_name_resources_subresources_and_names() {
        let pods = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
        assert!(allows(pods.clone(), "get", "pods", "", "x"));
        assert!(!allows(pods.clone(), "get", "pods", "log", "x"));
        assert!(!allows(pods, "list", "pods", "", ""));
        let any_status = json!({"apiGroups": ["*"], "resources": ["*/status"], "verbs": ["*"]});
        assert!(allows(any_status.clone(), "patch", "pods", "status", "x"));
        assert!(!allows(any_status, "patch", "pods", "", "x"));
        let named = json!({"apiGroups": [""], "resources": ["*"], "resourceNames": ["a"], "verbs": ["get"]});
        assert!(allows(named.clone(), "get", "pods", "log", "a"));
        assert!(!allows(named, "get", "pods", "", "b"));
    }

    #[test]
    fn coverage_is_checked_permission_by_permission() {
        let rule = |v: Value| Rule::read(&v);
        let owner =
            rule(json!({"apiGroups": [""], "resources": ["pods", "*/scale"], "verbs": ["*"]}));
        let wanted = rule(
            json!({"apiGroups": [""], "resources": ["pods", "x/scale"], "verbs": ["get", "list"]}),
        );
        assert_eq!(wanted.break_down().len(), 4);
        assert!(
            wanted
                .break_down()
                .iter()
                .all(|single| owner.covers(single))
        );
        let narrow = rule(
            json!({"apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"], "verbs": ["*"]}),
        );
        assert!(!narrow.covers(&wanted.break_down()[0]));
        let urls = rule(json!({"nonResourceURLs": ["/a/*"], "verbs": ["get"]}));
        assert!(urls.covers(&rule(
            json!({"nonResourceURLs": ["/a/b"], "verbs": ["get"]})
        )));
        assert!(!urls.covers(&rule(json!({"nonResourceURLs": ["/b"], "verbs": ["get"]}))));
    }
}
