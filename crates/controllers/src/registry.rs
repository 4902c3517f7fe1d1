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
    // A line for each controller:
    // controller("deployment-controller", || Box::new(crate::deployment::Deployments)),
    vec![
        controller("clusterrole-aggregation-controller", || {
            Box::new(crate::cluster_role_aggregation::Aggregation)
        }),
        configured("pod-garbage-collector-controller", |options| {
            Box::new(crate::pod_gc::PodGc::new(options.finished_pods_max))
        }),
        configured("root-ca-certificate-publisher-controller", |options| {
            Box::new(crate::root_ca::Publisher::new(options.root_ca.clone()))
        }),
        controller("serviceaccount-controller", || {
            Box::new(crate::service_account::Accounts)
        }),
        configured("serviceaccount-token-controller", |options| {
            Box::new(crate::service_account_token::Tokens::new(options))
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

/// The controllers that `--controllers` chooses: `*` for all that are on by default, `name` for one, `-name`
/// for all but one. As upstream, an entry for one controller wins over `*`.
pub fn choose(wanted: &[String]) -> Result<Vec<Descriptor>, String> {
    let known = all();
    for entry in wanted {
        let name = entry.strip_prefix('-').unwrap_or(entry);
        if name != "*" && !known.iter().any(|descriptor| descriptor.name == name) {
            return Err(format!("{name:?} is not in the list of known controllers"));
        }
    }
    let is_chosen = |descriptor: &Descriptor| {
        let named = |entry: &&String| entry.strip_prefix('-').unwrap_or(entry) == descriptor.name;
        match wanted.iter().find(named) {
            Some(entry) => !entry.starts_with('-'),
            None => descriptor.by_default && wanted.iter().any(|entry| entry == "*"),
        }
    };
    Ok(known.into_iter().filter(is_chosen).collect())
}
