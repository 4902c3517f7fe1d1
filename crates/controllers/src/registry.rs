//! All controllers, by upstream's names.

use crate::Controller;

/// A controller that can be chosen.
pub struct Descriptor {
    /// Upstream's name (`cmd/kube-controller-manager/names`).
    pub name: &'static str,
    /// Whether `*` chooses it.
    pub by_default: bool,
    /// Makes it.
    pub make: fn() -> Box<dyn Controller>,
}

/// All controllers, in the order of their names.
pub fn all() -> Vec<Descriptor> {
    vec![
        controller("cronjob-controller", || {
            Box::new(crate::cronjob::CronJobs::default())
        }),
        controller("job-controller", || Box::new(crate::job::Jobs::default())),
        controller("ttl-after-finished-controller", || {
            Box::new(crate::ttlafterfinished::TtlAfterFinished)
        }),
    ]
}

fn controller(name: &'static str, make: fn() -> Box<dyn Controller>) -> Descriptor {
    Descriptor {
        name,
        by_default: true,
        make,
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
