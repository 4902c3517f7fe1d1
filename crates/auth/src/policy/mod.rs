//! The RBAC objects of a cluster, so that a decision looks only at what concerns its user.
//!
//! Upstream goes through all bindings of a namespace whenever somebody asks for anything in it. Here
//! whoever stores large ones, or many, for others pays once, when he stores them.

mod packed;

use crate::User;
use crate::user::service_account_name;
pub(crate) use packed::{PackedRule, Rules, Texts};
use packed::{put, take};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use stowplan_apimachinery::{View, meta};

/// Who tells what a user is granted.
pub trait Grants {
    /// What applies to a user in a namespace (empty: at cluster scope only).
    fn rights(&self, user: &User, namespace: &str) -> Rights;

    /// The Role of a namespace, or the ClusterRole if it is empty.
    fn role(&self, namespace: &str, name: &str) -> Option<Arc<Role>>;
}

/// A Role or ClusterRole.
#[derive(Debug)]
pub struct Role {
    pub(crate) rules: Rules,
}

/// A RoleBinding or ClusterRoleBinding.
#[derive(Debug)]
pub(crate) struct Binding {
    /// Empty for a ClusterRoleBinding.
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) role_kind: String,
    pub(crate) role_name: String,
    /// Kind, namespace and name of each.
    subjects: Box<[u8]>,
}

/// Whom a binding grants something.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) kind: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

impl<'a> Subject<'a> {
    fn read(subject: &'a Value) -> Self {
        Self {
            kind: subject.text("kind"),
            namespace: subject.text("namespace"),
            name: subject.text("name"),
        }
    }

    fn take(from: &mut &'a [u8]) -> Option<Self> {
        let mut text = || std::str::from_utf8(take(from)?).ok();
        Some(Self {
            kind: text()?,
            namespace: text()?,
            name: text()?,
        })
    }

    /// As it is looked for: with the namespace that it means in one of the namespace's bindings.
    fn meant_in(self, namespace: &'a str) -> Self {
        let namespace = match (self.kind, self.namespace) {
            ("ServiceAccount", "") => namespace,
            ("ServiceAccount", own) => own,
            _ => "",
        };
        Self { namespace, ..self }
    }
}

impl Binding {
    fn new(binding: &Value) -> Self {
        let role = binding.at("roleRef");
        let mut subjects = Vec::new();
        for subject in binding.list("subjects").iter().map(Subject::read) {
            for text in [subject.kind, subject.namespace, subject.name] {
                put(&mut subjects, text.as_bytes());
            }
        }
        Self {
            namespace: meta::namespace(binding).to_owned(),
            name: meta::name(binding).to_owned(),
            role_kind: role.text("kind").to_owned(),
            role_name: role.text("name").to_owned(),
            subjects: subjects.into(),
        }
    }

    /// The subjects that can be anybody, each with where it is.
    fn subjects(&self) -> impl Iterator<Item = (u32, Subject<'_>)> {
        let mut rest = &*self.subjects;
        let all = std::iter::from_fn(move || {
            let at = self.subjects.len() - rest.len();
            Some((u32::try_from(at).ok()?, Subject::take(&mut rest)?))
        });
        all.filter(|(_, subject)| matches!(subject.kind, "User" | "Group" | "ServiceAccount"))
    }

    fn subject(&self, at: u32) -> Option<Subject<'_>> {
        Subject::take(&mut self.subjects.get(at as usize..)?)
    }

    fn role_namespace(&self) -> &str {
        match self.role_kind.as_str() {
            "Role" => &self.namespace,
            _ => "",
        }
    }
}

/// A binding that applies to a user.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) binding: Arc<Binding>,
    /// Where the subject is that makes it so.
    at: u32,
    /// Nothing if it is not there.
    pub(crate) role: Option<Arc<Role>>,
}

impl Grant {
    pub(crate) fn subject(&self) -> Option<Subject<'_>> {
        self.binding.subject(self.at)
    }
}

/// What applies to a user: bindings of the cluster first, then those of the namespace, in the order of
/// their names.
#[derive(Clone, Default, Debug)]
pub struct Rights {
    pub(crate) grants: Vec<Grant>,
    /// What it costs to look at all of them.
    bytes: usize,
}

impl Rights {
    /// What it costs to look at all of them, in bytes of rules.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// See the module. Its size is that of the objects, at most.
#[derive(Default, Debug)]
pub struct Policy {
    hasher: RandomState,
    roles: BTreeMap<(String, String), Arc<Role>>,
    ids: BTreeMap<(String, String), u32>,
    next_id: u32,
    bindings: BTreeMap<u32, Arc<Binding>>,
    /// A subject's hash, the binding, and where in it the subject is.
    subjects: BTreeSet<(u64, u32, u32)>,
}

impl Policy {
    /// Takes in a Role or ClusterRole, new or changed.
    pub fn put_role(&mut self, role: &Value) {
        let place = (
            meta::namespace(role).to_owned(),
            meta::name(role).to_owned(),
        );
        let rules = Rules::pack(role.list("rules"));
        self.roles.insert(place, Arc::new(Role { rules }));
    }

    /// Forgets a Role, or a ClusterRole if the namespace is empty.
    pub fn remove_role(&mut self, namespace: &str, name: &str) {
        let place = (namespace.to_owned(), name.to_owned());
        self.roles.remove(&place);
    }

    /// Takes in a RoleBinding or ClusterRoleBinding, new or changed.
    pub fn put_binding(&mut self, binding: &Value) {
        let binding = Arc::new(Binding::new(binding));
        self.remove_binding(&binding.namespace, &binding.name);
        while self.bindings.contains_key(&self.next_id) {
            self.next_id = self.next_id.wrapping_add(1);
        }
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        for (at, subject) in binding.subjects() {
            let subject = subject.meant_in(&binding.namespace);
            let hash = self.hash(&binding.namespace, subject);
            let meant = |at| Some(binding.subject(at)?.meant_in(&binding.namespace));
            let mut known = self.subjects.range((hash, id, 0)..=(hash, id, u32::MAX));
            // Once, however often it is named.
            if !known.any(|(_, _, at)| meant(*at) == Some(subject)) {
                self.subjects.insert((hash, id, at));
            }
        }
        let place = (binding.namespace.clone(), binding.name.clone());
        self.ids.insert(place, id);
        self.bindings.insert(id, binding);
    }

    /// Forgets a RoleBinding, or a ClusterRoleBinding if the namespace is empty.
    pub fn remove_binding(&mut self, namespace: &str, name: &str) {
        let place = (namespace.to_owned(), name.to_owned());
        let id = self.ids.remove(&place);
        let Some((id, binding)) = id.and_then(|id| Some((id, self.bindings.remove(&id)?))) else {
            return;
        };
        for (at, subject) in binding.subjects() {
            let hash = self.hash(namespace, subject.meant_in(namespace));
            self.subjects.remove(&(hash, id, at));
        }
    }

    fn hash(&self, scope: &str, subject: Subject<'_>) -> u64 {
        self.hasher
            .hash_one((scope, subject.kind, subject.namespace, subject.name))
    }

    /// What applies to a user, unless its grants and their roles' rules weigh more than this.
    pub fn rights_within(&self, user: &User, namespace: &str, bytes: usize) -> Option<Rights> {
        /// What a grant costs, whatever its role.
        const GRANT_BYTES: usize = 100;
        let mut left = bytes;
        let mut found: Vec<Grant> = Vec::new();
        let own = Some(namespace).filter(|namespace| !namespace.is_empty());
        for scope in std::iter::once("").chain(own) {
            let first = found.len();
            let mut known: BTreeMap<u32, usize> = BTreeMap::new();
            for who in subjects_of(user) {
                let hash = self.hash(scope, who);
                let all = (hash, 0, 0)..=(hash, u32::MAX, u32::MAX);
                for (_, id, at) in self.subjects.range(all) {
                    left = left.checked_sub(GRANT_BYTES)?;
                    let Some(binding) = self.bindings.get(id) else {
                        continue;
                    };
                    // Hashes may collide.
                    let meant = binding.subject(*at).map(|s| s.meant_in(scope));
                    if binding.namespace != scope || meant != Some(who) {
                        continue;
                    }
                    // The first of its subjects that is this user is told.
                    if let Some(grant) = known.get(id).and_then(|i| found.get_mut(*i)) {
                        grant.at = grant.at.min(*at);
                        continue;
                    }
                    let role = match binding.role_kind.as_str() {
                        "Role" | "ClusterRole" => {
                            self.role(binding.role_namespace(), &binding.role_name)
                        }
                        _ => None,
                    };
                    let weight = role.as_ref().map_or(0, |role| role.rules.bytes());
                    left = left.checked_sub(weight)?;
                    known.insert(*id, found.len());
                    found.push(Grant {
                        binding: Arc::clone(binding),
                        at: *at,
                        role,
                    });
                }
            }
            let of_scope = found.get_mut(first..).unwrap_or_default();
            of_scope.sort_by(|a, b| a.binding.name.cmp(&b.binding.name));
        }
        Some(Rights {
            grants: found,
            bytes: bytes - left,
        })
    }
}

/// The subjects that mean a user.
fn subjects_of(user: &User) -> impl Iterator<Item = Subject<'_>> {
    let of = |kind, namespace, name| Subject {
        kind,
        namespace,
        name,
    };
    let account = service_account_name(&user.name);
    let account = account.map(move |(namespace, name)| of("ServiceAccount", namespace, name));
    let groups: BTreeSet<&str> = user.groups.iter().map(String::as_str).collect();
    std::iter::once(of("User", "", &user.name))
        .chain(account)
        .chain(groups.into_iter().map(move |group| of("Group", "", group)))
}

impl Grants for Policy {
    fn rights(&self, user: &User, namespace: &str) -> Rights {
        let all = self.rights_within(user, namespace, usize::MAX);
        all.unwrap_or_default()
    }

    fn role(&self, namespace: &str, name: &str) -> Option<Arc<Role>> {
        let place = (namespace.to_owned(), name.to_owned());
        self.roles.get(&place).cloned()
    }
}

#[cfg(test)]
pub(crate) mod tests;
