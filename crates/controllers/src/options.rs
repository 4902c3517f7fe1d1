//! What controllers are told when they are made.

use crate::node_lifecycle::NodeLifecycleOptions;
use crate::podautoscaler::PodAutoscalerOptions;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// Signs the claims of a token; `None` if that is not possible.
pub type Signer = Arc<dyn Fn(&Value) -> Option<String> + Send + Sync>;

/// What controllers are told when they are made: flags of kube-controller-manager.
#[derive(Clone)]
pub struct Options {
    /// The certificates by which clients know the API server, as PEM (`--root-ca-file`). Without them
    /// none are published.
    pub root_ca: Option<Arc<str>>,
    /// Signs tokens of service accounts (`--service-account-private-key-file`). Without it Secrets for such
    /// tokens stay as they are.
    pub signer: Option<Signer>,
    /// How many finished pods are kept (`--terminated-pod-gc-threshold`); all if it is not above 0.
    pub finished_pods_max: i32,
    /// How nodes that fall silent are treated.
    pub node_lifecycle: NodeLifecycleOptions,
    /// How often autoscalers are looked at, and how they judge.
    pub pod_autoscaler: PodAutoscalerOptions,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            root_ca: None,
            signer: None,
            finished_pods_max: 12_500,
            node_lifecycle: NodeLifecycleOptions::default(),
            pod_autoscaler: PodAutoscalerOptions::default(),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("root_ca", &self.root_ca)
            .field("has_signer", &self.signer.is_some())
            .field("finished_pods_max", &self.finished_pods_max)
            .field("node_lifecycle", &self.node_lifecycle)
            .field("pod_autoscaler", &self.pod_autoscaler)
            .finish()
    }
}
