//! DynamicResources. Upstream's `pkg/scheduler/framework/plugins/dynamicresources`.
//!
//! Claims are tracked exactly, so that pods wait for theirs as upstream's do; devices are not
//! allocated yet, so a pod that needs some fits nowhere.

use super::change::{pod_change, unexpected};
use super::normalize;
use crate::NodeInfo;
use crate::framework::args::{Args, FieldError, Fields};
use crate::framework::{
    Action, AnyPlugin, ClusterEvent, Code, Cx, EnqueueExtensions, EventResource, Filter,
    FilterState, Fit, Hint, Nomination, NormalizeScore, Plugin, PluginBuilder, PostFilter,
    PostFilterCx, PostFilterResult, PreBind, PreEnqueue, PreFilter, PreFilterResult, Range, Reads,
    Registration, Reserve, Scope, Score, ScoreState, Slot, Status, Step,
};
use crate::model::{Object, Pod, PodClaimSource, ResourceClaim};
use std::sync::Arc;
use stowplan_base::resource_names::is_extended;
use stowplan_base::{Duration, Names, Sym};

#[cfg(test)]
mod tests;

/// `DynamicResourcesArgs`.
#[derive(Clone, Debug)]
pub struct DynamicResourcesArgs {
    /// `filterTimeout`: how long the search for devices may take per node; 0 for any time.
    pub filter_timeout: Duration,
    /// `bindingTimeout`: how long PreBind waits for devices.
    pub binding_timeout: Duration,
}

impl Default for DynamicResourcesArgs {
    fn default() -> Self {
        Self {
            filter_timeout: Duration::from_secs(10),
            binding_timeout: Duration::from_secs(600),
        }
    }
}

impl Args for DynamicResourcesArgs {
    fn decode(fields: &mut Fields<'_>) -> Result<Self, FieldError> {
        let default = Self::default();
        let filter_timeout = fields.get("filterTimeout", default.filter_timeout)?;
        let binding_timeout = fields.get("bindingTimeout", default.binding_timeout)?;
        let holds = filter_timeout >= Duration::ZERO;
        fields.check(
            holds,
            "filterTimeout",
            filter_timeout,
            "must be zero or positive",
        );
        let holds = binding_timeout >= Duration::from_secs(1);
        fields.check(
            holds,
            "bindingTimeout",
            binding_timeout,
            "must be at least 1 second",
        );
        Ok(Self {
            filter_timeout,
            binding_timeout,
        })
    }
}

/// The plugin: a pod goes where its claims can be had.
#[derive(Clone, Debug)]
pub struct DynamicResources;

/// What PreFilter leaves of a pod that needs devices.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Whether `spec.resourceClaims` name claims.
    claims: bool,
    /// The extended resources that the pod asks for.
    extended: Box<[ExtendedRequest]>,
}

#[derive(Clone, Copy, Debug)]
struct ExtendedRequest {
    resource: Sym,
    /// Whether a device class stands for it.
    has_class: bool,
}

impl DynamicResources {
    /// The plugin with its arguments. They bound the search for an allocation, of which there is
    /// none yet.
    pub fn new(_args: DynamicResourcesArgs) -> Self {
        Self
    }
}

/// The claims of a pod, or why they cannot be had yet. Upstream's `foreachPodResourceClaim`.
fn claims_of<'a>(cx: Cx<'a>, pod: &Pod) -> Result<Vec<&'a Arc<ResourceClaim>>, String> {
    let mut claims = Vec::new();
    for entry in &pod.resource_claims {
        let (name, generated) = match entry.source {
            PodClaimSource::Named(name) => (name, false),
            PodClaimSource::Template {
                claim: Some(name), ..
            } => (name, true),
            PodClaimSource::Template {
                generated: true,
                claim: None,
            } => continue,
            PodClaimSource::Template {
                generated: false,
                claim: None,
            } => {
                return Err(format!(
                    "pod \"{}\": ResourceClaim not created yet",
                    pod.key
                ));
            }
            PodClaimSource::Unsupported => {
                return Err(format!(
                    "pod \"{}\", spec.resourceClaim {:?}: none of the supported fields are set",
                    pod.key,
                    cx.cluster.names.text(entry.name)
                ));
            }
        };
        claims.push(claim_of(cx, pod, name, generated)?);
    }
    Ok(claims)
}

fn claim_of<'a>(
    cx: Cx<'a>,
    pod: &Pod,
    name: Sym,
    generated: bool,
) -> Result<&'a Arc<ResourceClaim>, String> {
    let text = cx.cluster.names.text(name);
    let namespace = &pod.key.namespace;
    let claim = cx.cluster.resource_claims.get(pod.namespace, name);
    let claim =
        claim.ok_or_else(|| format!("could not find ResourceClaim \"{namespace}/{text}\""))?;
    if claim.terminating {
        return Err(format!("resourceclaim {text:?} is being deleted"));
    }
    let owned = || {
        claim
            .controller
            .as_ref()
            .is_some_and(|owner| owner.uid == pod.uid)
    };
    if generated && !owned() {
        return Err(format!(
            "ResourceClaim {namespace}/{text} was not created for Pod {} (Pod is not owner)",
            pod.key
        ));
    }
    Ok(claim)
}

/// The extended resources that a pod asks for, if a device class stands for one of them.
fn extended_requests(cx: Cx<'_>, pod: &Pod) -> Box<[ExtendedRequest]> {
    if !cx.cluster.has_extended_resources() {
        return Box::default();
    }
    let requests: Box<[_]> = pod
        .requests
        .spec_columns
        .iter()
        .map(|(id, _)| cx.cluster.resource_names.name(id))
        .filter(|resource| is_dra_extended(*resource, &cx.cluster.names))
        .map(|resource| ExtendedRequest {
            resource,
            has_class: cx.cluster.device_class_for(resource).is_some(),
        })
        .collect();
    if requests.iter().any(|request| request.has_class) {
        requests
    } else {
        Box::default()
    }
}

fn is_dra_extended(resource: Sym, names: &Names) -> bool {
    let name = names.text(resource);
    is_extended(name) || name.starts_with("deviceclass.resource.kubernetes.io/")
}

fn waits(reason: String) -> Status {
    Status::made(Code::UnschedulableAndUnresolvable, reason)
}

impl DynamicResources {
    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self)
            .pre_enqueue()
            .pre_filter()
            .filter()
            .filter_state()
            .post_filter()
            .score()
            .normalize_score()
            .score_state()
            .reserve()
            .pre_bind()
            .enqueue_extensions()
            .build()
    }
}

impl Plugin for DynamicResources {
    type FilterState = Needs;
    type ScoreState = ();
}

impl PreEnqueue for DynamicResources {
    fn pre_enqueue(&self, cx: Cx<'_>, pod: &Pod) -> Fit {
        if pod.resource_claims.is_empty() {
            return Ok(());
        }
        claims_of(cx, pod).map_err(waits)?;
        Ok(())
    }
}

impl PreFilter for DynamicResources {
    fn pre_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilterResult<Needs> {
        let claims = match claims_of(cx, pod) {
            Ok(claims) => !claims.is_empty(),
            Err(reason) => return PreFilterResult::Rejected(waits(reason)),
        };
        let extended = extended_requests(cx, pod);
        if claims || !extended.is_empty() {
            PreFilterResult::Ready(Needs { claims, extended })
        } else {
            PreFilterResult::Skip
        }
    }
}

impl Filter for DynamicResources {
    fn filter(&self, _cx: Cx<'_>, needs: &Needs, _pod: &Pod, node: &NodeInfo) -> Fit {
        let mut from_devices = needs.claims;
        for request in &needs.extended {
            let offered = node.node.allocatable_list.get(request.resource);
            match offered {
                None if !request.has_class => {
                    return Err(Status::unresolvable("cannot fit resource"));
                }
                Some(amount) if amount.value() != 0 || !request.has_class => {}
                // No device plugin offers it here: it would have to come from a claim.
                None | Some(_) => from_devices = true,
            }
        }
        if from_devices {
            return Err(Status::unresolvable(
                "resource claims cannot be allocated yet",
            ));
        }
        Ok(())
    }
}

impl FilterState<DynamicResources> for Needs {
    const SCOPE: Scope = Scope::Cluster;

    fn ignores(_plugin: &DynamicResources, pod: &Pod) -> bool {
        pod.resource_claims.is_empty() && !pod.requests.spec_columns.has_scalars()
    }
}

impl PostFilter for DynamicResources {
    fn post_filter(
        &self,
        _cx: &mut PostFilterCx<'_>,
        needs: Slot<&Needs>,
        _pod: &Pod,
    ) -> PostFilterResult {
        let status = match needs {
            Slot::Absent | Slot::Broken(_) => Status::error("not found"),
            Slot::Skipped | Slot::Resting(_) | Slot::Rejected => {
                Status::unschedulable("no new claims to deallocate")
            }
            Slot::Ready(_) => Status::unschedulable("still not schedulable"),
        };
        PostFilterResult {
            status: Err(status),
            nomination: Nomination::Keep,
            preemption: None,
        }
    }
}

impl Score for DynamicResources {
    fn score(&self, _cx: Cx<'_>, _state: &(), _pod: &Pod, _node: &NodeInfo) -> Option<i64> {
        Some(0)
    }

    fn score_from_filter(&self, needs: Slot<&Needs>) -> Result<(), Status> {
        match needs {
            Slot::Absent | Slot::Broken(_) => Err(Status::error("not found")),
            Slot::Skipped | Slot::Resting(_) | Slot::Rejected | Slot::Ready(_) => Ok(()),
        }
    }
}

impl Reserve for DynamicResources {
    fn reserve(
        &self,
        _cx: Cx<'_>,
        _state: Slot<&Needs>,
        _pod: &Pod,
        _node: Sym,
    ) -> Result<Vec<Object>, Status> {
        Ok(Vec::new())
    }
}

impl PreBind for DynamicResources {
    fn pre_bind(
        &self,
        _cx: Cx<'_>,
        _state: Slot<&Needs>,
        _pod: &Pod,
        _node: Sym,
    ) -> Result<Vec<Step>, Status> {
        Ok(Vec::new())
    }
}

impl NormalizeScore for DynamicResources {
    fn normalize(&self, _state: &(), raw: i64, over: Range) -> i64 {
        normalize::proportional(raw, over)
    }
}

impl ScoreState<DynamicResources> for () {
    const SCOPE: Scope = Scope::Object;

    /// Nothing: no claim can be allocated yet, so all nodes score the same.
    fn reads(&self, _plugin: &DynamicResources, _pod: &Pod) -> Option<Reads> {
        Some(Reads::default())
    }
}

impl EnqueueExtensions for DynamicResources {
    fn events(&self) -> Vec<Registration> {
        use EventResource::{DeviceClass, Node, Pod, ResourceClaim, ResourceSlice};
        let add_or_update = Action::ADD.or(Action::UPDATE);
        let node = Action::ADD
            .or(Action::UPDATE_NODE_LABEL)
            .or(Action::UPDATE_NODE_ALLOCATABLE);
        vec![
            Registration::always(Node, node),
            Registration::hinted(ResourceClaim, add_or_update),
            Registration::hinted(Pod, Action::UPDATE_POD_GENERATED_RESOURCE_CLAIM),
            Registration::always(DeviceClass, add_or_update),
            Registration::always(ResourceSlice, add_or_update),
        ]
    }

    fn hint(
        &self,
        cx: Cx<'_>,
        event: &ClusterEvent,
        pod: &Pod,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Hint {
        if event.resource == EventResource::ResourceClaim {
            return match (old, new) {
                (None, Some(Object::ResourceClaim(new))) => after_claim_change(cx, pod, None, new),
                (Some(Object::ResourceClaim(old)), Some(Object::ResourceClaim(new))) => {
                    after_claim_change(cx, pod, Some(old), new)
                }
                _ => unexpected(),
            };
        }
        match pod_change(None, new) {
            Ok((_, new)) => Hint::queue_if(new.uid == pod.uid && claims_of(cx, new).is_ok()),
            Err(unexpected) => unexpected,
        }
    }
}

/// A claim appeared or changed. Upstream's `isSchedulableAfterClaimChange`.
fn after_claim_change(
    cx: Cx<'_>,
    pod: &Pod,
    old: Option<&ResourceClaim>,
    new: &ResourceClaim,
) -> Hint {
    // While a claim of the pod is missing, no change of another can help.
    let Ok(claims) = claims_of(cx, pod) else {
        return Hint::Skip;
    };
    // Whoever gave up devices, they may be what the pod needs.
    if old.is_some_and(|old| old.allocated) && !new.allocated {
        return Hint::Queue;
    }
    let uses = claims.iter().any(|claim| claim.uid == new.uid);
    Hint::queue_if(uses && old.is_none_or(|old| old.status != new.status))
}
