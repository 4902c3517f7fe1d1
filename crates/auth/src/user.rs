//! The one who asks.

use std::collections::BTreeMap;

/// Somebody who may ask for things. Upstream: `user.DefaultInfo`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct User {
    /// `admin`, `system:serviceaccount:NAMESPACE:NAME`…
    pub name: String,
    /// Tells users of the same name apart over time; may be empty.
    pub uid: String,
    /// `system:authenticated` included.
    pub groups: Vec<String>,
    /// Whatever else the authenticator found.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// Members may do anything.
pub(crate) const MASTERS: &str = "system:masters";
/// Everybody who gave credentials.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// Everybody who gave none.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of those who gave no credentials.
pub(crate) const ANONYMOUS: &str = "system:anonymous";

impl User {
    /// A user of these groups who has shown credentials.
    pub fn new(name: &str, groups: &[&str]) -> Self {
        let mut user = Self {
            name: name.to_owned(),
            groups: groups.iter().map(|g| (*g).to_owned()).collect(),
            ..Self::default()
        };
        user.join(AUTHENTICATED);
        user
    }

    /// Someone who gave no credentials.
    pub fn anonymous() -> Self {
        Self {
            name: ANONYMOUS.to_owned(),
            groups: vec![UNAUTHENTICATED.to_owned()],
            ..Self::default()
        }
    }

    /// The user that a service account is.
    pub fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        let mut user = Self {
            name: format!("{SERVICE_ACCOUNT}{namespace}:{name}"),
            uid: uid.to_owned(),
            groups: service_account_groups(namespace),
            ..Self::default()
        };
        user.join(AUTHENTICATED);
        user
    }

    /// Whether the user may do anything, whatever the rules say.
    pub fn is_master(&self) -> bool {
        self.in_group(MASTERS)
    }

    pub(crate) fn in_group(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }

    pub(crate) fn join(&mut self, group: &str) {
        if !self.in_group(group) {
            self.groups.push(group.to_owned());
        }
    }
}

const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

pub(crate) fn service_account_groups(namespace: &str) -> Vec<String> {
    vec![
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
    ]
}

/// Namespace and name of the service account behind a user name.
pub fn service_account_name(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')?;
    let valid = stowplan_apimachinery::names::dns1123_label(namespace).is_empty()
        && stowplan_apimachinery::names::dns1123_subdomain(name).is_empty();
    valid.then_some((namespace, name))
}

/// For whom an answer was given: connections are shared out by it. Not there for masters, who are not
/// limited.
#[derive(Clone, Debug)]
pub struct Owner(pub std::sync::Arc<str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_accounts_are_users_of_two_groups() {
        let user = User::service_account("shop", "robot", "u1");
        assert_eq!(service_account_name(&user.name), Some(("shop", "robot")));
        assert_eq!(
            user.groups,
            [
                "system:serviceaccounts",
                "system:serviceaccounts:shop",
                "system:authenticated"
            ]
        );
        for other in [
            "robot",
            "system:serviceaccount:shop",
            "system:serviceaccount:A:b",
        ] {
            assert_eq!(service_account_name(other), None, "{other}");
        }
    }
}
