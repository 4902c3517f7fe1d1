//! What a pod asks for, all containers and corrections together.
//!
//! Upstream's `PodRequests` (`k8s.io/component-helpers/resource/helpers.go`, v0.36.4).

use std::collections::BTreeMap;
use stowplan_api::k8s::api::core::v1::{Container, ContainerStatus, Pod, ResourceRequirements};
use stowplan_api::k8s::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use stowplan_base::Quantity;
use stowplan_base::amounts;
use stowplan_base::resource_names::is_pod_level;

/// Amounts by resource name. A resource that is mentioned as 0 is not the same as an absent one.
pub type Amounts<'a> = BTreeMap<&'a str, Quantity>;

/// A quantity that cannot be one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{field}: {message}")]
pub struct BadQuantity {
    /// The field, as a path: `spec.containers[0].resources.requests[cpu]`.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

/// How the requests of a pod are counted. Upstream's `PodResourcesOptions`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestOptions<'a> {
    /// Count what the kubelet says that it gave, where that is more than what the spec asks for
    /// now: containers that are being resized in place, and pod-level resources likewise.
    pub use_status_resources: bool,
    /// Leave `spec.resources` out.
    pub skip_pod_level_resources: bool,
    /// What a container asks for if it does not mention the resource. An explicit 0 stays 0.
    pub non_missing_container_requests: &'a [(&'static str, Quantity)],
}

/// Everything in a pod that bears on its requests, parsed once.
#[derive(Clone, Debug)]
pub struct PodResources<'a> {
    containers: Vec<Claimant<'a>>,
    init_containers: Vec<InitContainer<'a>>,
    /// `spec.resources`, if it requests anything that a pod as a whole can request.
    pod_level: Option<Claimant<'a>>,
    overhead: Amounts<'a>,
    /// The kubelet refused the resize that the spec asks for.
    resize_infeasible: bool,
}

/// A container, or the pod as a whole.
#[derive(Clone, Debug)]
struct Claimant<'a> {
    spec: Amounts<'a>,
    status: Option<Given<'a>>,
}

/// What the kubelet says that it gave.
#[derive(Clone, Debug)]
struct Given<'a> {
    actuated: Amounts<'a>,
    allocated: Amounts<'a>,
}

#[derive(Clone, Debug)]
struct InitContainer<'a> {
    claimant: Claimant<'a>,
    /// `restartPolicy: Always`: it keeps running beside the containers.
    sidecar: bool,
}

impl<'a> PodResources<'a> {
    /// Parses the quantities of `pod`.
    pub fn of(pod: &'a Pod) -> Result<Self, BadQuantity> {
        let Some(spec) = &pod.spec else {
            return Ok(Self {
                containers: Vec::new(),
                init_containers: Vec::new(),
                pod_level: None,
                overhead: Amounts::new(),
                resize_infeasible: false,
            });
        };
        let statuses = statuses_by_name(pod);
        let mut containers = Vec::with_capacity(spec.containers.len());
        for (i, container) in spec.containers.iter().enumerate() {
            let status = statuses.get(&*container.name);
            containers.push(Claimant::container("containers", i, container, status)?);
        }
        let mut init_containers = Vec::new();
        for (i, container) in spec.init_containers.iter().flatten().enumerate() {
            let sidecar = container.restart_policy.as_deref() == Some("Always");
            // Only sidecars can be resized in place.
            let status = statuses.get(&*container.name).filter(|_| sidecar);
            init_containers.push(InitContainer {
                claimant: Claimant::container("initContainers", i, container, status)?,
                sidecar,
            });
        }
        Ok(Self {
            containers,
            init_containers,
            pod_level: pod_level(pod)?,
            overhead: parse(spec.overhead.as_ref(), || "spec.overhead".to_owned())?,
            resize_infeasible: is_resize_infeasible(pod),
        })
    }

    /// Whether `spec.resources` requests something. Upstream's `IsPodLevelRequestsSet`.
    pub fn has_pod_level_requests(&self) -> bool {
        self.pod_level.is_some()
    }

    /// What the pod asks for. Upstream's `PodRequests`.
    pub fn requests(&self, options: RequestOptions<'_>) -> Amounts<'a> {
        let containers = self.container_requests(options);
        let pod_level = self.pod_level_requests(options);
        amounts::requests_of_pod(containers, &pod_level, &self.overhead)
    }

    /// What the pod as a whole asks for.
    fn pod_level_requests(&self, options: RequestOptions<'_>) -> Amounts<'a> {
        let pod_level = self.pod_level.as_ref();
        let Some(pod_level) = pod_level.filter(|_| !options.skip_pod_level_resources) else {
            return Amounts::new();
        };
        let effective = self.effective(pod_level, options);
        // A refused resize may leave a resource that only the spec mentions: 0 then.
        let amount = |name| effective.get(name).copied().unwrap_or(Quantity::ZERO);
        let names = pod_level.spec.keys();
        names.map(|name| (*name, amount(name))).collect()
    }

    /// What the containers ask for together.
    fn container_requests(&self, options: RequestOptions<'_>) -> Amounts<'a> {
        let of = |claimant| self.with_non_missing(claimant, options);
        let init = self.init_containers.iter();
        amounts::of_containers(
            self.containers.iter().map(of),
            init.map(|init| (of(&init.claimant), init.sidecar)),
        )
    }

    fn with_non_missing(
        &self,
        claimant: &Claimant<'a>,
        options: RequestOptions<'_>,
    ) -> Amounts<'a> {
        let mut amounts = self.effective(claimant, options);
        for (name, amount) in options.non_missing_container_requests {
            amounts.entry(name).or_insert(*amount);
        }
        amounts
    }

    fn effective(&self, claimant: &Claimant<'a>, options: RequestOptions<'_>) -> Amounts<'a> {
        let Some(given) = claimant
            .status
            .as_ref()
            .filter(|_| options.use_status_resources)
        else {
            return claimant.spec.clone();
        };
        let Given {
            actuated,
            allocated,
        } = given;
        amounts::while_resized(&claimant.spec, allocated, actuated, self.resize_infeasible)
    }
}

impl<'a> Claimant<'a> {
    fn container(
        list: &str,
        index: usize,
        container: &'a Container,
        status: Option<&(String, &'a ContainerStatus)>,
    ) -> Result<Self, BadQuantity> {
        let spec = requests(container.resources.as_ref(), || {
            format!("spec.{list}[{index}].resources.requests")
        })?;
        let given = match status {
            Some((path, status)) => match &status.resources {
                Some(resources) => Some(Given {
                    actuated: requests(Some(resources), || format!("{path}.resources.requests"))?,
                    allocated: parse(status.allocated_resources.as_ref(), || {
                        format!("{path}.allocatedResources")
                    })?,
                }),
                None => None,
            },
            None => None,
        };
        Ok(Self {
            spec,
            status: given,
        })
    }
}

fn pod_level(pod: &Pod) -> Result<Option<Claimant<'_>>, BadQuantity> {
    let resources = pod.spec.as_ref().and_then(|spec| spec.resources.as_ref());
    let mut spec = requests(resources, || "spec.resources.requests".to_owned())?;
    spec.retain(|name, _| is_pod_level(name));
    if spec.is_empty() {
        return Ok(None);
    }
    let status = match &pod.status {
        Some(status) => match &status.resources {
            Some(resources) => Some(Given {
                actuated: requests(Some(resources), || "status.resources.requests".to_owned())?,
                allocated: parse(status.allocated_resources.as_ref(), || {
                    "status.allocatedResources".to_owned()
                })?,
            }),
            None => None,
        },
        None => None,
    };
    Ok(Some(Claimant { spec, status }))
}

/// Statuses of containers and init containers with their paths; of one name the last counts.
fn statuses_by_name(pod: &Pod) -> BTreeMap<&str, (String, &ContainerStatus)> {
    let mut statuses = BTreeMap::new();
    let Some(status) = &pod.status else {
        return statuses;
    };
    for (list, entries) in [
        ("containerStatuses", &status.container_statuses),
        ("initContainerStatuses", &status.init_container_statuses),
    ] {
        for (i, entry) in entries.iter().flatten().enumerate() {
            statuses.insert(&*entry.name, (format!("status.{list}[{i}]"), entry));
        }
    }
    statuses
}

/// Upstream's `IsPodResizeInfeasible`: the first condition `PodResizePending` decides.
fn is_resize_infeasible(pod: &Pod) -> bool {
    pod.status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten())
        .find(|condition| condition.type_ == "PodResizePending")
        .is_some_and(|condition| condition.reason.as_deref() == Some("Infeasible"))
}

fn requests(
    resources: Option<&ResourceRequirements>,
    field: impl Fn() -> String,
) -> Result<Amounts<'_>, BadQuantity> {
    parse(resources.and_then(|r| r.requests.as_ref()), field)
}

fn parse(
    list: Option<&BTreeMap<String, ApiQuantity>>,
    field: impl Fn() -> String,
) -> Result<Amounts<'_>, BadQuantity> {
    let mut amounts = Amounts::new();
    for (name, ApiQuantity(text)) in list.into_iter().flatten() {
        let bad = |message: &dyn std::fmt::Display| BadQuantity {
            field: format!("{}[{name}]", field()),
            message: format!("Invalid value: {text:?}: {message}"),
        };
        let amount: Quantity = text.parse().map_err(|error| bad(&error))?;
        if amount.is_negative() {
            return Err(bad(&"must be greater than or equal to 0"));
        }
        amounts.insert(&**name, amount);
    }
    Ok(amounts)
}

#[cfg(test)]
mod tests;
