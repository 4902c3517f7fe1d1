//! What goes on in the cluster while pods are measured.

use crate::drive::Drive;
use crate::meter::Owner;
use crate::objects::{Maker, service};
use crate::source::{Alike, Pods};
use crate::workloads::{Churn, HIGH, PODS_PER_CHURN, PODS_PER_DELETION, TOO_LARGE};
use std::sync::Arc;
use stowplan_base::{Quantity, Sym, sym};
use stowplan_engine::model::{Kind, Object};

/// Churn or deletions, counted by measured pods rather than by the clock. No workload has both.
#[derive(Default)]
pub(crate) struct Background {
    churn: Option<Churner>,
    /// Pods to be deleted one by one, the next one last.
    doomed: Vec<(Sym, Sym)>,
    /// How many operations ran.
    pub(crate) operations: usize,
    /// How many pods were created.
    pub(crate) pods: usize,
}

struct Churner {
    kind: Churn,
    namespace: String,
    pods: Alike,
    /// What [`Churn::Mixed`] created and has to delete again.
    live: Vec<(Kind, Sym, Sym)>,
}

impl Background {
    /// From now on there is churn.
    pub(crate) fn churn(
        &mut self,
        kind: Churn,
        namespace: String,
        maker: &mut Maker,
        drive: &mut Drive,
    ) {
        let template = match kind {
            Churn::HighPriority => HIGH,
            Churn::TooLarge | Churn::Mixed => TOO_LARGE,
        };
        let cluster = drive.scheduler.cluster_mut();
        let pods = Alike::new(maker, cluster, template, std::slice::from_ref(&namespace));
        self.churn = Some(Churner {
            kind,
            namespace,
            pods,
            live: Vec::new(),
        });
    }

    /// From now on these pods are deleted, in this order.
    pub(crate) fn delete(&mut self, mut pods: Vec<(Sym, Sym)>) {
        pods.reverse();
        self.doomed = pods;
    }

    /// Counts operations from nothing again.
    pub(crate) fn restart(&mut self) {
        self.operations = 0;
        self.pods = 0;
    }

    /// Whether pods are created for their own sake.
    pub(crate) fn creates_pods(&self) -> bool {
        self.churn
            .as_ref()
            .is_some_and(|churner| churner.kind != Churn::Mixed)
    }

    /// Does what is due after so many measured pods.
    pub(crate) fn catch_up(&mut self, scheduled: usize, maker: &mut Maker, drive: &mut Drive) {
        if let Some(churner) = &mut self.churn {
            while self.operations < scheduled / PODS_PER_CHURN {
                self.operations += 1;
                self.pods += churner.operate(maker, drive);
            }
            return;
        }
        while self.operations < scheduled / PODS_PER_DELETION
            && let Some((namespace, name)) = self.doomed.pop()
        {
            self.operations += 1;
            drive.delete(Owner::Anyone, Kind::Pod, namespace, name);
        }
    }
}

impl Churner {
    /// One operation; returns how many pods it created.
    fn operate(&mut self, maker: &mut Maker, drive: &mut Drive) -> usize {
        if !self.live.is_empty() {
            for (kind, namespace, name) in self.live.drain(..) {
                drive.delete(Owner::Anyone, kind, namespace, name);
            }
            return 0;
        }
        if self.kind == Churn::Mixed {
            self.create(maker, drive);
        }
        let pod = self.pods.next(maker, drive.scheduler.cluster_mut()).pod;
        if self.kind == Churn::Mixed {
            self.live.insert(1, (Kind::Pod, pod.namespace, pod.name));
        }
        drive.upsert(Owner::Background, Object::Pod(pod));
        1
    }

    /// A node that holds no pods, and a service that selects none.
    fn create(&mut self, maker: &mut Maker, drive: &mut Drive) {
        let cluster = drive.scheduler.cluster_mut();
        let serial = maker.serial();
        let name = cluster.names.intern(&format!("node-churn-{serial}"));
        let node = maker.bare_node(cluster, name, Vec::new(), vec![(sym::PODS, Quantity::ZERO)]);
        let service = service(
            cluster,
            &self.namespace,
            &format!("service-churn-{serial}"),
            ("app", "foo"),
        );
        for object in [Object::Node(Arc::new(node)), service] {
            let (namespace, name) = object.key();
            self.live.push((object.kind(), namespace, name));
            drive.upsert(Owner::Anyone, object);
        }
    }
}
