//! POST.

use super::Write;
use super::write::wipe;
use crate::answer::{self, Answer};
use crate::api::Api;
use crate::negotiate::Convert;
use crate::request::options::WriteOptions;
use crate::request::{Request, Target};
use crate::{decode, negotiate, storage, transform};
use stowplan_machinery::{Status, View};

/// Upstream: `endpoints/handlers/create.go`.
pub(crate) async fn create(
    api: &Api,
    request: &Request,
    mut target: Target,
) -> Result<Answer, Status> {
    let output = negotiate::output(request)?;
    let encoding = decode::encoding(request)?;
    let options = WriteOptions::read(request, "CreateOptions")?;
    let validation = options.field_validation;
    let mut object = decode::object(request, &target.resource, encoding, validation)?;
    wipe(&mut object);
    if target.name.is_empty() {
        let name = object.at("metadata").text("name");
        name.clone_into(&mut target.name);
    }
    let write = Write {
        api,
        request,
        target: &target,
        options: &options,
        strategy: target.resource.strategy(),
    };
    let stored = write.create(object).await?;
    if let Some(entry) = &stored.entry
        && output.convert == Convert::Nothing
        && !target.resource.converts()
    {
        let mut body = Vec::with_capacity(entry.value.len() + 64);
        storage::write_object(&mut body, entry);
        return Ok(answer::json(201, body, output));
    }
    transform::object(api, request, &target, 201, &stored.object, output)
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use serde_json::{Value, json};
    use std::sync::Arc;

    /// Services wait while somebody else gives addresses, configmaps do not: the quota appears, and is
    /// charged, after the services were let in.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_quota_that_appears_meanwhile_is_no_conflict() {
        let api = testing::api().await;
        let post = |plural: &str, object: Value| {
            let api = Arc::clone(&api);
            let url = format!("/api/v1/namespaces/default/{plural}");
            tokio::spawn(async move { testing::send(&api, "POST", &url, &[], &object).await })
        };
        let many = |count: usize, plural: &str, rest: Value| -> Vec<_> {
            let object = |i| {
                let mut object = rest.clone();
                object["metadata"] = json!({"name": format!("x{i}")});
                object
            };
            (0..count).map(|i| post(plural, object(i))).collect()
        };
        let addresses = api.addresses().lock().await;
        let mut asked = many(50, "services", json!({"spec": {"ports": [{"port": 80}]}}));
        // As far as they can.
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        let hard = json!({"services": "1000", "configmaps": "1000"});
        let used = json!({"services": "0", "configmaps": "0"});
        let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": hard}});
        let (code, mut quota) = post("resourcequotas", quota).await.expect("no panic");
        assert_eq!(code, 201);
        quota["status"] = json!({"hard": hard, "used": used});
        let url = "/api/v1/namespaces/default/resourcequotas/q/status";
        let (code, _) = testing::send(&api, "PUT", url, &[], &quota).await;
        assert_eq!(code, 200);
        asked.extend(many(500, "configmaps", json!({})));
        drop(addresses);
        for task in asked {
            let (code, answer) = task.await.expect("no panic");
            assert_eq!(code, 201, "{answer}");
        }
    }
}
