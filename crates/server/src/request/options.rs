//! What a request says beside its object: dry run, field manager, grace, selectors.
//!
//! Upstream: `k8s.io/apimachinery/pkg/apis/meta/v1/validation` and `meta/internalversion/validation`.

use super::{Query, Request};
use serde_json::Value;
use stowplan_apimachinery::Status;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::meta::GroupKind;
use stowplan_apimachinery::{fields, go, labels};

pub(crate) use stowplan_registry::decode::FieldValidation;

/// `CreateOptions`, `UpdateOptions` and `PatchOptions`.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    /// As given, or else made from the User-Agent.
    pub(crate) field_manager: String,
    pub(crate) field_validation: FieldValidation,
    /// Whether this is an apply.
    pub(crate) applies: bool,
    /// Only for apply.
    pub(crate) force: bool,
}

/// Refuses a `timeout` that is no duration, before it is known who asks. How long it is makes no
/// difference here. Upstream: `WithRequestDeadline`.
pub(crate) fn check_timeout(request: &Request) -> Result<(), Status> {
    const LONG: [&str; 5] = ["attach", "exec", "proxy", "log", "portforward"];
    let info = &request.info;
    let is_long = matches!(&*info.verb, "watch" | "proxy");
    if is_long || (info.is_resource && LONG.contains(&&*info.subresource)) {
        return Ok(());
    }
    match request.query.get("timeout").unwrap_or_default() {
        "" => Ok(()),
        text => go::duration(text).map(drop).map_err(|fault| {
            let text = "invalid timeout specified in the request URL";
            Status::bad_request(format!("{text} - {fault}"))
        }),
    }
}

fn invalid(kind: &str, errors: ErrorList) -> Status {
    Status::invalid(&GroupKind::new("meta.k8s.io", kind), "", &errors)
}

impl WriteOptions {
    /// For what the server itself writes on the way.
    pub(crate) fn by_server(&self) -> Self {
        Self {
            dry_run: false,
            field_manager: "kube-apiserver".to_owned(),
            ..self.clone()
        }
    }

    /// Options of a create (`CreateOptions`) or an update (`UpdateOptions`).
    pub(crate) fn read(request: &Request, kind: &str) -> Result<Self, Status> {
        let mut errors = ErrorList::new();
        let options = Self::parse(request, &mut errors);
        match errors.is_empty() {
            true => Ok(options),
            false => Err(invalid(kind, errors)),
        }
    }

    /// Options of a patch.
    pub(crate) fn read_patch(request: &Request, apply: bool) -> Result<Self, Status> {
        let mut errors = ErrorList::new();
        let query = &request.query;
        if apply {
            if query.get("fieldManager").unwrap_or_default().is_empty() {
                errors.push(Error::required(
                    &Path::new("fieldManager"),
                    "is required for apply patch",
                ));
            }
        } else if query.get("force").is_some() {
            errors.push(Error::forbidden(
                &Path::new("force"),
                "may not be specified for non-apply patch",
            ));
        }
        let mut options = Self::parse(request, &mut errors);
        options.applies = apply;
        options.force = query.flag("force").unwrap_or_default();
        match errors.is_empty() {
            true => Ok(options),
            false => Err(invalid("PatchOptions", errors)),
        }
    }

    fn parse(request: &Request, errors: &mut ErrorList) -> Self {
        let query = &request.query;
        let manager = query.get("fieldManager").unwrap_or_default();
        check_manager(manager, errors);
        let dry_run = query.all("dryRun");
        check_dry_run(&dry_run, errors);
        let word = query.get("fieldValidation").unwrap_or_default();
        let field_validation = match word {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                let known = ["", "Ignore", "Strict", "Warn"];
                let place = Path::new("fieldValidation");
                errors.push(Error::not_supported(&place, other, &known));
                FieldValidation::Warn
            }
        };
        Self {
            dry_run: !dry_run.is_empty(),
            field_manager: match manager {
                "" => manager_of(request.header("user-agent")),
                manager => manager.to_owned(),
            },
            field_validation,
            applies: false,
            force: false,
        }
    }
}

/// The longest name of a field manager, in bytes.
const MANAGER_MAX: usize = 128;

fn check_manager(manager: &str, errors: &mut ErrorList) {
    let place = Path::new("fieldManager");
    if manager.len() > MANAGER_MAX {
        // Each error would quote all of it.
        errors.push(Error::too_long(&place, MANAGER_MAX));
        return;
    }
    for (at, c) in manager
        .char_indices()
        .filter(|(_, c)| !go::is_printable(*c))
    {
        let why = format!("invalid character U+{:04X} (at position {at})", c as u32);
        errors.push(Error::invalid(&place, manager, why));
    }
}

/// The field manager of a client that names none. Upstream: `prefixFromUserAgent`.
fn manager_of(user_agent: &str) -> String {
    let prefix = user_agent.split('/').next().unwrap_or_default();
    let mut out = String::new();
    for c in prefix.chars().filter(|c| go::is_printable(*c)) {
        if out.len() + c.len_utf8() > MANAGER_MAX {
            break;
        }
        out.push(c);
    }
    out
}

fn check_dry_run(values: &[String], errors: &mut ErrorList) {
    if values.iter().any(|value| value != "All") {
        let shown = Value::from(values.to_vec());
        errors.push(Error::not_supported(&Path::new("dryRun"), &shown, &["All"]));
    }
}

/// `DeleteOptions`.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) grace_period_seconds: Option<i64>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) orphan_dependents: Option<bool>,
    pub(crate) propagation_policy: Option<String>,
    pub(crate) dry_run: bool,
}

impl DeleteOptions {
    /// From the URL.
    pub(crate) fn from_query(query: &Query) -> Result<Self, Status> {
        let grace = query
            .number("gracePeriodSeconds")
            .map_err(Status::bad_request)?;
        let condition = |name: &str| {
            let value = query.get(name).filter(|value| !value.is_empty());
            value.map(str::to_owned)
        };
        let options = Self {
            grace_period_seconds: grace,
            orphan_dependents: query.flag("orphanDependents"),
            propagation_policy: query.get("propagationPolicy").map(str::to_owned),
            uid: condition("uid"),
            resource_version: condition("resourceVersion"),
            ..Self::default()
        };
        options.checked(&query.all("dryRun"))
    }

    /// From a decoded body.
    pub(crate) fn from_body(body: &Value) -> Result<Self, Status> {
        use stowplan_apimachinery::View;
        let dry_run = body.list("dryRun").iter();
        let dry_run: Vec<String> = dry_run
            .filter_map(|v| v.as_str().map(str::to_owned))
            .collect();
        Self::unchecked(body).checked(&dry_run)
    }

    /// From a decoded body, whatever it says.
    pub(crate) fn unchecked(body: &Value) -> Self {
        use stowplan_apimachinery::View;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let conditions = body.at("preconditions");
        Self {
            grace_period_seconds: body.int("gracePeriodSeconds"),
            uid: text(conditions.at("uid")),
            resource_version: text(conditions.at("resourceVersion")),
            orphan_dependents: body.at("orphanDependents").as_bool(),
            propagation_policy: text(body.at("propagationPolicy")),
            dry_run: !body.list("dryRun").is_empty(),
        }
    }

    fn checked(mut self, dry_run: &[String]) -> Result<Self, Status> {
        let mut errors = ErrorList::new();
        let place = Path::new("propagationPolicy");
        if let Some(policy) = &self.propagation_policy {
            if self.orphan_dependents.is_some() {
                let why = "orphanDependents and deletionPropagation cannot be both set";
                errors.push(Error::invalid(&place, policy, why));
            }
            if !matches!(policy.as_str(), "Foreground" | "Background" | "Orphan") {
                let known = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(Error::not_supported(&place, policy, &known));
            }
        }
        check_dry_run(dry_run, &mut errors);
        self.dry_run = !dry_run.is_empty();
        match errors.is_empty() {
            true => Ok(self),
            false => Err(invalid("DeleteOptions", errors)),
        }
    }
}

/// How a list may relate to the revision that it asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Match {
    #[default]
    Unset,
    Exact,
    NotOlderThan,
}

/// `ListOptions`, for lists and watches.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    pub(crate) labels: labels::Selector,
    pub(crate) fields: fields::Selector,
    pub(crate) watch: bool,
    pub(crate) bookmarks: bool,
    pub(crate) resource_version: String,
    pub(crate) resource_version_match: Match,
    pub(crate) timeout_seconds: Option<i64>,
    pub(crate) limit: i64,
    pub(crate) continue_token: String,
    pub(crate) send_initial_events: Option<bool>,
}

impl ListOptions {
    /// From the URL; field labels are not checked yet.
    pub(crate) fn read(query: &Query) -> Result<Self, Status> {
        let bad = Status::bad_request;
        let text = |name: &str| query.get(name).unwrap_or_default().to_owned();
        // In the order in which upstream's conversions run: the first error is told.
        let timeout_seconds = query.number("timeoutSeconds").map_err(bad)?;
        let limit = query.number("limit").map_err(bad)?.unwrap_or_default();
        let labels = labels::parse(&text("labelSelector"), &Path::ROOT).map_err(bad)?;
        let fields = fields::parse(&text("fieldSelector")).map_err(bad)?;
        let mut options = Self {
            labels,
            fields,
            watch: query.flag("watch").unwrap_or_default(),
            bookmarks: query.flag("allowWatchBookmarks").unwrap_or_default(),
            resource_version: text("resourceVersion"),
            resource_version_match: Match::Unset,
            timeout_seconds,
            limit,
            continue_token: text("continue"),
            send_initial_events: query.flag("sendInitialEvents"),
        };
        let mut word = text("resourceVersionMatch");
        let from_now = matches!(options.resource_version.as_str(), "" | "0");
        if options.watch && from_now && word.is_empty() && options.send_initial_events.is_none() {
            options.send_initial_events = Some(true);
            "NotOlderThan".clone_into(&mut word);
        }
        let errors = options.faults(&word);
        if !errors.is_empty() {
            return Err(invalid("ListOptions", errors));
        }
        options.resource_version_match = match word.as_str() {
            "Exact" => Match::Exact,
            "NotOlderThan" => Match::NotOlderThan,
            _ => Match::Unset,
        };
        Ok(options)
    }

    fn faults(&self, word: &str) -> ErrorList {
        let mut errors = ErrorList::new();
        let place = Path::new("resourceVersionMatch");
        let mut forbid = |why: &str| errors.push(Error::forbidden(&place, why));
        if self.watch {
            if self.send_initial_events.is_some() && word != "NotOlderThan" {
                forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
            }
            if word.is_empty() {
                return errors;
            }
            if self.send_initial_events.is_none() {
                forbid(
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                );
            }
            if word != "NotOlderThan" {
                errors.push(Error::not_supported(&place, word, &["NotOlderThan"]));
            }
            if !self.continue_token.is_empty() {
                errors.push(Error::forbidden(
                    &place,
                    "resourceVersionMatch is forbidden when continue is provided",
                ));
            }
            return errors;
        }
        if !word.is_empty() {
            if self.resource_version.is_empty() {
                forbid("resourceVersionMatch is forbidden unless resourceVersion is provided");
            }
            if !self.continue_token.is_empty() {
                forbid("resourceVersionMatch is forbidden when continue is provided");
            }
            if !matches!(word, "Exact" | "NotOlderThan") {
                let known = ["Exact", "NotOlderThan", ""];
                errors.push(Error::not_supported(&place, word, &known));
            }
            if word == "Exact" && self.resource_version == "0" {
                errors.push(Error::forbidden(
                    &place,
                    "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
                ));
            }
        }
        if self.send_initial_events.is_some() {
            errors.push(Error::forbidden(
                &Path::new("sendInitialEvents"),
                "sendInitialEvents is forbidden for list",
            ));
        }
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::{check_manager, manager_of};

    /// The attack: each error would quote all of it.
    #[test]
    fn a_long_manager_is_one_error() {
        let mut errors = Vec::new();
        check_manager(&"\u{1}".repeat(20_000), &mut errors);
        assert_eq!(errors.len(), 1);
        errors.clear();
        check_manager("a\u{1}b\u{2}", &mut errors);
        assert_eq!(errors.len(), 2);
    }

    #[test]
    fn a_manager_is_named_after_the_user_agent() {
        assert_eq!(manager_of("kubectl/v1.36.4 (linux)"), "kubectl");
        assert_eq!(manager_of("a\u{7}b"), "ab");
        assert_eq!(manager_of(&"x".repeat(200)).len(), 128);
    }
}
