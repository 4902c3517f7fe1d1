//! What a request is about, read off its method and URL.
//!
//! Upstream: `k8s.io/apiserver/pkg/endpoints/request/requestinfo.go`.

use super::Query;
use http::Method;
use stowplan_apimachinery::{fields, names};

/// The verb and the object or path that it is applied to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Info {
    /// Whether this is about an object of some kind; otherwise only `verb` and `path` count.
    pub(crate) is_resource: bool,
    /// The whole path.
    pub(crate) path: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, or for
    /// other paths the method in lower case.
    pub(crate) verb: String,
    /// Empty for the core group.
    pub(crate) group: String,
    /// `v1`
    pub(crate) version: String,
    /// Empty if there is none.
    pub(crate) namespace: String,
    /// The plural name.
    pub(crate) resource: String,
    /// `status`; empty if there is none.
    pub(crate) subresource: String,
    /// Empty if there is none.
    pub(crate) name: String,
    /// Whether the name stands in the URL (a field selector on `metadata.name` names too).
    pub(crate) named: bool,
    /// Whether the path goes through a namespace to something in it.
    pub(crate) in_namespace: bool,
    /// Whether the path has one of the old prefixes `watch` and `proxy`, which decide the verb
    /// whatever the method is.
    pub(crate) prefixed: bool,
    /// Resource, name, subresource and whatever follows.
    pub(crate) parts: Vec<String>,
}

impl Info {
    /// Reads a request line.
    pub(crate) fn new(method: &Method, path: &str, query: &Query) -> Self {
        let mut info = Self {
            path: path.to_owned(),
            verb: method.as_str().to_ascii_lowercase(),
            ..Self::default()
        };
        let trimmed = path.trim_matches('/');
        let parts: Vec<&str> = trimmed.split('/').collect();
        let mut parts = match parts.as_slice() {
            ["api", version, rest @ ..] if !rest.is_empty() => {
                info.version = (*version).to_owned();
                rest
            }
            ["apis", group, version, rest @ ..] if !rest.is_empty() => {
                info.group = (*group).to_owned();
                info.version = (*version).to_owned();
                rest
            }
            _ => return info,
        };
        info.is_resource = true;
        info.verb = match *method {
            Method::POST => "create",
            Method::GET | Method::HEAD => "get",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE => "delete",
            _ => "",
        }
        .to_owned();
        if let ["watch" | "proxy", rest @ ..] = parts {
            if rest.is_empty() {
                return info;
            }
            info.verb = parts.first().copied().unwrap_or_default().to_owned();
            info.prefixed = true;
            parts = rest;
        }
        if let ["namespaces", namespace, rest @ ..] = parts {
            info.namespace = (*namespace).to_owned();
            if !matches!(rest, [] | ["status" | "finalize", ..]) {
                info.in_namespace = !namespace.is_empty();
                parts = rest;
            }
        }
        info.parts = parts.iter().map(|&part| part.to_owned()).collect();
        let part = |i: usize| parts.get(i).copied().unwrap_or_default().to_owned();
        info.resource = part(0);
        info.name = part(1);
        info.named = !info.name.is_empty();
        if info.verb != "proxy" {
            info.subresource = part(2);
        }
        info.settle_verb(query);
        info
    }

    fn settle_verb(&mut self, query: &Query) {
        if !self.name.is_empty() {
            return;
        }
        match self.verb.as_str() {
            "get" => {
                let watch = query.flag("watch") == Some(true);
                self.verb = if watch { "watch" } else { "list" }.to_owned();
                let numbers = ["limit", "timeoutSeconds"].map(|name| query.number(name).is_ok());
                let selector = query.get("fieldSelector").map(fields::parse);
                if let (Some(Ok(selector)), [true, true]) = (selector, numbers)
                    && let Some(name) = selector.required("metadata.name")
                    && names::path_segment(name, false).is_empty()
                {
                    self.name = name.to_owned();
                }
            }
            "delete" => self.verb = "deletecollection".to_owned(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(method: Method, url: &str) -> Info {
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        Info::new(&method, path, &Query::parse(query))
    }

    #[test]
    fn urls_say_what_they_are_about() {
        let pod = info(Method::GET, "/api/v1/namespaces/n/pods/p/log");
        assert!(pod.is_resource);
        let read = [&pod.namespace, &pod.resource, &pod.name, &pod.subresource];
        assert_eq!(read, ["n", "pods", "p", "log"]);
        for (method, url, verb) in [
            (Method::GET, "/apis/apps/v1/deployments", "list"),
            (Method::GET, "/apis/apps/v1/deployments?watch=1", "watch"),
            (Method::GET, "/apis/apps/v1/watch/deployments", "watch"),
            (
                Method::DELETE,
                "/api/v1/namespaces/n/pods",
                "deletecollection",
            ),
            (Method::DELETE, "/api/v1/namespaces/n", "delete"),
            (Method::PUT, "/api/v1/namespaces/n/finalize", "update"),
            (Method::GET, "/apis/apps/v1", "get"),
            (Method::OPTIONS, "/healthz", "options"),
        ] {
            assert_eq!(info(method, url).verb, verb, "{url}");
        }
        assert!(pod.in_namespace && !info(Method::GET, "/api/v1/namespaces/n").in_namespace);
        let finalize = info(Method::PUT, "/api/v1/namespaces/n/finalize");
        assert_eq!([&finalize.resource, &finalize.name], ["namespaces", "n"]);
        assert!(!info(Method::GET, "/apis/apps/v1").is_resource);
        let selected = info(Method::GET, "/api/v1/pods?fieldSelector=metadata.name%3Da");
        assert_eq!((selected.name.as_str(), selected.named), ("a", false));
    }
}
