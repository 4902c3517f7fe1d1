//! What scenarios create, wait for and check.

use anyhow::{Context, Result, bail};
use k8s_openapi::NamespaceResourceScope as Namespaced;
use k8s_openapi::api::core::v1::{
    Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ServiceAccount,
};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::{CSINode, StorageClass};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long anything may take: a busy machine is no reason to fail.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// What typed calls ask of a kind.
pub(crate) trait Object:
    Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
}
impl<K: Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static> Object for K {}

/// A client with the words of a scenario.
#[derive(Clone)]
pub(crate) struct World {
    client: Client,
    namespace: String,
}

impl World {
    pub(crate) fn new(client: Client) -> Self {
        let namespace = "default".to_owned();
        Self { client, namespace }
    }

    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    pub(crate) fn set_client(&mut self, client: Client) {
        self.client = client;
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The objects of a kind in the scenario's namespace.
    pub(crate) fn own<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = Namespaced>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// The objects of a kind in the whole cluster.
    pub(crate) fn all<K: Resource<DynamicType = ()>>(&self) -> Api<K> {
        Api::all(self.client.clone())
    }

    /// Deletes what an earlier scenario left, and makes a namespace for the next.
    pub(crate) async fn reset(&mut self, name: &str) -> Result<()> {
        self.remove_all::<Pod>().await?;
        self.remove_all::<PersistentVolumeClaim>().await?;
        self.remove_all::<PodDisruptionBudget>().await?;
        self.clear::<PersistentVolume>().await?;
        self.clear::<StorageClass>().await?;
        self.clear::<CSINode>().await?;
        self.clear::<Node>().await?;
        for class in self.all::<PriorityClass>().list(&everything()).await? {
            if !class.name_any().starts_with("system-") {
                let classes = self.all::<PriorityClass>();
                classes.delete(&class.name_any(), &now()).await?;
            }
        }
        self.namespace = format!("e2e-{name}");
        let namespace = json!({"metadata": {"name": self.namespace}});
        self.make::<Namespace>(namespace).await?;
        // A controller makes it; where none runs a stand-in does.
        let account = || async {
            let accounts = self.own::<ServiceAccount>();
            Ok(accounts.get_opt("default").await?.is_some().then_some(()))
        };
        wait("the namespace's service account", account).await
    }

    /// Makes a namespace where no controller does its part of it.
    pub(crate) async fn without_controllers(&mut self, name: &str) -> Result<()> {
        self.namespace = format!("e2e-{name}");
        self.make::<Namespace>(json!({"metadata": {"name": self.namespace}}))
            .await?;
        self.put::<ServiceAccount>(json!({"metadata": {"name": "default"}}))
            .await?;
        Ok(())
    }

    /// Deletes all pods and events of the namespace.
    pub(crate) async fn clear_pods(&self) -> Result<()> {
        let all = everything();
        self.own::<Pod>().delete_collection(&now(), &all).await?;
        self.own::<Event>().delete_collection(&now(), &all).await?;
        self.none_left::<Pod>().await
    }

    async fn remove_all<K>(&self) -> Result<()>
    where
        K: Resource<DynamicType = (), Scope = Namespaced> + Object,
    {
        let objects = self.all::<K>().list(&everything()).await?;
        let namespaces: BTreeSet<_> = objects.iter().filter_map(|o| o.namespace()).collect();
        for namespace in namespaces {
            let api: Api<K> = Api::namespaced(self.client.clone(), &namespace);
            api.delete_collection(&now(), &everything()).await?;
        }
        self.none_left::<K>().await
    }

    async fn clear<K>(&self) -> Result<()>
    where
        K: Resource<DynamicType = ()> + Object,
    {
        let all = self.all::<K>();
        all.delete_collection(&now(), &everything()).await?;
        self.none_left::<K>().await
    }

    async fn none_left<K>(&self) -> Result<()>
    where
        K: Resource<DynamicType = ()> + Object,
    {
        let empty = || async {
            let list = self.all::<K>().list(&everything()).await?;
            Ok(list.items.is_empty().then_some(()))
        };
        wait(&format!("the end of all {}", K::plural(&())), empty).await
    }

    /// Creates an object of the cluster.
    pub(crate) async fn make<K>(&self, object: Value) -> Result<K>
    where
        K: Resource<DynamicType = ()> + Object,
    {
        let object: K = serde_json::from_value(object)?;
        let name = object.name_any();
        let made = self.all().create(&PostParams::default(), &object).await;
        made.with_context(|| format!("cannot create {} {name}", K::kind(&())))
    }

    /// Creates an object in the scenario's namespace.
    pub(crate) async fn put<K>(&self, object: Value) -> Result<K>
    where
        K: Resource<DynamicType = (), Scope = Namespaced> + Object,
    {
        let object: K = serde_json::from_value(object)?;
        let name = object.name_any();
        let made = self.own().create(&PostParams::default(), &object).await;
        made.with_context(|| format!("cannot create {} {name}", K::kind(&())))
    }

    /// Creates a ready node with room for `cpu` cores.
    pub(crate) async fn node(&self, name: &str, cpu: &str, labels: Value) -> Result<()> {
        let (mut node, status) = node(name, cpu);
        if let (Value::Object(all), Value::Object(more)) = (&mut node["metadata"]["labels"], labels)
        {
            all.extend(more);
        }
        node["status"] = status;
        self.make::<Node>(node).await?;
        let nodes = self.all::<Node>();
        // A new node is tainted until a controller hears that it is ready.
        let open = kube::api::Patch::Merge(json!({"spec": {"taints": null}}));
        nodes.patch(name, &Default::default(), &open).await?;
        Ok(())
    }

    /// Creates a pod from its spec, with one container asking for `cpu`.
    pub(crate) async fn pod(&self, name: &str, cpu: &str, spec: Value) -> Result<Pod> {
        self.put(pod(name, cpu, spec)).await
    }

    pub(crate) async fn get_pod(&self, name: &str) -> Result<Pod> {
        Ok(self.own::<Pod>().get(name).await?)
    }

    /// Waits until the pod is bound, and says where.
    pub(crate) async fn bound(&self, name: &str) -> Result<String> {
        let node = || async { Ok(node_of(&self.get_pod(name).await?)) };
        let waited = wait(&format!("pod {name} to be bound"), node).await;
        match waited {
            Ok(node) => Ok(node),
            Err(error) => {
                let pod = self.get_pod(name).await?;
                let status = serde_json::to_string(&pod.status)?;
                Err(error.context(format!("its status is {status}")))
            }
        }
    }

    /// Waits until the pod is bound, and checks where.
    pub(crate) async fn bound_to(&self, name: &str, node: &str) -> Result<()> {
        let actual = self.bound(name).await?;
        match actual == node {
            true => Ok(()),
            false => bail!("pod {name} is on {actual}, expected {node}"),
        }
    }

    /// How many pods of the namespace are bound.
    pub(crate) async fn count_bound(&self) -> Result<usize> {
        let pods = self.own::<Pod>().list(&everything()).await?;
        Ok(pods.iter().filter(|pod| node_of(pod).is_some()).count())
    }

    /// Waits until all pods of the namespace are bound, and gives their nodes.
    pub(crate) async fn all_bound(&self, expected: usize) -> Result<BTreeMap<String, String>> {
        let bound = || async {
            let pods = self.own::<Pod>().list(&everything()).await?;
            let nodes: BTreeMap<_, _> = pods
                .iter()
                .filter_map(|pod| Some((pod.name_any(), node_of(pod)?)))
                .collect();
            Ok((nodes.len() == expected).then_some(nodes))
        };
        wait(&format!("{expected} pods to be bound"), bound).await
    }

    /// Waits until the pod's PodScheduled condition is false for this reason.
    pub(crate) async fn pending(&self, name: &str, reason: &str) -> Result<()> {
        self.told(name, reason, "").await
    }

    /// Waits until the pod is told that it cannot be scheduled, in these words among others.
    pub(crate) async fn refused(&self, name: &str, words: &str) -> Result<()> {
        self.told(name, "Unschedulable", words).await
    }

    async fn told(&self, name: &str, reason: &str, words: &str) -> Result<()> {
        let told = || async {
            let pod = self.get_pod(name).await?;
            let conditions = pod.status.and_then(|status| status.conditions);
            let found = conditions.into_iter().flatten().any(|condition| {
                condition.type_ == "PodScheduled"
                    && condition.reason.as_deref() == Some(reason)
                    && condition.message.unwrap_or_default().contains(words)
            });
            Ok(found.then_some(()))
        };
        match wait(&format!("pod {name} to be {reason}: {words:?}"), told).await {
            Ok(()) => Ok(()),
            Err(error) => {
                let status = serde_json::to_string(&self.get_pod(name).await?.status)?;
                Err(error.context(format!("its status is {status}")))
            }
        }
    }

    /// Waits until the scheduler knows all nodes as they are now. It hears of them in the order of
    /// their changes, so a pod that only the last change lets in tells; this node has room for it.
    pub(crate) async fn seen(&self, node: &str) -> Result<()> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let mark = COUNT.fetch_add(1, Ordering::Relaxed).to_string();
        let label = kube::api::Patch::Merge(json!({"metadata": {"labels": {"seen": mark}}}));
        let nodes = self.all::<Node>();
        nodes.patch(node, &Default::default(), &label).await?;
        let name = format!("probe-{mark}");
        let spec = json!({
            "nodeSelector": {"seen": mark},
            "tolerations": [{"operator": "Exists"}],
        });
        self.pod(&name, "1m", spec).await?;
        self.bound(&name).await?;
        self.remove_pod(&name).await
    }

    /// Deletes a pod at once.
    pub(crate) async fn remove_pod(&self, name: &str) -> Result<()> {
        let pods = self.own::<Pod>();
        ignore_missing(pods.delete(name, &now()).await)
    }

    /// Checks that no node has more cpu asked of it than it has.
    pub(crate) async fn nothing_over_committed(&self) -> Result<()> {
        let mut free = BTreeMap::new();
        for node in self.all::<Node>().list(&everything()).await? {
            let allocatable = node.status.as_ref().and_then(|s| s.allocatable.as_ref());
            let cpu = allocatable.and_then(|all| all.get("cpu"));
            free.insert(node.name_any(), milli(cpu)?);
        }
        for pod in self.all::<Pod>().list(&everything()).await? {
            let Some(node) = node_of(&pod) else { continue };
            let spec = pod.spec.clone().unwrap_or_default();
            let left = free.get_mut(&node).with_context(|| {
                format!("{} is on {node}, which does not exist", pod.name_any())
            })?;
            for container in spec.containers {
                let requests = container.resources.and_then(|r| r.requests);
                *left -= milli(requests.as_ref().and_then(|all| all.get("cpu")))?;
            }
            if *left < 0 {
                bail!("node {node} is over-committed by {}m cpu", -*left);
            }
        }
        Ok(())
    }
}

/// A node and its status: ready, four times as many GiB as cores, 110 pods.
pub(crate) fn node(name: &str, cpu: &str) -> (Value, Value) {
    let room = json!({"cpu": cpu, "memory": "256Gi", "pods": "110"});
    let node = json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
    });
    let ready = json!([{"type": "Ready", "status": "True", "reason": "KubeletReady"}]);
    let status = json!({"capacity": room, "allocatable": room, "conditions": ready});
    (node, status)
}

/// A pod with one container that asks for `cpu`; `spec` is laid over its spec.
pub(crate) fn pod(name: &str, cpu: &str, spec: Value) -> Value {
    let mut pod = json!({
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "terminationGracePeriodSeconds": 30,
            "containers": [{
                "name": "main",
                "image": "example.com/main:1",
                "resources": {"requests": {"cpu": cpu}},
            }],
        },
    });
    if let (Value::Object(all), Value::Object(more)) = (&mut pod["spec"], spec) {
        all.extend(more);
    }
    pod
}

pub(crate) fn node_of(pod: &Pod) -> Option<String> {
    pod.spec.as_ref().and_then(|spec| spec.node_name.clone())
}

fn milli(cpu: Option<&Quantity>) -> Result<i64> {
    let Some(Quantity(text)) = cpu else {
        return Ok(0);
    };
    match text.strip_suffix('m') {
        Some(milli) => Ok(milli.parse()?),
        None => Ok(text.parse::<i64>()? * 1000),
    }
}

fn everything() -> ListParams {
    ListParams::default()
}

/// Deletes at once, without a grace period.
pub(crate) fn now() -> DeleteParams {
    DeleteParams::default().grace_period(0)
}

pub(crate) fn ignore_missing<T>(outcome: kube::Result<T>) -> Result<()> {
    match outcome {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Asks again and again until there is an answer.
pub(crate) async fn wait<T, F>(what: &str, mut ask: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    let start = Instant::now();
    loop {
        let trouble = match ask().await {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) => None,
            // A server that is being restarted is worth another question.
            Err(error) => Some(error),
        };
        if start.elapsed() > PATIENCE {
            let error = trouble.unwrap_or_else(|| anyhow::anyhow!("it did not happen"));
            return Err(error.context(format!("waited {} s for {what}", PATIENCE.as_secs())));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
