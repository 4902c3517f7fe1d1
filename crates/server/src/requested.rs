//! How many requests were answered: `apiserver_request_total`.
//!
//! Upstream: `k8s.io/apiserver/pkg/endpoints/metrics`.

use crate::request::Request;
use crate::resource::Resources;
use crate::verbs::patch::is_apply;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

/// Counts of requests by what they asked for. Only names that are served are kept, so that nobody can make
/// it grow.
#[derive(Debug, Default)]
pub(crate) struct Requested(Mutex<BTreeMap<Labels, u64>>);

/// What requests have in common that are counted together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct Labels {
    group: String,
    version: String,
    resource: String,
    subresource: String,
    verb: &'static str,
    scope: &'static str,
    is_dry: bool,
    code: u16,
}

impl Requested {
    /// A request was answered with this code.
    pub(crate) fn count(&self, resources: &Resources, request: &Request, code: u16) {
        let labels = labels(resources, request, code);
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(labels).or_default() += 1;
    }

    /// Appends the counts in Prometheus' text format.
    pub(crate) fn write(&self, text: &mut String) {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        text.push_str(
            "# HELP apiserver_request_total Requests that were answered.\n\
             # TYPE apiserver_request_total counter\n",
        );
        for (labels, count) in counts.iter() {
            let Labels {
                group,
                version,
                resource,
                subresource,
                verb,
                scope,
                is_dry,
                code,
            } = labels;
            let dry_run = if *is_dry { "All" } else { "" };
            // Writing to a string does not fail. Names that are served need no escapes.
            let _ = writeln!(
                text,
                "apiserver_request_total{{code=\"{code}\",component=\"apiserver\",dry_run=\"{dry_run}\",\
                 group=\"{group}\",resource=\"{resource}\",scope=\"{scope}\",\
                 subresource=\"{subresource}\",verb=\"{verb}\",version=\"{version}\"}} {count}"
            );
        }
    }
}

fn labels(resources: &Resources, request: &Request, code: u16) -> Labels {
    let info = &request.info;
    let mut labels = Labels {
        verb: verb(request),
        is_dry: request.query.get("dryRun").is_some(),
        code,
        ..Labels::default()
    };
    if !info.is_resource {
        return labels;
    }
    let Some(resource) = resources.find(&info.group, &info.version, &info.resource) else {
        return labels;
    };
    labels.scope = match (info.named, info.namespace.is_empty()) {
        (true, _) => "resource",
        (false, false) => "namespace",
        (false, true) => "cluster",
    };
    labels.group.clone_from(&info.group);
    labels.version.clone_from(&info.version);
    labels.resource.clone_from(&info.resource);
    if resource.subresource(&info.subresource).is_some() {
        labels.subresource.clone_from(&info.subresource);
    }
    labels
}

/// Upstream's `cleanVerb`: methods, but for what a method does not tell.
fn verb(request: &Request) -> &'static str {
    match request.info.verb.as_str() {
        "create" | "post" => "POST",
        "get" => "GET",
        "list" => "LIST",
        "watch" => "WATCH",
        "update" | "put" => "PUT",
        "patch" if is_apply(request) => "APPLY",
        "patch" => "PATCH",
        "delete" => "DELETE",
        "deletecollection" => "DELETECOLLECTION",
        "head" => "HEAD",
        "connect" => "CONNECT",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{api, get, send};
    use serde_json::json;

    #[tokio::test]
    async fn requests_are_counted_by_what_they_ask_for() {
        let api = api().await;
        let map = json!({"metadata": {"name": "m"}});
        let maps = "/api/v1/namespaces/default/configmaps";
        for code in [201, 409] {
            assert_eq!(send(&api, "POST", maps, &[], &map).await.0, code);
        }
        get(&api, "/api/v1/namespaces/default/configmaps/m", "").await;
        get(&api, "/api/v1/nonsense-1", "").await;
        get(&api, "/api/v1/pods/a/nonsense-2", "").await;
        let mut text = String::new();
        api.requested().write(&mut text);
        let line = |verb: &str, scope: &str, code: u16| {
            format!(
                "apiserver_request_total{{code=\"{code}\",component=\"apiserver\",dry_run=\"\",group=\"\",\
                 resource=\"configmaps\",scope=\"{scope}\",subresource=\"\",verb=\"{verb}\",version=\"v1\"}} 1\n"
            )
        };
        for line in [
            line("POST", "namespace", 201),
            line("POST", "namespace", 409),
            line("GET", "resource", 200),
        ] {
            assert!(text.contains(&line), "{line}{text}");
        }
        assert!(!text.contains("nonsense"), "{text}");
    }
}
