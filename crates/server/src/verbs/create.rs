//! POST.

use super::Write;
use crate::answer::{self, Answer};
use crate::api::Api;
use crate::negotiate::Convert;
use crate::request::options::WriteOptions;
use crate::request::{Request, Target};
use crate::{decode, negotiate, storage, transform};
use serde_json::Value;
use stowplan_apimachinery::{Status, View};
use stowplan_registry::wipe;

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

/// The pod in the body as it would be created: with defaults, admitted and valid. Nothing is stored.
pub(crate) fn what_if(api: &Api, request: &Request) -> Result<Value, Status> {
    let pods = api.resources().by_group("", "pods");
    let resource = pods.ok_or_else(|| Status::internal("pods are not served"))?;
    let encoding = decode::encoding(request)?;
    let options = WriteOptions::read(request, "CreateOptions")?;
    let mut object = decode::object(request, &resource, encoding, options.field_validation)?;
    wipe(&mut object);
    let target = Target {
        resource,
        subresource: String::new(),
        namespace: request.info.namespace.clone(),
        name: object.at("metadata").text("name").to_owned(),
    };
    let write = Write {
        api,
        request,
        target: &target,
        options: &options,
        strategy: target.resource.strategy(),
    };
    write.road(|road| road.receive(&mut object))?;
    write.admit(&mut object, &Value::Null)?;
    write.road(|road| road.begin_create(&mut object, None))?;
    Ok(object)
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

    /// Nobody writes the status of the quota.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_quota_that_nobody_counts_is_never_exceeded() {
        let api = testing::api().await;
        api.count_quotas();
        const MAPS: &str = "/api/v1/namespaces/default/configmaps";
        const QUOTA: &str = "/api/v1/namespaces/default/resourcequotas";
        let send = |method: &'static str, url: String, object: Value| {
            let api = Arc::clone(&api);
            tokio::spawn(async move { testing::send(&api, method, &url, &[], &object).await })
        };
        let map = |name: String| json!({"metadata": {"name": name}});
        let create = |name: String| send("POST", MAPS.to_owned(), map(name));
        assert_eq!(create("before".to_owned()).await.expect("no panic").0, 201);
        let (_, list) = testing::get(&api, MAPS, "application/json").await;
        let there = list["items"].as_array().map_or(0, Vec::len);
        let hard = json!({"configmaps": (there + 5).to_string()});
        let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": hard}});
        let made = send("POST", QUOTA.to_owned(), quota).await;
        assert_eq!(made.expect("no panic").0, 201);
        let asked: Vec<_> = (0..40).map(|i| create(format!("x{i}"))).collect();
        let mut made = Vec::new();
        for (i, task) in asked.into_iter().enumerate() {
            match task.await.expect("no panic") {
                (201, _) => made.push(i),
                (code, said) => assert_eq!(code, 403, "{said}"),
            }
        }
        assert_eq!(made.len(), 5);
        let url = format!("{QUOTA}/q");
        let (_, quota) = testing::get(&api, &url, "application/json").await;
        assert_eq!(quota["status"]["hard"], hard);
        assert_eq!(quota["status"]["used"], hard);
        // What is deleted makes room.
        let gone = format!("{MAPS}/x{}", made[0]);
        assert_eq!(
            send("DELETE", gone, Value::Null).await.expect("no panic").0,
            200
        );
        assert_eq!(create("y".to_owned()).await.expect("no panic").0, 201);
        assert_eq!(create("z".to_owned()).await.expect("no panic").0, 403);
    }
}
