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

/// All controllers, in the order of their names.
pub fn all() -> Vec<Descriptor> {
    vec![
        controller("cronjob-controller", make::<crate::cronjob::CronJobs>),
        controller(
            "disruption-controller",
            make::<crate::disruption::Disruption>,
        ),
        configured("node-lifecycle-controller", |options| {
            let options = options.node_lifecycle.clone();
            Box::new(crate::node_lifecycle::NodeLifecycle::new(options))
        }),
        controller(
            "persistentvolume-binder-controller",
            make::<crate::volume::Binder>,
        ),
        controller(
            "persistentvolume-protection-controller",
            make::<crate::volume::VolumeProtection>,
        ),
        controller(
            "persistentvolumeclaim-protection-controller",
            make::<crate::volume::ClaimProtection>,
        ),
        controller(
            "replicaset-controller",
            make::<crate::replicaset::ReplicaSets>,
        ),
        controller(
            "replicationcontroller-controller",
            make::<crate::replication::ReplicationControllers>,
        ),
        configured("root-ca-certificate-publisher-controller", |options| {
            Box::new(crate::root_ca::Publisher::new(options.root_ca.clone()))
        }),
        controller(
            "serviceaccount-controller",
            make::<crate::service_account::Accounts>,
        ),
        controller(
            "statefulset-controller",
            make::<crate::statefulset::StatefulSets>,
        ),
        controller(
            "stowplan-provisioner-controller",
            make::<crate::volume::Provisioner>,
        ),
        controller(
            "taint-eviction-controller",
            make::<crate::taint_eviction::TaintEviction>,
        ),
    ]
}

fn make<C: Controller + Default + 'static>() -> Box<dyn Controller> {
    Box::<C>::default()
    // A line for each controller:
    // controller("deployment-controller", || Box::new(crate::deployment::Deployments)),
    vec![
        controller("daemonset-controller", || {
            Box::new(crate::daemon::DaemonSets::default())
        }),
        controller("ephemeral-volume-controller", || {
            Box::new(crate::ephemeral::EphemeralVolumes)
        }),
        controller("statefulset-controller", || {
            Box::new(crate::statefulset::StatefulSets)
        }),
    ]
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
            assert_eq!(is_chosen(&wanted, name, by_default), is_it, "{wanted:?} {name}");
        }
    }

    #[test]
    fn names_are_in_order_and_end_as_upstreams_do() {
        let names: Vec<&str> = all().iter().map(|descriptor| descriptor.name).collect();
        assert!(names.is_sorted(), "{names:?}");
        assert!(names.iter().all(|name| name.ends_with("-controller")));
    }
}
