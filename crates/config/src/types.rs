//! The configuration itself.
//!
//! `Default` is what upstream's defaulting makes of an absent field. What upstream also replaces
//! when it is present but zero is up to `set_defaults`.

use super::{Duration, Extender};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The configuration of a scheduler.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KubeSchedulerConfiguration {
    /// How many things to do at a time.
    pub parallelism: i32,
    /// Which of several schedulers works.
    pub leader_election: LeaderElection,
    /// How to reach the API server.
    pub client_connection: ClientConnection,
    /// Whether profiles can be taken over HTTP.
    pub enable_profiling: bool,
    /// Whether those include contention; set if profiling is enabled.
    pub enable_contention_profiling: Option<bool>,
    /// Which part of the nodes to look at; 0 lets the scheduler choose.
    pub percentage_of_nodes_to_score: i32,
    /// How long a pod waits after its first failure.
    pub pod_initial_backoff_seconds: i64,
    /// How long a pod waits at most.
    pub pod_max_backoff_seconds: i64,
    /// At least one after defaulting.
    pub profiles: Vec<Profile>,
    /// Other services to ask.
    pub extenders: Vec<Extender>,
    /// Whether to wait for leadership before filling caches.
    pub delay_cache_until_active: bool,
}

impl Default for KubeSchedulerConfiguration {
    fn default() -> Self {
        Self {
            parallelism: 16,
            leader_election: LeaderElection::default(),
            client_connection: ClientConnection::default(),
            enable_profiling: true,
            enable_contention_profiling: None,
            percentage_of_nodes_to_score: 0,
            pod_initial_backoff_seconds: 1,
            pod_max_backoff_seconds: 10,
            profiles: Vec::new(),
            extenders: Vec::new(),
            delay_cache_until_active: false,
        }
    }
}

/// `leaderElection`.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaderElection {
    /// Whether there is an election at all.
    pub leader_elect: bool,
    /// How long the others wait for a sign of the leader.
    pub lease_duration: Duration,
    /// How long the leader tries to give one before it steps down.
    pub renew_deadline: Duration,
    /// How long to wait between tries.
    pub retry_period: Duration,
    /// The kind of the lock; `leases`.
    pub resource_lock: String,
    /// The name of the lock.
    pub resource_name: String,
    /// The namespace of the lock.
    pub resource_namespace: String,
}

impl Default for LeaderElection {
    fn default() -> Self {
        Self {
            leader_elect: true,
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            resource_lock: "leases".to_owned(),
            resource_name: "kube-scheduler".to_owned(),
            resource_namespace: "kube-system".to_owned(),
        }
    }
}

/// `clientConnection`.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientConnection {
    /// The path of a kubeconfig file.
    pub kubeconfig: String,
    /// The `Accept` header.
    pub accept_content_types: String,
    /// The `Content-Type` header.
    pub content_type: String,
    /// Requests per second.
    pub qps: f32,
    /// Requests at once.
    pub burst: i32,
}

impl Default for ClientConnection {
    fn default() -> Self {
        Self {
            kubeconfig: String::new(),
            accept_content_types: String::new(),
            content_type: "application/vnd.kubernetes.protobuf".to_owned(),
            qps: 50.0,
            burst: 100,
        }
    }
}

/// One of `profiles`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Profile {
    /// Pods choose the profile by this name. Present after defaulting and validation.
    pub scheduler_name: Option<String>,
    /// Overrides the field of the same name in the configuration.
    pub percentage_of_nodes_to_score: Option<i32>,
    /// On top of the default plugins.
    pub plugins: Plugins,
    /// Arguments of plugins.
    pub plugin_config: Vec<PluginConfig>,
}

/// `plugins` of a profile, not merged with the default ones.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)] // The extension points' own names.
pub struct Plugins {
    pub pre_enqueue: PluginSet,
    pub queue_sort: PluginSet,
    pub pre_filter: PluginSet,
    pub filter: PluginSet,
    pub post_filter: PluginSet,
    pub pre_score: PluginSet,
    pub score: PluginSet,
    pub reserve: PluginSet,
    pub permit: PluginSet,
    pub pre_bind: PluginSet,
    pub bind: PluginSet,
    pub post_bind: PluginSet,
    pub multi_point: PluginSet,
    pub placement_generate: PluginSet,
    pub placement_score: PluginSet,
}

impl Plugins {
    /// Every list but `multiPoint`, `placementGenerate` and `placementScore`, with its field's name.
    pub fn points(&self) -> [(&'static str, &PluginSet); 12] {
        [
            ("preEnqueue", &self.pre_enqueue),
            ("queueSort", &self.queue_sort),
            ("preFilter", &self.pre_filter),
            ("filter", &self.filter),
            ("postFilter", &self.post_filter),
            ("preScore", &self.pre_score),
            ("score", &self.score),
            ("reserve", &self.reserve),
            ("permit", &self.permit),
            ("preBind", &self.pre_bind),
            ("bind", &self.bind),
            ("postBind", &self.post_bind),
        ]
    }

    /// The same lists, to be changed.
    pub fn points_mut(&mut self) -> [&mut PluginSet; 12] {
        [
            &mut self.pre_enqueue,
            &mut self.queue_sort,
            &mut self.pre_filter,
            &mut self.filter,
            &mut self.post_filter,
            &mut self.pre_score,
            &mut self.score,
            &mut self.reserve,
            &mut self.permit,
            &mut self.pre_bind,
            &mut self.bind,
            &mut self.post_bind,
        ]
    }
}

/// What is enabled and disabled at one point.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PluginSet {
    /// In this order, after the default plugins.
    pub enabled: Vec<Plugin>,
    /// Default plugins that do not run; `*` for all of them.
    pub disabled: Vec<Plugin>,
}

/// A plugin in a [`PluginSet`].
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plugin {
    /// The plugin's name.
    pub name: String,
    /// What its score is multiplied by; 0 for unset.
    #[serde(default)]
    pub weight: i32,
}

/// One of `pluginConfig`.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginConfig {
    /// The plugin's name.
    pub name: String,
    /// Its arguments, with the plugin's defaults; null if it takes none and is told none.
    #[serde(default)]
    pub args: Value,
}
