//! Resources of kinds that are known by name only, and their scales: client-go's `RESTMapper` and its client
//! for scales, as steps of a plan.

use crate::{Answer, Cx, Failure, Plan};
use serde_json::Value;

/// What a server calls the objects of a kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Served {
    /// Where the version of the group begins, such as `/apis/apps/v1`.
    pub root: String,
    /// The group; empty for the core group.
    pub group: String,
    /// The resource, as in URLs.
    pub plural: String,
    /// Whether the objects have a scale.
    pub has_scale: bool,
}

impl Served {
    /// Resource and group as upstream prints them: `deployments.apps`.
    pub fn group_resource(&self) -> String {
        match self.group.as_str() {
            "" => self.plural.clone(),
            group => format!("{}.{group}", self.plural),
        }
    }

    /// Where the scale of an object is.
    pub fn scale_path(&self, namespace: &str, name: &str) -> String {
        let Self { root, plural, .. } = self;
        format!("{root}/namespaces/{namespace}/{plural}/{name}/scale")
    }
}

/// Group and version of an `apiVersion`. Upstream's `ParseGroupVersion`.
pub fn group_version(text: &str) -> Result<(&str, &str), String> {
    match text.split('/').collect::<Vec<_>>()[..] {
        ["", ""] | [""] => Ok(("", "")),
        [version] => Ok(("", version)),
        [group, version] => Ok((group, version)),
        _ => Err(format!("unexpected GroupVersion string: {text}")),
    }
}

/// Finds out what the server calls a kind, in this version or in the one that the server prefers, and goes
/// on with it, or with the reason why it is not known.
pub fn served(
    group: &str,
    version: Option<&str>,
    kind: &str,
    then: impl FnOnce(&Cx<'_>, Result<Served, String>) -> Plan + Send + 'static,
) -> Plan {
    let (group, kind) = (group.to_owned(), kind.to_owned());
    let fixed = match (group.as_str(), version) {
        ("", _) => Some("/api/v1".to_owned()),
        (group, Some(version)) => Some(format!("/apis/{group}/{version}")),
        _ => None,
    };
    let none = match version {
        Some(version) if !group.is_empty() => {
            format!("no matches for kind {kind:?} in version \"{group}/{version}\"")
        }
        Some(version) => format!("no matches for kind {kind:?} in version {version:?}"),
        None => format!("no matches for kind {kind:?} in group {group:?}"),
    };
    if let Some(root) = fixed {
        return look_in(vec![root], group, kind, none, then);
    }
    let path = format!("/apis/{group}");
    Plan::read(vec![path], move |cx, answers| match answers.first() {
        Some(Ok(found)) => look_in(roots(&group, found), group, kind, none, then),
        Some(Err(failure)) if failure.code != 404 => then(cx, Err(failure.message.clone())),
        _ => then(cx, Err(none)),
    })
}

/// The versions of a group, the preferred one first.
fn roots(group: &str, found: &Value) -> Vec<String> {
    let preferred = found["preferredVersion"]["version"].as_str();
    let versions = found["versions"].as_array().into_iter().flatten();
    let versions = versions.filter_map(|version| version["version"].as_str());
    let others = versions.filter(|version| Some(*version) != preferred);
    let all = preferred.into_iter().chain(others);
    all.map(|version| format!("/apis/{group}/{version}"))
        .collect()
}

fn look_in(
    roots: Vec<String>,
    group: String,
    kind: String,
    none: String,
    then: impl FnOnce(&Cx<'_>, Result<Served, String>) -> Plan + Send + 'static,
) -> Plan {
    Plan::read(roots.clone(), move |cx, answers| {
        let mut all = roots.iter().zip(answers);
        let found = all.find_map(|(root, answer)| {
            let list = answer.as_ref().ok()?["resources"].as_array()?;
            let is_it = |one: &&Value| one["kind"] == *kind && !text(one, "name").contains('/');
            let plural = text(list.iter().find(is_it)?, "name").to_owned();
            let scale = format!("{plural}/scale");
            Some(Served {
                root: root.clone(),
                group: group.clone(),
                has_scale: list.iter().any(|one| text(one, "name") == scale),
                plural,
            })
        });
        let broken = answers.iter().find_map(broken);
        match (found, broken) {
            (Some(found), _) => then(cx, Ok(found)),
            (None, Some(why)) => then(cx, Err(why)),
            (None, None) => then(cx, Err(none)),
        }
    })
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// Why an answer says nothing; that there is nothing of that name says something.
fn broken(answer: &Answer) -> Option<String> {
    let failure = answer
        .as_ref()
        .err()
        .filter(|failure| failure.code != 404)?;
    Some(failure.message.clone())
}

/// What the server calls the workloads that everybody knows, without asking.
pub fn well_known(group: &str, kind: &str) -> Option<Served> {
    let plural = match (group, kind) {
        ("apps", "Deployment") => "deployments",
        ("apps", "ReplicaSet") => "replicasets",
        ("apps", "StatefulSet") => "statefulsets",
        ("", "ReplicationController") => "replicationcontrollers",
        _ => return None,
    };
    let root = if group.is_empty() {
        "/api/v1"
    } else {
        "/apis/apps/v1"
    };
    Some(Served {
        root: root.to_owned(),
        group: group.to_owned(),
        plural: plural.to_owned(),
        has_scale: true,
    })
}

/// Why something could not be read, in client-go's words: it says what was asked for if the server did not
/// know the path, or had no time.
pub fn unread(failure: &Failure, what: &str) -> String {
    let generic = match failure.code {
        404 => "the server could not find the requested resource",
        503 => "the server is currently unable to handle the request",
        _ => return failure.message.clone(),
    };
    let is_status = matches!(failure.reason.as_str(), "NotFound" | "ServiceUnavailable");
    match is_status && failure.message != generic {
        true => failure.message.clone(),
        false => format!("{generic} (get {what})"),
    }
}

/// A text as a part of the query of a URL.
pub fn query_escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                escaped.push(char::from(byte));
            }
            other => escaped.push_str(&format!("%{other:02X}")),
        }
    }
    escaped
}
