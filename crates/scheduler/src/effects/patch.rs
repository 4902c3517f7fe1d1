//! Objects are changed: read, changed and written, if nobody else wrote meanwhile.

use super::requests::Failed;
use super::{NotDone, ObjectRef, Tools};
use serde_json::Value;
use std::time::Duration;
use stowplan_api::load::Object as ApiObject;
use stowplan_bridge::effects::merge;
use stowplan_engine::framework::Expect;
use stowplan_engine::model::Kind;

/// How long to wait before asking again who did not answer.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// How often a server that is not there is asked.
const TRIES_MAX: usize = 60;

/// A change of an object.
pub(crate) struct Patch {
    pub(crate) object: ObjectRef,
    /// What changes, as a JSON merge patch.
    pub(crate) patch: Value,
    /// What must hold of the object for that.
    pub(crate) expect: Option<Expect>,
}

impl Patch {
    pub(super) async fn carry_out(&self, tools: &Tools) -> Result<Option<ApiObject>, NotDone> {
        let path = self.object.path();
        let mut object = self.read(tools, &path).await?;
        if let Some(expect) = &self.expect
            && !holds(expect, &object)
        {
            return Err(NotDone::Failed(expect.otherwise.to_string()));
        }
        merge(&mut object, &self.patch);
        let answer: Result<Value, Failed> = tools
            .requests
            .change("PUT", &path, "application/json", &object)
            .await;
        Ok(typed(self.object.kind, answer?))
    }

    /// Reads the object that is meant.
    async fn read(&self, tools: &Tools, path: &str) -> Result<Value, NotDone> {
        let mut tries = 0;
        let object = loop {
            match tools.requests.get::<Value>(path).await {
                Ok(object) => break object,
                Err(failed) if failed.code() == Some(404) => return Err(self.object.not_found()),
                // A server that is not there may come back.
                Err(failed) if failed.is_open() && tries < TRIES_MAX => {
                    tries += 1;
                    tools.env().sleep(ASK_AGAIN).await;
                }
                Err(failed) => return Err(failed.into()),
            }
        };
        let uid = object["metadata"]["uid"].as_str();
        match self.object.uid.is_empty() || uid == Some(&*self.object.uid) {
            true => Ok(object),
            false => Err(self.object.not_found()),
        }
    }
}

fn holds(expect: &Expect, object: &Value) -> bool {
    let value = object.pointer(expect.field).and_then(Value::as_str);
    value.is_none_or(|value| value.is_empty() || *value == *expect.value)
}

/// What was written, of the kinds that are waited for.
fn typed(kind: Kind, object: Value) -> Option<ApiObject> {
    fn read<T: serde::de::DeserializeOwned + Into<ApiObject>>(object: Value) -> Option<ApiObject> {
        serde_json::from_value::<T>(object).ok().map(Into::into)
    }
    use stowplan_api::k8s::api::core::v1;
    match kind {
        Kind::PersistentVolume => read::<v1::PersistentVolume>(object),
        Kind::PersistentVolumeClaim => read::<v1::PersistentVolumeClaim>(object),
        Kind::Pod => read::<v1::Pod>(object),
        Kind::Node => read::<v1::Node>(object),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn expects(value: &str) -> Expect {
        Expect {
            field: "/spec/claimRef/uid",
            value: value.into(),
            otherwise: "taken".into(),
        }
    }

    #[test]
    fn a_field_is_free_or_as_expected() {
        let claimed = |uid: &str| json!({"spec": {"claimRef": {"uid": uid}}});
        assert!(holds(&expects("u"), &json!({"spec": {}})));
        assert!(holds(&expects("u"), &claimed("")));
        assert!(holds(&expects("u"), &claimed("u")));
        assert!(!holds(&expects("u"), &claimed("other")));
    }
}
