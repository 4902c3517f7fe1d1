//! How the pods of a spread constraint stand, domain by domain.

use crate::report::{State, Text};
use serde::{Deserialize, Serialize};
use stowplan_base::Sym;
use stowplan_engine::Snapshot;
use stowplan_engine::model::{Effect, Pod, Taint, UnsatisfiableAction};
use stowplan_engine::plugins::pod_topology_spread::{Account, DomainAccount, accounts};

/// One of the pod's own topology spread constraints, and the domains as it sees them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spread {
    /// `topologyKey`.
    pub topology_key: String,
    /// `maxSkew`.
    pub max_skew: i64,
    /// `minDomains`, 1 if unset.
    pub min_domains: i64,
    /// `whenUnsatisfiable`.
    pub when_unsatisfiable: Text,
    /// `nodeAffinityPolicy`.
    pub node_affinity_policy: Text,
    /// `nodeTaintsPolicy`.
    pub node_taints_policy: Text,
    /// What every domain is compared with: the least number of pods in a domain that counts, or 0
    /// while fewer than `minDomains` count.
    pub minimum: i64,
    /// How many domains count.
    pub counted_domains: usize,
    /// The domains, by name.
    pub domains: Vec<SpreadDomain>,
    /// By how many pods the fullest and the emptiest domain that could take some differ now, where
    /// that is more than `maxSkew`: the pods that run have drifted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<i64>,
}

/// One domain.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpreadDomain {
    /// The value of the topology key.
    pub name: String,
    /// Pods that the constraint counts there, without the pod that is asked about.
    pub pods: i64,
    /// Nodes there.
    pub nodes: usize,
    /// Whether the domain counts.
    pub counts: bool,
    /// How much above the minimum the domain would be with the pod in it.
    pub skew: i64,
    /// A taint that the pod does not tolerate, if all nodes there have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taint: Option<String>,
}

impl Spread {
    /// Whether a domain would be too full with the pod in it.
    pub fn is_too_full(&self, domain: &SpreadDomain) -> bool {
        domain.skew > self.max_skew
    }

    /// The domains that no pod can go to because of taints, and that count all the same.
    pub fn tainted(&self) -> impl Iterator<Item = &SpreadDomain> {
        let domains = self.domains.iter();
        domains.filter(|domain| domain.counts && domain.taint.is_some())
    }

    /// The domain that has the minimum; none where `minDomains` sets it.
    pub fn emptiest(&self) -> Option<&SpreadDomain> {
        let enough = i64::try_from(self.counted_domains).unwrap_or(i64::MAX) >= self.min_domains;
        let mut domains = self.domains.iter().filter(|_| enough);
        domains.find(|domain| domain.counts && domain.pods == self.minimum)
    }

    /// How the pods that the pod's own constraints mean are spread.
    pub(crate) fn all(cluster: &Snapshot, pod: &Pod, state: &State) -> Vec<Self> {
        let accounts = accounts(cluster, pod);
        let accounts = accounts.iter();
        accounts
            .map(|account| spread(cluster, account, state))
            .collect()
    }

    /// Takes out what only those may know who may list nodes.
    pub(crate) fn redact(&mut self) {
        for domain in &mut self.domains {
            "…".clone_into(&mut domain.name);
            domain.taint = None;
        }
    }
}

fn spread(cluster: &Snapshot, account: &Account, state: &State) -> Spread {
    let constraint = &account.constraint;
    let text = |sym: Sym| cluster.names.text(sym).to_owned();
    let policy = |honors: bool| if honors { "Honor" } else { "Ignore" }.into();
    let domain = |domain: &DomainAccount| SpreadDomain {
        name: text(domain.value),
        pods: domain.pods,
        nodes: domain.nodes,
        counts: domain.is_counted,
        skew: domain.skew,
        taint: domain.taint.map(|taint| taint_text(cluster, taint)),
    };
    let mut domains: Vec<SpreadDomain> = account.domains.iter().map(domain).collect();
    domains.sort_by(|a, b| a.name.cmp(&b.name));
    let max_skew = i64::from(constraint.max_skew);
    Spread {
        topology_key: text(constraint.topology_key),
        max_skew,
        min_domains: i64::from(constraint.min_domains),
        when_unsatisfiable: match constraint.when_unsatisfiable {
            UnsatisfiableAction::DoNotSchedule => "DoNotSchedule".into(),
            UnsatisfiableAction::ScheduleAnyway => "ScheduleAnyway".into(),
        },
        node_affinity_policy: policy(constraint.honor_node_affinity),
        node_taints_policy: policy(constraint.honor_node_taints),
        minimum: account.minimum,
        counted_domains: account.counted,
        drift: drift(cluster, account, state).filter(|drift| *drift > max_skew),
        domains,
    }
}

/// How far apart the domains are that count and could take pods, with the pod where it is.
fn drift(cluster: &Snapshot, account: &Account, state: &State) -> Option<i64> {
    let own = match state {
        State::Bound(node) if account.self_match => {
            let node = cluster.names.get(node).and_then(|name| cluster.node(name));
            node.and_then(|node| node.node.labels.get(account.constraint.topology_key))
        }
        _ => None,
    };
    let open = account
        .domains
        .iter()
        .filter(|domain| domain.is_counted && domain.taint.is_none());
    let counts = open.map(|domain| domain.pods + i64::from(own == Some(domain.value)));
    let (least, most) = counts.fold((i64::MAX, i64::MIN), |(least, most), pods| {
        (least.min(pods), most.max(pods))
    });
    (least <= most).then(|| most - least)
}

/// A taint as kubectl writes it.
fn taint_text(cluster: &Snapshot, taint: Taint) -> String {
    let (key, value) = (
        cluster.names.text(taint.key),
        cluster.names.text(taint.value),
    );
    let effect = match taint.effect {
        Effect::NoSchedule => "NoSchedule",
        Effect::PreferNoSchedule => "PreferNoSchedule",
        Effect::NoExecute => "NoExecute",
    };
    match value {
        "" => format!("{key}:{effect}"),
        value => format!("{key}={value}:{effect}"),
    }
}
