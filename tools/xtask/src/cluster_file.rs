//! A large cluster as one file of JSON, to measure `stowplan simulate` with:
//!
//! ```text
//! cargo xtask cluster-file > /tmp/large.json
//! /usr/bin/time -v target/release/stowplan simulate -f /tmp/large.json > /dev/null
//! ```

use serde_json::{Value, json};
use std::io::{self, Write};

const NODES: usize = 20_000;
const PODS: usize = 50_000;
/// Pods are replicas of so many templates.
const TEMPLATES: usize = 800;
const ZONES: usize = 6;

/// Writes 20,000 nodes and 50,000 pending pods of 800 templates as a `List`, item by item.
pub fn write(out: &mut dyn Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    out.write_all(br#"{"apiVersion":"v1","kind":"List","items":["#)?;
    let items = (0..NODES).map(node).chain((0..PODS).map(pod));
    for (i, item) in items.enumerate() {
        if i > 0 {
            out.write_all(b",\n")?;
        }
        serde_json::to_writer(&mut out, &item)?;
    }
    out.write_all(b"]}\n")?;
    out.flush()
}

fn node(i: usize) -> Value {
    let name = format!("node-{i:05}");
    let (cores, zone) = ([8, 16, 32, 64][i % 4], i % ZONES);
    let has = json!({
        "cpu": cores.to_string(),
        "memory": format!("{}Gi", cores * 4),
        "ephemeral-storage": "200Gi",
        "pods": "110",
    });
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": if i.is_multiple_of(5) { "arm64" } else { "amd64" },
            "node.kubernetes.io/instance-type": format!("m{cores}"),
            "topology.kubernetes.io/region": "r1",
            "topology.kubernetes.io/zone": format!("r1-{zone}"),
        }},
        "spec": {"providerID": format!("cloud:///r1-{zone}/{name}")},
        "status": {"capacity": has, "allocatable": has, "conditions": [
            {"type": "Ready", "status": "True", "reason": "KubeletReady"},
        ]},
    })
}

fn pod(i: usize) -> Value {
    let template = i % TEMPLATES;
    let app = format!("app-{template:03}");
    let mut spec = json!({"containers": [{
        "name": "main",
        "image": format!("registry.example.com/team-{}/{app}:v{}", template % 40, template % 7),
        "resources": {"requests": {
            "cpu": format!("{}m", 100 + 50 * (template % 8)),
            "memory": format!("{}Mi", 128 << (template % 4)),
        }},
    }]});
    match template % 8 {
        1 => spec["nodeSelector"] = json!({"kubernetes.io/arch": "arm64"}),
        2 => {
            spec["topologySpreadConstraints"] = json!([{
                "maxSkew": 5,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app": app}},
            }]);
        }
        _ => {}
    }
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("{app}-{}", i / TEMPLATES),
            "namespace": format!("team-{}", template % 40),
            "labels": {"app": app, "tier": if template.is_multiple_of(3) { "web" } else { "batch" }},
        },
        "spec": spec,
    })
}
