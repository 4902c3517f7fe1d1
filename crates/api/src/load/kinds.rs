//! Which kinds are read, which are passed over, and which are mistakes.

use super::Kind;
use super::error::Problem;

/// What to do with a document of some `apiVersion` and `kind`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Sort {
    /// An object that scheduling reads.
    Object(Kind),
    /// A list of objects; those without a kind of their own are of this one.
    List(Option<Kind>),
    /// An object that scheduling does not read.
    PassOver,
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
            "LimitRange",
            "PodTemplate",
            "ResourceQuota",
            "Secret",
            "ServiceAccount",
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
    ("node.k8s.io", &["RuntimeClass"]),
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
pub(super) fn sort(api_version: &str, kind: &str) -> Result<Sort, Problem> {
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    if let Some(known) = find(kind) {
        if api_version == known.api_version() {
            return Ok(Sort::Object(known));
        }
        if group == group_of(known) {
            return Err(Problem::at(
                "apiVersion",
                format!(
                    "unsupported {api_version:?} for kind {kind}, expected {:?}",
                    known.api_version()
                ),
            ));
        }
    }
    if kind == "List" && api_version == "v1" {
        return Ok(Sort::List(None));
    }
    let listed = kind.strip_suffix("List");
    if let Some(known) = listed.and_then(find)
        && api_version == known.api_version()
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
        Some(near) if near.as_str() == kind => {
            format!(", expected apiVersion {:?} for it", near.api_version())
        }
        Some(near) => format!(
            ", did you mean {near} ({version})?",
            near = near.as_str(),
            version = near.api_version()
        ),
        None => String::new(),
    };
    Problem::at(
        "kind",
        format!("unknown kind {kind:?} in apiVersion {api_version:?}{expected}"),
    )
}

fn find(kind: &str) -> Option<Kind> {
    Kind::ALL
        .iter()
        .copied()
        .find(|known| known.as_str() == kind)
}

fn group_of(kind: Kind) -> &'static str {
    kind.api_version()
        .rsplit_once('/')
        .map_or("", |(group, _)| group)
}

/// The kind whose name differs least, if it differs little.
fn nearest(kind: &str) -> Option<Kind> {
    /// No kind has a name that is nearly as long.
    const LENGTH_MAX: usize = 64;
    if kind.len() > LENGTH_MAX {
        return None;
    }
    let wanted = kind.to_ascii_lowercase();
    Kind::ALL
        .iter()
        .map(|known| {
            (
                strsim::levenshtein(&wanted, &known.as_str().to_ascii_lowercase()),
                *known,
            )
        })
        .filter(|(distance, known)| *distance <= known.as_str().len() / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_passed_over_or_refused() {
        assert_eq!(sort("v1", "Pod"), Ok(Sort::Object(Kind::Pod)));
        assert_eq!(sort("v1", "List"), Ok(Sort::List(None)));
        assert_eq!(sort("v1", "PodList"), Ok(Sort::List(Some(Kind::Pod))));
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
