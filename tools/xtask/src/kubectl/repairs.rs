//! Keeps the real server's own events out of the comparison.
//!
//! kube-apiserver looks after service addresses at its start and every three minutes. If it meets a
//! Service before its address is entered, it tells so in an event, at a moment that nobody can
//! foresee. A policy refuses these events; those from before the policy are deleted.

use crate::kubernetes::{Cluster, wait_for};
use anyhow::{Context, Result, ensure};
use std::io::Write;
use std::process::Stdio;

const POLICY: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-repair-events}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: ["", events.k8s.io]
      apiVersions: ["*"]
      operations: [CREATE]
      resources: [events]
  validations:
  - expression: "!has(object.reason) || !object.reason.matches('^(ClusterIP|IPAddress|Port)[A-Z]')"
    message: repairs are not told of
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-repair-events}
spec:
  policyName: no-repair-events
  validationActions: [Deny]
"#;

/// An event as the repair would write it.
const PROBE: &str = r#"
apiVersion: v1
kind: Event
metadata: {name: probe, namespace: default}
involvedObject: {kind: Service, namespace: default, name: kubernetes}
reason: ClusterIPNotAllocated
"#;

/// Returns when no event of a repair is there and none can come.
pub(super) fn silence(cluster: &Cluster) -> Result<()> {
    ensure!(apply(cluster, &["apply"], POLICY)?, "the policy is refused");
    let refuses =
        || apply(cluster, &["create", "--dry-run=server"], PROBE).is_ok_and(|accepted| !accepted);
    wait_for("the policy against events of repairs", refuses)?;
    let mut command = cluster.kubectl();
    command.args(["delete", "events", "--all", "--namespace=default"]);
    let output = command.output().context("cannot run kubectl")?;
    ensure!(output.status.success(), "cannot delete events: {output:?}");
    Ok(())
}

/// Hands a manifest to a kubectl command. True if it succeeded.
pub(super) fn apply(cluster: &Cluster, command: &[&str], manifest: &str) -> Result<bool> {
    let mut kubectl = cluster.kubectl();
    kubectl.args(command).arg("--filename=-");
    kubectl.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = kubectl
        .stderr(Stdio::null())
        .spawn()
        .context("cannot run kubectl")?;
    let mut input = child.stdin.take().context("no input")?;
    input.write_all(manifest.as_bytes())?;
    drop(input);
    Ok(child.wait()?.success())
}
