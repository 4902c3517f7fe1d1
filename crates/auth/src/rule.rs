//! One rule of a role: which verbs on what.
//!
//! Upstream: `pkg/apis/rbac/v1/evaluation_helpers.go` and
//! `k8s.io/component-helpers/auth/rbac/validation/policy_comparator.go`.

use crate::policy::PackedRule;
use crate::{Attributes, Target};
use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::go::quote;

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

/// Whether a rule of a role allows a request. Nothing is copied: this is asked of all rules of a user
/// whenever they ask for anything.
pub(crate) fn allows(rule: PackedRule<'_>, request: &Attributes<'_>) -> bool {
    if !rule.verbs().has("*") && !rule.verbs().has(request.verb) {
        return false;
    }
    match request.target {
        Target::Path(path) => {
            let mut urls = rule.non_resource_urls();
            urls.any(|url| url == "*" || url_matches(url, path))
        }
        Target::Resource {
            group,
            resource,
            subresource,
            name,
            ..
        } => {
            let (groups, of) = (rule.api_groups(), rule.resource_names());
            (groups.has("*") || groups.has(group))
                && (rule.resources()).any(|named| names(named, resource, subresource))
                && (of.is_empty() || of.has(name))
        }
    }
}

/// Whether an element of `resources` stands for a resource.
fn names(rule: &str, resource: &str, subresource: &str) -> bool {
    if rule == "*" {
        return true;
    }
    match (rule.split_once('/'), subresource) {
        (None, "") => rule == resource,
        (Some((r, s)), sub) if !sub.is_empty() => (r == resource || r == "*") && s == sub,
        _ => false,
    }
}

/// Whether a URL of a rule stands for a URL.
pub(crate) fn url_matches(pattern: &str, url: &str) -> bool {
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
    use crate::policy::Rules;
    use serde_json::json;

    fn allows(rule: Value, verb: &str, resource: &str, subresource: &str, name: &str) -> bool {
        let user = User::new("u", &[]);
        let rules = Rules::pack(&[rule]);
        super::allows(
            rules.iter().next().expect("one"),
            &Attributes {
                user: &user,
                verb,
                target: Target::Resource {
                    group: "",
                    resource,
                    subresource,
                    namespace: "n",
                    name,
                },
            },
        )
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
}
