//! Acting as somebody else: the `Impersonate-*` headers.
//!
//! Upstream: `k8s.io/apiserver/pkg/endpoints/filters/impersonation` 0.36.4, where constrained
//! impersonation (KEP 5284) is on: the constrained modes are tried first, then the old one.

use crate::policy::Grants;
use crate::rbac::authorize;
use crate::user::{
    ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, service_account_groups,
    service_account_name,
};
use crate::{Attributes, Target, User};
use std::collections::BTreeMap;
use stowplan_apimachinery::go::quote;
use stowplan_apimachinery::{Status, names};

const AUTHENTICATION: &str = "authentication.k8s.io";
/// So many groups or extra values at once are first tried with one question for all of them.
const MANY: usize = 4;

/// The user that the headers ask for, just as they say it; `None` if they ask for nobody.
/// Header names are given in lower case.
pub fn wanted<'a>(
    headers: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<Option<User>, Status> {
    let mut user = User::default();
    let mut asked = false;
    for (name, value) in headers {
        match name {
            "impersonate-user" if user.name.is_empty() => value.clone_into(&mut user.name),
            "impersonate-uid" if user.uid.is_empty() => value.clone_into(&mut user.uid),
            "impersonate-group" => {
                asked = true;
                user.groups.push(value.to_owned());
            }
            _ => {
                if let Some(key) = name.strip_prefix("impersonate-extra-") {
                    asked = true;
                    let values = user.extra.entry(unescape(key)).or_default();
                    values.push(value.to_owned());
                }
            }
        }
    }
    if !user.name.is_empty() {
        return Ok(Some(user));
    }
    match asked || !user.uid.is_empty() {
        true => Err(Status::bad_request(format!(
            "requested {} without impersonating a user name",
            go_text(&user)
        ))),
        false => Ok(None),
    }
}

/// Undoes percent-encoding; what is no valid encoding stays as it is.
fn unescape(key: &str) -> String {
    let mut out = Vec::with_capacity(key.len());
    let mut bytes = key.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digits = (bytes.next(), bytes.next());
        let digit = |b: Option<u8>| b.and_then(|b| (b as char).to_digit(16));
        match (digit(digits.0), digit(digits.1)) {
            (Some(high), Some(low)) => out.push((high * 16 + low) as u8),
            _ => return key.to_owned(),
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| key.to_owned())
}

/// Go's `%#v` of the user.
fn go_text(user: &User) -> String {
    let texts = |list: &[String]| {
        let quoted: Vec<String> = list.iter().map(|t| quote(t)).collect();
        format!("[]string{{{}}}", quoted.join(", "))
    };
    let groups = match user.groups.is_empty() {
        true => "[]string(nil)".to_owned(),
        false => texts(&user.groups),
    };
    let extra = match user.extra.is_empty() {
        true => "map[string][]string(nil)".to_owned(),
        false => {
            let entries = user.extra.iter();
            let entries: Vec<String> = entries
                .map(|(k, v)| format!("{}:{}", quote(k), texts(v)))
                .collect();
            format!("map[string][]string{{{}}}", entries.join(", "))
        }
    };
    format!(
        "&user.DefaultInfo{{Name:{}, UID:{}, Groups:{groups}, Extra:{extra}}}",
        quote(&user.name),
        quote(&user.uid)
    )
}

/// One way of being allowed to be somebody else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    Legacy,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::AssociatedNode => "associated-node",
            Self::ArbitraryNode => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "",
        }
    }

    fn verb(self) -> String {
        match self {
            Self::Legacy => "impersonate".to_owned(),
            mode => format!("impersonate:{}", mode.name()),
        }
    }

    fn constrained(self) -> bool {
        self != Self::Legacy
    }

    fn applies(self, wanted: &User, requestor: &User) -> bool {
        let name_only =
            wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let node = node_name(&wanted.name);
        let account = service_account_name(&wanted.name);
        match self {
            Self::AssociatedNode => {
                let own = requestor
                    .extra
                    .get("authentication.kubernetes.io/node-name");
                name_only
                    && service_account_name(&requestor.name).is_some()
                    && node.is_some_and(|node| own.is_some_and(|own| *own == [node]))
            }
            Self::ArbitraryNode => name_only && node.is_some(),
            Self::ServiceAccount => name_only && account.is_some(),
            Self::UserInfo => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }
}

fn node_name(user: &str) -> Option<&str> {
    let name = user.strip_prefix("system:node:")?;
    names::dns1123_subdomain(name).is_empty().then_some(name)
}

/// The user to go on as, if the requestor may be that user for this request.
pub fn impersonate(
    wanted: &User,
    request: &Attributes<'_>,
    policy: &dyn Grants,
) -> Result<User, Status> {
    let mut first = None;
    for mode in [
        Mode::AssociatedNode,
        Mode::ArbitraryNode,
        Mode::ServiceAccount,
        Mode::UserInfo,
        Mode::Legacy,
    ] {
        if !mode.applies(wanted, request.user) {
            continue;
        }
        let check = Check {
            mode,
            requestor: request.user,
            policy,
        };
        match check.all(wanted, request) {
            Ok(user) => return Ok(user),
            Err(status) => first = first.or(Some(status)),
        }
    }
    Err(first.unwrap_or_else(|| Status::plain_error("all impersonation modes failed")))
}

struct Check<'a> {
    mode: Mode,
    requestor: &'a User,
    policy: &'a dyn Grants,
}

impl Check<'_> {
    fn all(&self, wanted: &User, request: &Attributes<'_>) -> Result<User, Status> {
        if self.mode.constrained() {
            let verb = format!("impersonate-on:{}:{}", self.mode.name(), request.verb);
            let on = Attributes {
                verb: &verb,
                ..request.clone()
            };
            self.allowed(&on)?;
        }
        let mut user = wanted.clone();
        self.name(wanted, &mut user)?;
        if !wanted.uid.is_empty() {
            self.part(AUTHENTICATION, "uids", "", "", &wanted.uid)?;
        }
        self.groups(&wanted.groups)?;
        self.extra(&wanted.extra)?;
        if user.name == ANONYMOUS {
            user.join(UNAUTHENTICATED);
        } else if !user.in_group(UNAUTHENTICATED) {
            user.join(AUTHENTICATED);
        }
        Ok(user)
    }

    fn allowed(&self, request: &Attributes<'_>) -> Result<(), Status> {
        let decision = authorize(request, self.policy);
        match decision.allowed {
            true => Ok(()),
            false => Err(request.forbidden(&decision.reason)),
        }
    }

    fn part(
        &self,
        group: &str,
        resource: &str,
        subresource: &str,
        namespace: &str,
        name: &str,
    ) -> Result<(), Status> {
        self.ask(group, resource, subresource, namespace, name, None)
    }

    /// Asks for one part of the user, or refuses it outright with a sentence.
    fn ask(
        &self,
        group: &str,
        resource: &str,
        subresource: &str,
        namespace: &str,
        name: &str,
        refusal: Option<&str>,
    ) -> Result<(), Status> {
        let request = Attributes {
            user: self.requestor,
            verb: &self.mode.verb(),
            target: Target::Resource {
                group,
                resource,
                subresource,
                namespace,
                name,
            },
        };
        match refusal {
            Some(sentence) => Err(request.forbidden(sentence)),
            None => self.allowed(&request),
        }
    }

    /// The group in which names and groups are asked for.
    fn name_group(&self) -> &'static str {
        match self.mode.constrained() {
            true => AUTHENTICATION,
            false => "",
        }
    }

    fn name(&self, wanted: &User, user: &mut User) -> Result<(), Status> {
        let group = self.name_group();
        if self.mode.constrained()
            && let Some(node) = node_name(&wanted.name)
        {
            user.groups = vec!["system:nodes".to_owned()];
            // Every node that the account may run on is asked for at once.
            let node = match self.mode {
                Mode::AssociatedNode => "*",
                _ => node,
            };
            return self.part(group, "nodes", "", "", node);
        }
        if let Some((namespace, name)) = service_account_name(&wanted.name) {
            if wanted.groups.is_empty() {
                user.groups = service_account_groups(namespace);
            }
            return self.part(group, "serviceaccounts", "", namespace, name);
        }
        self.part(group, "users", "", "", &wanted.name)
    }

    fn groups(&self, groups: &[String]) -> Result<(), Status> {
        let group = self.name_group();
        if self.mode.constrained() && !groups.is_empty() {
            let refuse =
                |name: &str, sentence| self.ask(group, "groups", "", "", name, Some(sentence));
            if groups.iter().any(String::is_empty) {
                refuse("", "impersonating the empty string group is not allowed")?;
            }
            if groups.iter().any(|g| g == MASTERS) {
                refuse(
                    MASTERS,
                    "impersonating the system:masters group is not allowed",
                )?;
            }
            if groups.len() >= MANY && self.part(group, "groups", "", "", "*").is_ok() {
                return Ok(());
            }
        }
        let mut groups = groups.iter();
        groups.try_for_each(|name| self.part(group, "groups", "", "", name))
    }

    fn extra(&self, extra: &BTreeMap<String, Vec<String>>) -> Result<(), Status> {
        if extra.is_empty() {
            return Ok(());
        }
        if self.mode.constrained() {
            if let Some(sentence) = extra
                .iter()
                .find_map(|(key, values)| bad_extra(key, values))
            {
                self.ask(AUTHENTICATION, "userextras", "", "", "", Some(&sentence))?;
            }
            let many = extra.len() >= MANY || extra.values().map(Vec::len).sum::<usize>() >= MANY;
            if many
                && self
                    .part(AUTHENTICATION, "userextras", "*", "", "*")
                    .is_ok()
            {
                return Ok(());
            }
        }
        for (key, values) in extra {
            for value in values {
                self.part(AUTHENTICATION, "userextras", key, "", value)?;
            }
        }
        Ok(())
    }
}

/// What constrained impersonation refuses of an extra value.
fn bad_extra(key: &str, values: &[String]) -> Option<String> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".to_owned());
    }
    if let Some(problem) = bad_extra_key(key) {
        return Some(format!(
            "impersonating an invalid key in extra is not allowed: extra.key: Invalid value: {problem}"
        ));
    }
    if key.chars().any(char::is_uppercase) {
        return Some(format!(
            "impersonating a non-lowercase key in extra is not allowed: {}",
            quote(key)
        ));
    }
    if values.is_empty() {
        return Some("impersonating empty values in extra is not allowed".to_owned());
    }
    values
        .iter()
        .any(String::is_empty)
        .then(|| "impersonating the empty string value in extra is not allowed".to_owned())
}

/// Why a key is no domain-prefixed path, if it is none.
fn bad_extra_key(key: &str) -> Option<String> {
    let parts = key.split_once('/');
    let Some((host, path)) = parts.filter(|(host, path)| !host.is_empty() && !path.is_empty())
    else {
        return Some(format!(
            "{}: must be a domain-prefixed path (such as \"acme.io/foo\")",
            quote(key)
        ));
    };
    if let Some(sentence) = names::dns1123_subdomain(host).into_iter().next() {
        return Some(format!("{}: {sentence}", quote(host)));
    }
    let legal = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c);
    (!path.chars().all(legal)).then(|| {
        let regex = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";
        format!(
            "{}: {}",
            quote(path),
            names::regex_error("Invalid path", regex, &[])
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;
    use crate::policy::tests::policy;
    use serde_json::json;

    fn ask(headers: &[(&str, &str)]) -> Result<Option<User>, Status> {
        wanted(headers.iter().copied())
    }

    #[test]
    fn headers_name_a_user() {
        assert_eq!(ask(&[]).unwrap(), None);
        assert_eq!(ask(&[("impersonate-user", "")]).unwrap(), None);
        let user = ask(&[
            ("impersonate-user", "gina"),
            ("impersonate-group", "a"),
            ("impersonate-extra-acme.com%2fscope", "x"),
        ]);
        let user = user.unwrap().unwrap();
        assert_eq!(user.extra["acme.com/scope"], ["x"]);
        assert_eq!(
            ask(&[("impersonate-extra-scope", "x")])
                .unwrap_err()
                .message,
            "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string(nil), \
             Extra:map[string][]string{\"scope\":[]string{\"x\"}}} without impersonating a user name"
        );
    }

    fn request(user: &User) -> Attributes<'_> {
        Attributes {
            user,
            verb: "list",
            target: Target::Resource {
                group: "",
                resource: "pods",
                subresource: "",
                namespace: "",
                name: "",
            },
        }
    }

    #[test]
    fn masters_become_anybody_and_groups_follow_the_name() {
        let root = User::new("root", &["system:masters"]);
        let none = Policy::default();
        let become_user = |name: &str| {
            let wanted = User {
                name: name.to_owned(),
                ..User::default()
            };
            impersonate(&wanted, &request(&root), &none).unwrap().groups
        };
        assert_eq!(become_user("gina"), ["system:authenticated"]);
        assert_eq!(become_user("system:anonymous"), ["system:unauthenticated"]);
        assert_eq!(
            become_user("system:node:n1"),
            ["system:nodes", "system:authenticated"]
        );
        assert_eq!(
            become_user("system:serviceaccount:n:robot"),
            [
                "system:serviceaccounts",
                "system:serviceaccounts:n",
                "system:authenticated"
            ]
        );
    }

    #[test]
    fn others_need_a_rule_for_each_part() {
        let erin = User::new("erin", &[]);
        let rules = |rules| {
            policy(vec![
                (
                    "clusterroles",
                    json!({"metadata": {"name": "r"}, "rules": rules}),
                ),
                (
                    "clusterrolebindings",
                    json!({"metadata": {"name": "b"},
                    "roleRef": {"kind": "ClusterRole", "name": "r"},
                    "subjects": [{"kind": "User", "name": "erin"}]}),
                ),
            ])
        };
        let mut gina = User {
            name: "gina".to_owned(),
            ..User::default()
        };
        let old =
            rules(json!([{"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]}]));
        assert!(impersonate(&gina, &request(&erin), &old).is_ok());
        gina.groups = vec!["devs".to_owned()];
        let refused = impersonate(&gina, &request(&erin), &old).unwrap_err();
        assert_eq!(
            refused.message,
            "pods is forbidden: User \"erin\" cannot impersonate-on:user-info:list resource \
             \"pods\" in API group \"\" at the cluster scope"
        );
        let constrained = rules(json!([
            {"apiGroups": ["authentication.k8s.io"], "resources": ["users", "groups"],
             "verbs": ["impersonate:user-info"]},
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["impersonate-on:user-info:list"]}]));
        assert!(impersonate(&gina, &request(&erin), &constrained).is_ok());
        gina.groups = vec![MASTERS.to_owned()];
        assert!(impersonate(&gina, &request(&erin), &constrained).is_err());
    }
}
