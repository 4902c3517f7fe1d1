//! What has to be written for something to happen.

use super::{Act, Batch};
use crate::manifests::{Unreadable, job};
use serde_json::{Value, json};
use stowplan_nodes::{FAIL_PROBES, FAULT, RUN_FOR};

const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// A request.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Write {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) content_type: &'static str,
    pub(crate) body: Value,
}

impl Act {
    /// The requests that let it happen. To send them twice does what sending them once does.
    pub(crate) fn writes(&self) -> Result<Vec<Write>, Unreadable> {
        Ok(match self {
            Self::Release { app, version } => vec![image(app, *version, None)],
            Self::BadRelease { app, version } => vec![image(app, *version, Some("readiness"))],
            Self::RollBack { app, version } => vec![image(app, *version, None)],
            Self::Queue(queue) => {
                let made: Result<_, _> = queue.iter().map(create).collect();
                made?
            }
            Self::FailNode(node) => vec![fault(node, Some("fail"))],
            Self::RecoverNode(node) => vec![fault(node, None)],
        })
    }
}

/// A Deployment of the shop gets another image.
fn image(app: &str, version: u32, broken: Option<&str>) -> Write {
    let image = format!("registry.example.com/shop/{app}:1.{version}.0");
    Write {
        method: "PATCH",
        path: format!("/apis/apps/v1/namespaces/shop/deployments/{app}"),
        content_type: STRATEGIC,
        body: json!({
            "metadata": {"annotations": {"kubernetes.io/change-cause": format!("image {image}")}},
            "spec": {"template": {
                "metadata": {"annotations": {FAIL_PROBES: broken}},
                "spec": {"containers": [{"name": app, "image": image}]},
            }},
        }),
    }
}

fn create(batch: &Batch) -> Result<Write, Unreadable> {
    let mut body = job(batch.kind)?;
    body["metadata"]["name"] = batch.name.as_str().into();
    body["spec"]["parallelism"] = batch.pods.into();
    body["spec"]["completions"] = batch.pods.into();
    let annotations = &mut body["spec"]["template"]["metadata"]["annotations"];
    annotations[RUN_FOR] = format!("{}s", batch.run_s).into();
    Ok(Write {
        method: "POST",
        path: format!("/apis/batch/v1/namespaces/{}/jobs", batch.kind.namespace()),
        content_type: "application/json",
        body,
    })
}

/// A node fails, or is well again.
pub(crate) fn fault(node: &str, fault: Option<&str>) -> Write {
    Write {
        method: "PATCH",
        path: format!("/api/v1/nodes/{node}"),
        content_type: MERGE,
        body: json!({"metadata": {"annotations": {FAULT: fault}}}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story::Kind;

    #[test]
    fn a_job_has_its_size_and_knows_how_long_it_runs() {
        let batch = Batch {
            kind: Kind::Deadline,
            name: "deadline-3-1".to_owned(),
            pods: 2,
            run_s: 75,
        };
        let writes = Act::Queue(vec![batch]).writes().unwrap();
        let [made] = &writes[..] else {
            panic!("{writes:?}")
        };
        assert_eq!(made.path, "/apis/batch/v1/namespaces/research/jobs");
        assert_eq!(made.body["metadata"]["name"], "deadline-3-1");
        assert_eq!(made.body["spec"]["completions"], 2);
        let annotations = &made.body["spec"]["template"]["metadata"]["annotations"];
        assert_eq!(annotations["stowplan.dev/run-for"], "75s");
    }

    #[test]
    fn what_is_rolled_back_is_well_again() {
        let broken = |act: Act| {
            let body = act.writes().unwrap().remove(0).body;
            body["spec"]["template"]["metadata"]["annotations"][FAIL_PROBES].clone()
        };
        let (app, version) = ("search", 1);
        assert_eq!(broken(Act::BadRelease { app, version }), "readiness");
        assert_eq!(broken(Act::RollBack { app, version }), Value::Null);
    }
}
