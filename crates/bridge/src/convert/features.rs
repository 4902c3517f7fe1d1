//! Node features that a pod needs. Upstream's `component-helpers/nodedeclaredfeatures`.

use super::Interner;
use stowplan_api::k8s::api::core::v1 as core;
use stowplan_base::Sym;

/// A feature and whether a pod cannot do without it.
type Inference = (&'static str, fn(&core::PodSpec) -> bool);

/// The features that bear on scheduling, by name. Upstream knows others that only matter to
/// updates of running pods; no pod requires them when it is scheduled.
const FEATURES: &[Inference] = &[
    ("RestartAllContainersOnContainerExits", restarts_all),
    (
        "UserNamespacesHostNetworkSupport",
        user_namespace_on_host_network,
    ),
];

/// The features that a node must declare to run the pod, by name.
pub fn required_features(interner: &mut Interner<'_>, pod: &core::Pod) -> Box<[Sym]> {
    let spec = pod.spec.as_ref();
    FEATURES
        .iter()
        .filter(|(_, infer)| spec.is_some_and(infer))
        .map(|(name, _)| interner.sym(name))
        .collect()
}

fn restarts_all(spec: &core::PodSpec) -> bool {
    spec.init_containers
        .iter()
        .flatten()
        .chain(&spec.containers)
        .flat_map(|container| container.restart_policy_rules.iter().flatten())
        .any(|rule| rule.action == "RestartAllContainers")
}

fn user_namespace_on_host_network(spec: &core::PodSpec) -> bool {
    spec.host_network == Some(true) && spec.host_users == Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_base::Names;
    use stowplan_engine::model::ResourceNames;

    fn check(spec: core::PodSpec, expected: &[&str]) {
        let mut names = Names::new();
        let mut resource_names = ResourceNames::default();
        let mut interner = Interner {
            names: &mut names,
            resource_names: &mut resource_names,
        };
        let pod = core::Pod {
            spec: Some(spec),
            ..Default::default()
        };
        let required = required_features(&mut interner, &pod);
        let texts: Vec<_> = required.iter().map(|name| names.text(*name)).collect();
        assert_eq!(texts, expected);
    }

    fn container(action: &str) -> core::Container {
        core::Container {
            restart_policy_rules: Some(vec![core::ContainerRestartRule {
                action: action.to_owned(),
                ..Default::default()
            }]),
            ..Default::default()
        }
    }

    /// Semantic 18 of the oracle.
    #[test]
    fn restarting_all_containers_needs_a_feature() {
        let feature = "RestartAllContainersOnContainerExits";
        let spec = |init: &str, main: &str| core::PodSpec {
            init_containers: Some(vec![container(init)]),
            containers: vec![container(main)],
            ..Default::default()
        };
        check(spec("Restart", "Restart"), &[]);
        check(spec("RestartAllContainers", "Restart"), &[feature]);
        check(spec("Restart", "RestartAllContainers"), &[feature]);
    }

    #[test]
    fn a_user_namespace_on_the_host_network_needs_a_feature() {
        let spec = |network, users| core::PodSpec {
            host_network: network,
            host_users: users,
            ..Default::default()
        };
        check(
            spec(Some(true), Some(false)),
            &["UserNamespacesHostNetworkSupport"],
        );
        check(spec(Some(true), None), &[]);
        check(spec(None, Some(false)), &[]);
    }
}
