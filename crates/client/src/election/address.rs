//! Where the leader listens: annotations of its Lease.

use k8s_openapi::api::coordination::v1::Lease;
use std::collections::BTreeMap;

const ADDRESS: &str = "stowplan.dev/scheduler-address";
const CERTIFICATE: &str = "stowplan.dev/scheduler-certificate";
/// Who wrote the other two: a leader that knows nothing of them leaves them in the Lease.
const IDENTITY: &str = "stowplan.dev/scheduler-identity";

/// How to reach the leader's secure port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeaderAddress {
    /// `HOST:PORT`.
    pub address: String,
    /// The CA of the certificate that it shows, in PEM, if it made that itself.
    pub ca_pem: Option<String>,
}

impl LeaderAddress {
    /// What the present holder of the Lease says; nothing if nobody holds it, or the holder does not
    /// say.
    pub fn of(lease: &Lease) -> Option<Self> {
        let annotations = lease.metadata.annotations.as_ref()?;
        let holder = lease.spec.as_ref()?.holder_identity.as_ref()?;
        if holder.is_empty() || annotations.get(IDENTITY) != Some(holder) {
            return None;
        }
        Some(Self {
            address: annotations.get(ADDRESS)?.clone(),
            ca_pem: annotations.get(CERTIFICATE).cloned(),
        })
    }

    /// Writes it into a Lease in the name of this holder.
    fn write(&self, holder: &str, annotations: &mut BTreeMap<String, String>) {
        let mut set = |key: &str, value: &str| annotations.insert(key.to_owned(), value.to_owned());
        set(ADDRESS, &self.address);
        set(IDENTITY, holder);
        if let Some(pem) = &self.ca_pem {
            set(CERTIFICATE, pem);
        }
    }
}

/// Lets the Lease say where its holder listens, if that is known; nobody else's address stays.
pub(super) fn note(lease: &mut Lease, holder: &str, address: Option<&LeaderAddress>) {
    let mut annotations = lease.metadata.annotations.take().unwrap_or_default();
    for key in [ADDRESS, CERTIFICATE, IDENTITY] {
        annotations.remove(key);
    }
    if let Some(address) = address.filter(|_| !holder.is_empty()) {
        address.write(holder, &mut annotations);
    }
    lease.metadata.annotations = (!annotations.is_empty()).then_some(annotations);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(holder: &str) -> Lease {
        let lease = serde_json::json!({
            "metadata": {"name": "l", "annotations": {"other": "stays"}},
            "spec": {"holderIdentity": holder},
        });
        serde_json::from_value(lease).unwrap()
    }

    fn here() -> LeaderAddress {
        LeaderAddress {
            address: "10.0.0.7:10259".to_owned(),
            ca_pem: Some("PEM".to_owned()),
        }
    }

    #[test]
    fn only_the_holder_itself_is_believed() {
        let mut held = lease("a");
        note(&mut held, "a", Some(&here()));
        assert_eq!(LeaderAddress::of(&held), Some(here()));
        // Somebody took over who leaves annotations as they are.
        held.spec.as_mut().unwrap().holder_identity = Some("b".to_owned());
        assert_eq!(LeaderAddress::of(&held), None);
        assert_eq!(LeaderAddress::of(&lease("a")), None);
    }

    #[test]
    fn who_leaves_or_does_not_listen_leaves_nothing() {
        let mut held = lease("a");
        note(&mut held, "a", Some(&here()));
        note(&mut held, "", Some(&here()));
        let left = held.metadata.annotations.clone().unwrap();
        assert_eq!(left.keys().collect::<Vec<_>>(), ["other"]);
        note(&mut held, "a", Some(&here()));
        note(&mut held, "b", None);
        assert_eq!(held.metadata.annotations, Some(left));
    }
}
