//! The containers of a pod in one list: init containers, then the others, then ephemeral ones.

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};

/// What kind of container it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Runs to its end before the next one starts.
    Init,
    /// An init container that stays: `restartPolicy: Always`.
    Sidecar,
    /// What the pod is for.
    Main,
    /// Somebody looks into the pod.
    Ephemeral,
}

/// A container as the pod wants it.
#[derive(Clone, Copy)]
pub(crate) struct Spec<'p> {
    pub(crate) name: &'p str,
    pub(crate) image: &'p str,
    pub(crate) role: Role,
    /// All else; ephemeral containers have none of it that matters.
    pub(crate) container: Option<&'p Container>,
}

/// All containers of a pod.
pub(crate) fn specs(pod: &Pod) -> Vec<Spec<'_>> {
    let Some(spec) = &pod.spec else {
        return Vec::new();
    };
    let init = spec.init_containers.iter().flatten().map(|container| {
        let role = match container.restart_policy.as_deref() {
            Some("Always") => Role::Sidecar,
            _ => Role::Init,
        };
        (container, role)
    });
    let main = spec.containers.iter().map(|one| (one, Role::Main));
    let ephemeral = spec.ephemeral_containers.iter().flatten();
    let ordinary = init.chain(main).map(|(container, role)| Spec {
        name: &container.name,
        image: container.image.as_deref().unwrap_or_default(),
        role,
        container: Some(container),
    });
    let ephemeral = ephemeral.map(|container| Spec {
        name: &container.name,
        image: container.image.as_deref().unwrap_or_default(),
        role: Role::Ephemeral,
        container: None,
    });
    ordinary.chain(ephemeral).collect()
}

/// The part of a pod that says what is wanted; an empty one if there is none.
pub(crate) fn pod_spec(pod: &Pod) -> &PodSpec {
    static EMPTY: std::sync::LazyLock<PodSpec> = std::sync::LazyLock::new(PodSpec::default);
    pod.spec.as_ref().unwrap_or(&EMPTY)
}

/// Whether a container that exited with this code is started again. Upstream's `ContainerShouldRestart`.
pub(crate) fn should_restart(pod: &PodSpec, spec: &Spec<'_>, code: i32) -> bool {
    if spec.role == Role::Ephemeral {
        return false;
    }
    let by_policy = |policy: Option<&str>| match policy {
        Some("OnFailure") => Some(code != 0),
        Some("Never") => Some(false),
        Some("Always") => Some(true),
        _ => None,
    };
    let own = spec.container.and_then(|container| {
        let policy = container.restart_policy.as_deref()?;
        match restart_rule(container, code) {
            Some("Restart" | "RestartAllContainers") => Some(true),
            _ => by_policy(Some(policy)),
        }
    });
    // An init container that is done stays so, whatever the pod's policy is.
    let done = spec.role == Role::Init && code == 0;
    own.or_else(|| by_policy(pod.restart_policy.as_deref()))
        .unwrap_or(true)
        && !done
}

/// Whether the exit of the container restarts all others as well.
pub(crate) fn restarts_all(spec: &Spec<'_>, code: i32) -> bool {
    let container = spec.container.filter(|one| one.restart_policy.is_some());
    container.and_then(|one| restart_rule(one, code)) == Some("RestartAllContainers")
}

/// Whether any container may restart all others. Upstream's `AllContainersCouldRestart`.
pub(crate) fn could_restart_all(pod: &PodSpec) -> bool {
    let all = pod.init_containers.iter().flatten().chain(&pod.containers);
    let mut rules = all.flat_map(|container| container.restart_policy_rules.iter().flatten());
    rules.any(|rule| rule.action == "RestartAllContainers")
}

/// What the first rule for this exit code says.
fn restart_rule(container: &Container, code: i32) -> Option<&str> {
    let mut rules = container.restart_policy_rules.iter().flatten();
    let rule = rules.find(|rule| {
        rule.exit_codes.as_ref().is_some_and(|codes| {
            let has = codes.values.iter().flatten().any(|value| *value == code);
            match codes.operator.as_str() {
                "In" => has,
                "NotIn" => !has,
                _ => false,
            }
        })
    });
    rule.map(|rule| rule.action.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Upstream's `TestContainerShouldRestart`.
    #[test]
    fn restart_follows_rules_then_the_containers_policy_then_the_pods() {
        let rule = |action: &str, operator: &str| json!([{"action": action, "exitCodes": {"operator": operator, "values": [42]}}]);
        let never = || json!({"restartPolicy": "Never"});
        let with =
            |policy: &str, rules| json!({"restartPolicy": policy, "restartPolicyRules": rules});
        let rows = [
            ("Always", json!({}), 0, true),
            ("OnFailure", json!({}), 0, false),
            ("OnFailure", json!({}), 1, true),
            ("Never", json!({}), 1, false),
            ("Always", never(), 1, false),
            ("Never", json!({"restartPolicy": "OnFailure"}), 1, true),
            ("Never", json!({"restartPolicy": "OnFailure"}), 0, false),
            ("Never", with("Never", rule("Restart", "In")), 42, true),
            ("Never", with("Never", rule("Restart", "In")), 1, false),
            ("Never", with("Never", rule("Restart", "NotIn")), 1, true),
            ("Always", with("Never", rule("Restart", "NotIn")), 42, false),
            (
                "Never",
                with("Never", rule("RestartAllContainers", "In")),
                42,
                true,
            ),
        ];
        for (policy, mut container, code, expected) in rows {
            container["name"] = json!("c");
            let said = format!("{policy} {container} {code}");
            let pod = json!({"spec": {"restartPolicy": policy, "containers": [container]}});
            let pod: Pod = serde_json::from_value(pod).unwrap();
            let specs = specs(&pod);
            assert_eq!(
                should_restart(pod_spec(&pod), &specs[0], code),
                expected,
                "{said}"
            );
        }
    }

    #[test]
    fn containers_come_in_the_order_in_which_they_start() {
        let pod = json!({"spec": {
            "initContainers": [{"name": "a"}, {"name": "b", "restartPolicy": "Always"}],
            "containers": [{"name": "c"}],
            "ephemeralContainers": [{"name": "d"}],
        }});
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let all: Vec<_> = specs(&pod)
            .iter()
            .map(|spec| (spec.name, spec.role))
            .collect();
        let expected = [
            ("a", Role::Init),
            ("b", Role::Sidecar),
            ("c", Role::Main),
            ("d", Role::Ephemeral),
        ];
        assert_eq!(all, expected);
    }
}
