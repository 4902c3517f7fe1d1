//! Making room by force.

use crate::home::Home;
use crate::world::wait;
use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::api::{Patch, PatchParams};
use serde_json::json;

/// The victim is the one that no budget protects; it is told why, and the pod takes its place.
pub(crate) async fn spares_budgets(home: &mut Home) -> Result<()> {
    let first = home.scheduler("preemption-1", &[])?;
    let world = &home.world;
    for (name, value) in [("e2e-low", 10), ("e2e-high", 1000)] {
        let class = json!({"metadata": {"name": name}, "value": value});
        world.make::<PriorityClass>(class).await?;
    }
    for name in ["a", "b"] {
        world.node(name, "1", json!({})).await?;
    }
    let low = json!({"priorityClassName": "e2e-low"});
    // Admission learns of classes a little later.
    let guarded = || async { Ok(Some(world.pod("guarded", "1", low.clone()).await?)) };
    wait("the priority class to be known", guarded).await?;
    world.pod("plain", "1", low.clone()).await?;
    let guarded = world.bound("guarded").await?;
    let plain = world.bound("plain").await?;
    ensure!(guarded != plain, "both pods are on {plain}");
    let budget = json!({
        "metadata": {"name": "guard"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}},
    });
    world.put::<PodDisruptionBudget>(budget).await?;
    let counted = || async {
        let budget = world.own::<PodDisruptionBudget>().get("guard").await?;
        Ok(budget
            .status
            .filter(|status| status.current_healthy == Some(1)))
    };
    wait("the budget to be counted", counted).await?;
    // The next one knows the budget before it decides.
    let _second = home.next_scheduler(first, "preemption-2").await?;
    let world = &home.world;
    // A finalizer keeps the victim, so that what the scheduler told it can be read.
    let keep = Patch::Merge(json!({"metadata": {"finalizers": ["example.com/keep"]}}));
    let pods = world.own::<Pod>();
    let params = PatchParams::default();
    pods.patch("plain", &params, &keep).await?;

    let high = json!({"priorityClassName": "e2e-high"});
    world.pod("urgent", "1", high).await?;
    let victim = || async {
        let pod = world.get_pod("plain").await?;
        Ok(pod.metadata.deletion_timestamp.is_some().then_some(pod))
    };
    let victim = wait("the victim to be told to go", victim).await?;
    let conditions = victim.status.and_then(|status| status.conditions);
    let target = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition.type_ == "DisruptionTarget");
    let reason = target.as_ref().and_then(|c| c.reason.as_deref());
    ensure!(
        reason == Some("PreemptionByScheduler"),
        "the victim's condition is {target:?}"
    );
    let nominated = || async {
        let status = world.get_pod("urgent").await?.status;
        Ok(status.and_then(|status| status.nominated_node_name))
    };
    let node = wait("the nomination", nominated).await?;
    ensure!(node == plain, "nominated {node}, expected {plain}");
    world.event("plain", "Preempted").await?;

    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    pods.patch("plain", &params, &free).await?;
    world.bound_to("urgent", &plain).await?;
    let guarded = world.get_pod("guarded").await?;
    ensure!(
        guarded.metadata.deletion_timestamp.is_none(),
        "the guarded pod was evicted"
    );
    Ok(())
}
