//! All controllers, by upstream's names.

use crate::{Controller, Options};

/// Makes a controller.
pub type Make = Box<dyn Fn(&Options) -> Box<dyn Controller> + Send + Sync>;

/// A controller that can be chosen.
pub struct Descriptor {
    /// Upstream's name (`cmd/kube-controller-manager/names`).
    pub name: &'static str,
    /// Whether `*` chooses it.
    pub by_default: bool,
    /// Makes it.
    pub make: Make,
}

/// All controllers, in the order of their names: a line each.
#[rustfmt::skip]
pub fn all() -> Vec<Descriptor> {
    use crate::{cluster_role_aggregation, endpoint, endpointslice, endpointslice_mirroring, pod_gc, service_account_token};
    use crate::{cronjob, daemon, deployment, disruption, ephemeral, replicaset, replication, service_account, statefulset};
    use crate::{job, node_lifecycle, podautoscaler, resourceclaim, root_ca, ttl, ttlafterfinished, taint_eviction, volume};
    vec![
        controller("clusterrole-aggregation-controller", make::<cluster_role_aggregation::Aggregation>),
        controller("cronjob-controller", make::<cronjob::CronJobs>),
        controller("daemonset-controller", make::<daemon::DaemonSets>),
        controller("deployment-controller", make::<deployment::Deployments>),
        controller("disruption-controller", make::<disruption::Disruption>),
        controller("endpoints-controller", make::<endpoint::EndpointsOfServices>),
        controller("endpointslice-controller", make::<endpointslice::EndpointSlices>),
        controller("endpointslice-mirroring-controller", make::<endpointslice_mirroring::Mirroring>),
        controller("ephemeral-volume-controller", make::<ephemeral::EphemeralVolumes>),
        configured("horizontal-pod-autoscaler-controller", |o| Box::new(podautoscaler::PodAutoscalers::new(o.pod_autoscaler.clone()))),
        controller("job-controller", make::<job::Jobs>),
        configured("node-lifecycle-controller", |o| Box::new(node_lifecycle::NodeLifecycle::new(o.node_lifecycle.clone()))),
        controller("persistentvolume-binder-controller", make::<volume::Binder>),
        controller("persistentvolume-protection-controller", make::<volume::VolumeProtection>),
        controller("persistentvolumeclaim-protection-controller", make::<volume::ClaimProtection>),
        configured("pod-garbage-collector-controller", |o| Box::new(pod_gc::PodGc::new(o.finished_pods_max))),
        controller("replicaset-controller", make::<replicaset::ReplicaSets>),
        controller("replicationcontroller-controller", make::<replication::ReplicationControllers>),
        controller("resourceclaim-controller", make::<resourceclaim::ResourceClaims>),
        configured("root-ca-certificate-publisher-controller", |o| Box::new(root_ca::Publisher::new(o.root_ca.clone()))),
        controller("serviceaccount-controller", make::<service_account::Accounts>),
        configured("serviceaccount-token-controller", |o| Box::new(service_account_token::Tokens::new(o))),
        controller("statefulset-controller", make::<statefulset::StatefulSets>),
        controller("stowplan-provisioner-controller", make::<volume::Provisioner>),
        controller("taint-eviction-controller", make::<taint_eviction::TaintEviction>),
        controller("ttl-after-finished-controller", make::<ttlafterfinished::TtlAfterFinished>),
        controller("ttl-controller", make::<ttl::Ttl>),
        controller("volumeattributesclass-protection-controller", make::<volume::ClassProtection>),
    ]
}

fn make<C: Controller + Default + 'static>() -> Box<dyn Controller> {
    Box::<C>::default()
}

fn controller(name: &'static str, make: fn() -> Box<dyn Controller>) -> Descriptor {
    Descriptor {
        name,
        by_default: true,
        make: Box::new(move |_| make()),
    }
}

/// A controller that has to be told something.
fn configured(name: &'static str, make: fn(&Options) -> Box<dyn Controller>) -> Descriptor {
    Descriptor {
        name,
        by_default: true,
        make: Box::new(make),
    }
}

/// Whether `--controllers` chooses a controller: `*` means all that are on by default, `name` one, `-name` all
/// but one. As upstream, an entry for one controller counts more than `*`.
pub fn is_chosen(wanted: &[String], name: &str, by_default: bool) -> bool {
    let named = |entry: &&String| entry.strip_prefix('-').unwrap_or(entry) == name;
    match wanted.iter().find(named) {
        Some(entry) => !entry.starts_with('-'),
        None => by_default && wanted.iter().any(|entry| entry == "*"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_are_chosen_as_upstream_does() {
        for (wanted, name, by_default, is_it) in [
            ("*", "a", true, true),
            ("*", "a", false, false),
            ("*,a", "a", false, true),
            ("*,-a", "a", true, false),
            ("-a,*", "a", true, false),
            ("a", "a", true, true),
            ("a", "b", true, false),
            ("", "a", true, false),
        ] {
            let wanted: Vec<String> = wanted.split(',').map(str::to_owned).collect();
            assert_eq!(
                is_chosen(&wanted, name, by_default),
                is_it,
                "{wanted:?} {name}"
            );
        }
    }

    #[test]
    fn names_are_in_order_and_end_as_upstreams_do() {
        let names: Vec<&str> = all().iter().map(|descriptor| descriptor.name).collect();
        assert!(names.is_sorted(), "{names:?}");
        assert!(names.iter().all(|name| name.ends_with("-controller")));
    }
}
