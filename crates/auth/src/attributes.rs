//! What is asked.

use crate::User;
use stowplan_apimachinery::Status;
use stowplan_apimachinery::go::quote;
use stowplan_apimachinery::meta::GroupResource;

/// Who asks to do what. Upstream: `authorizer.Attributes`.
#[derive(Clone, Debug)]
pub struct Attributes<'a> {
    /// Who.
    pub user: &'a User,
    /// `get`, `deletecollection`, …; for paths the HTTP method in lower case.
    pub verb: &'a str,
    /// With what.
    pub target: Target<'a>,
}

/// What a request is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target<'a> {
    /// Objects of the API.
    Resource {
        /// Empty for the core group.
        group: &'a str,
        /// The plural name.
        resource: &'a str,
        /// Empty for the object itself.
        subresource: &'a str,
        /// Empty for cluster-scoped requests.
        namespace: &'a str,
        /// Empty for requests on many.
        name: &'a str,
    },
    /// Anything else: `/healthz`.
    Path(&'a str),
}

impl Attributes<'_> {
    /// The sentence that refuses the request.
    fn refusal(&self) -> String {
        let (user, verb) = (quote(&self.user.name), self.verb);
        let sentence = match self.target {
            Target::Path(path) => format!("User {user} cannot {verb} path {}", quote(path)),
            Target::Resource {
                group,
                resource,
                subresource,
                namespace,
                ..
            } => {
                let resource = match subresource {
                    "" => quote(resource),
                    sub => quote(&format!("{resource}/{sub}")),
                };
                let place = match namespace {
                    "" => "at the cluster scope".to_owned(),
                    namespace => format!("in the namespace {}", quote(namespace)),
                };
                let group = quote(group);
                format!(
                    "User {user} cannot {verb} resource {resource} in API group {group} {place}"
                )
            }
        };
        sentence
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
    }

    /// The answer to a request that is not allowed; `reason` may be empty.
    pub fn forbidden(&self, reason: &str) -> Status {
        let mut sentence = self.refusal();
        if !reason.is_empty() {
            sentence.push_str(": ");
            sentence.push_str(reason);
        }
        let (resource, name) = match self.target {
            Target::Path(_) => (GroupResource::new("", ""), ""),
            Target::Resource {
                group,
                resource,
                name,
                ..
            } => (GroupResource::new(group, resource), name),
        };
        Status::forbidden(&resource, name, sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_the_place() {
        let user = User::new("u", &[]);
        let mut attributes = Attributes {
            user: &user,
            verb: "get",
            target: Target::Resource {
                group: "",
                resource: "pods",
                subresource: "log",
                namespace: "n",
                name: "x",
            },
        };
        assert_eq!(
            attributes.forbidden("").message,
            r#"pods "x" is forbidden: User "u" cannot get resource "pods/log" in API group "" in the namespace "n""#
        );
        attributes.target = Target::Path("/a<b");
        assert_eq!(
            attributes.forbidden("why").message,
            r#"forbidden: User "u" cannot get path "/a&lt;b": why"#
        );
    }
}
