//! Which kinds are read, which are passed over, and which are mistakes.

use crate::error::Problem;
use stowplan_api::load::Kind;
use stowplan_registry::Resource;

/// What to do with a document of some `apiVersion` and `kind`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sort {
    /// An object that scheduling or admission reads.
    Object(Known),
    /// A list of objects; those without a kind of their own are of this one.
    List(Option<Known>),
    /// An object that scheduling does not read.
    PassOver,
}

/// A kind that is read, under the one `apiVersion` in which it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Known {
    pub(crate) kind: &'static str,
    pub(crate) api_version: &'static str,
}

impl Known {
    /// The resource of such objects.
    pub(crate) fn resource(self) -> Resource {
        Resource::by_kind(self.api_version, self.kind).expect("what is read is built in")
    }

    fn group(self) -> &'static str {
        let group = self.api_version.rsplit_once('/');
        group.map_or("", |(group, _)| group)
    }
}

/// What only admission reads.
const ADMISSION: [Known; 3] = [
    Known {
        kind: "LimitRange",
        api_version: "v1",
    },
    Known {
        kind: "RuntimeClass",
        api_version: "node.k8s.io/v1",
    },
    Known {
        kind: "ServiceAccount",
        api_version: "v1",
    },
];

fn known() -> impl Iterator<Item = Known> {
    let scheduling = Kind::ALL.iter().map(|kind| Known {
        kind: kind.as_str(),
        api_version: kind.api_version(),
    });
    scheduling.chain(ADMISSION)
}

/// Groups of Kubernetes itself, with those of their kinds that scheduling does not read. Objects of
/// other groups are custom resources.
const PASSED_OVER: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "Binding",
            "ComponentStatus",
            "ConfigMap",
            "Endpoints",
            "Event",
            "PodTemplate",
            "ResourceQuota",
            "Secret",
        ],
    ),
    ("apps", &["ControllerRevision"]),
    ("autoscaling", &["HorizontalPodAutoscaler"]),
    ("batch", &["CronJob"]),
    ("coordination.k8s.io", &["Lease", "LeaseCandidate"]),
    ("discovery.k8s.io", &["EndpointSlice"]),
    ("events.k8s.io", &["Event"]),
    (
        "networking.k8s.io",
        &[
            "Ingress",
            "IngressClass",
            "IPAddress",
            "NetworkPolicy",
            "ServiceCIDR",
        ],
    ),
    ("node.k8s.io", &[]),
    ("policy", &["Eviction"]),
    (
        "rbac.authorization.k8s.io",
        &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
    ),
    (
        "resource.k8s.io",
        &[
            "DeviceTaintRule",
            "ResourceClaimTemplate",
            "ResourcePoolStatusRequest",
        ],
    ),
    ("scheduling.k8s.io", &["PodGroup", "Workload"]),
    ("storage.k8s.io", &["VolumeAttributesClass"]),
];

/// Sorts a document by its `apiVersion` and `kind`.
pub(crate) fn sort(api_version: &str, kind: &str) -> Result<Sort, Problem> {
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    if let Some(known) = find(kind) {
        if api_version == known.api_version {
            return Ok(Sort::Object(known));
        }
        if group == known.group() {
            return Err(Problem::at(
                "apiVersion",
                format!(
                    "unsupported {api_version:?} for kind {kind}, expected {:?}",
                    known.api_version
                ),
            ));
        }
    }
    if kind == "List" && api_version == "v1" {
        return Ok(Sort::List(None));
    }
    let listed = kind.strip_suffix("List");
    if let Some(known) = listed.and_then(find)
        && api_version == known.api_version
    {
        return Ok(Sort::List(Some(known)));
    }
    if group == "kubescheduler.config.k8s.io" {
        return Err(Problem::at(
            "kind",
            format!("{kind} is no cluster object, give it with --config"),
        ));
    }
    let Some((_, kinds)) = PASSED_OVER.iter().find(|(known, _)| *known == group) else {
        return custom(api_version, kind, group);
    };
    if kinds.contains(&kind) || listed.is_some_and(|kind| kinds.contains(&kind)) {
        return Ok(Sort::PassOver);
    }
    Err(unknown(api_version, kind))
}

/// A group that Kubernetes does not have: it must at least look like one.
fn custom(api_version: &str, kind: &str, group: &str) -> Result<Sort, Problem> {
    if group.contains('.') && !kind.is_empty() {
        return Ok(Sort::PassOver);
    }
    Err(unknown(api_version, kind))
}

fn unknown(api_version: &str, kind: &str) -> Problem {
    let expected = match nearest(kind) {
        Some(near) if near.kind == kind => {
            format!(", expected apiVersion {:?} for it", near.api_version)
        }
        Some(near) => format!(
            ", did you mean {near} ({version})?",
            near = near.kind,
            version = near.api_version
        ),
        None => String::new(),
    };
    Problem::at(
        "kind",
        format!("unknown kind {kind:?} in apiVersion {api_version:?}{expected}"),
    )
}

fn find(kind: &str) -> Option<Known> {
    known().find(|known| known.kind == kind)
}

/// The kind whose name differs least, if it differs little.
fn nearest(kind: &str) -> Option<Known> {
    /// No kind has a name that is nearly as long.
    const LENGTH_MAX: usize = 64;
    if kind.len() > LENGTH_MAX {
        return None;
    }
    let wanted = kind.to_ascii_lowercase();
    let distance = |known: &Known| strsim::levenshtein(&wanted, &known.kind.to_ascii_lowercase());
    known()
        .map(|known| (distance(&known), known))
        .filter(|(distance, known)| *distance <= known.kind.len() / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_passed_over_or_refused() {
        let pod = find("Pod").expect("is read");
        assert_eq!(sort("v1", "Pod"), Ok(Sort::Object(pod)));
        assert_eq!(sort("v1", "List"), Ok(Sort::List(None)));
        assert_eq!(sort("v1", "PodList"), Ok(Sort::List(Some(pod))));
        for known in known() {
            assert_eq!(known.resource().kind(), known.kind);
        }
        assert_eq!(sort("v1", "ConfigMap"), Ok(Sort::PassOver));
        assert_eq!(sort("v1", "SecretList"), Ok(Sort::PassOver));
        assert_eq!(
            sort("cert-manager.io/v1", "Certificate"),
            Ok(Sort::PassOver)
        );
        assert_eq!(
            sort("serving.knative.dev/v1", "Service"),
            Ok(Sort::PassOver)
        );
    }

    #[test]
    fn mistakes_are_named() {
        for (api_version, kind, expected) in [
            (
                "v1",
                "Podd",
                r#"kind: unknown kind "Podd" in apiVersion "v1", did you mean Pod (v1)?"#,
            ),
            (
                "v1",
                "pod",
                r#"kind: unknown kind "pod" in apiVersion "v1", did you mean Pod (v1)?"#,
            ),
            (
                "v1",
                "Deployment",
                r#"kind: unknown kind "Deployment" in apiVersion "v1", expected apiVersion "apps/v1" for it"#,
            ),
            (
                "v1",
                "Widget",
                r#"kind: unknown kind "Widget" in apiVersion "v1""#,
            ),
            (
                "app/v1",
                "Deploymnt",
                r#"kind: unknown kind "Deploymnt" in apiVersion "app/v1", did you mean Deployment (apps/v1)?"#,
            ),
            (
                "policy/v1beta1",
                "PodDisruptionBudget",
                r#"apiVersion: unsupported "policy/v1beta1" for kind PodDisruptionBudget, expected "policy/v1""#,
            ),
        ] {
            assert_eq!(sort(api_version, kind).unwrap_err().to_string(), expected);
        }
    }
}
