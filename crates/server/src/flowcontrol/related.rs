//! What a write looks at related its own object: quotas, ranges and budgets of its namespace.

use super::{Flow, Held, Weight};
use crate::api::Api;
use crate::limits::{LIGHT_LIST_BYTES_MAX, REQUEST_MEMORY_MAX, TREE_BYTES_PER_BYTE};
use crate::request::{Request, Target};
use crate::storage;
use crate::subresources::STREAMS;
use crate::verbs::review::is_question;
use stowplan_admission::Quotas;
use stowplan_apimachinery::Status;

/// See the module.
pub(crate) struct RelatedObjects {
    /// Bytes of objects that are read and held at once.
    held: usize,
    /// Whether many more are read one by one.
    counts_much: bool,
}

impl RelatedObjects {
    pub(crate) fn of(api: &Api, request: &Request, target: &Target) -> Self {
        let mut related = Self {
            held: 0,
            counts_much: false,
        };
        let verb = request.info.verb.as_str();
        if !matches!(verb, "create" | "update" | "patch") || is_question(target) || streams(target)
        {
            return related;
        }
        if target.resource.is("", "namespaces") && target.subresource.is_empty() {
            // Its pods may be held against another level of security.
            let pods = ["/registry/pods/", &target.name, "/"].concat();
            related.counts_much = verb != "create" && bytes(api, &pods) > LIGHT_LIST_BYTES_MAX;
        }
        if target.namespace.is_empty() {
            return related;
        }
        let is = |group, plural| target.resource.is(group, plural);
        let (pods, volumes) = (is("", "pods"), is("", "persistentvolumeclaims"));
        let claims = is("resource.k8s.io", "resourceclaims");
        if pods || volumes {
            related.hold(api, "limitranges", target);
        }
        if pods && target.subresource == "eviction" {
            related.hold(api, "poddisruptionbudgets", target);
        }
        let details = pods || volumes || claims || is("", "services");
        if !details && verb != "create" {
            return related;
        }
        let quotas = related.hold(api, "resourcequotas", target);
        // Then objects may have to be counted. Of most kinds their number is enough.
        if quotas > 0 && details && api.quotas() == Quotas::Counted {
            let much = |plural| outweighs(api, plural, target);
            related.counts_much = match pods || claims {
                true => much("pods") || much("resourceclaims"),
                false => {
                    let own = storage::key(&target.resource, &target.namespace, "");
                    bytes(api, &own) > LIGHT_LIST_BYTES_MAX
                }
            };
        }
        related
    }

    fn hold(&mut self, api: &Api, plural: &str, target: &Target) -> usize {
        let bytes = bytes(api, &prefix(plural, target));
        self.held += bytes;
        bytes
    }

    /// That of the request, with what is looked at related it.
    pub(crate) fn added_to(&self, weight: Weight) -> Weight {
        match self.counts_much || self.held > LIGHT_LIST_BYTES_MAX {
            true => Weight::Heavy,
            false => weight,
        }
    }

    /// The room that it takes. Refuses what nobody has room for.
    pub(crate) fn room(&self, api: &Api, flow: &Flow) -> Result<Option<Held>, Status> {
        let memory = self.held.saturating_mul(TREE_BYTES_PER_BYTE);
        if memory > REQUEST_MEMORY_MAX {
            let why =
                "the quotas, limits and budgets of this namespace are too large to be looked at";
            return Err(Status::failure(403, "Forbidden", why));
        }
        match self.held > LIGHT_LIST_BYTES_MAX {
            true => Ok(api.flow_control().unread(flow, memory / 1024)),
            false => Ok(Some(api.flow_control().answers_kib.nothing(flow))),
        }
    }
}

fn prefix(plural: &str, target: &Target) -> String {
    ["/registry/", plural, "/", &target.namespace, "/"].concat()
}

/// Bytes of all objects with a prefix; of very many it is enough to know that.
fn bytes(api: &Api, prefix: &str) -> usize {
    let enough = REQUEST_MEMORY_MAX / TREE_BYTES_PER_BYTE;
    api.store().bytes(prefix.as_bytes(), enough)
}

fn outweighs(api: &Api, plural: &str, target: &Target) -> bool {
    bytes(api, &prefix(plural, target)) > LIGHT_LIST_BYTES_MAX
}

/// Whether nothing is written.
fn streams(target: &Target) -> bool {
    STREAMS.contains(&target.subresource.as_str())
}

#[cfg(test)]
mod tests {
    use crate::testing::{self, WEAK_TOKEN, send};
    use crate::{Api, User};
    use axum::body::Body;
    use serde_json::{Value, json};
    use std::sync::Arc;

    const CORE: &str = "/api/v1/namespaces/default";

    async fn create(api: &Arc<Api>, plural: &str, object: &Value) {
        let (code, answer) = send(api, "POST", &format!("{CORE}/{plural}"), &[], object).await;
        assert_eq!(code, 201, "{answer}");
    }

    async fn create_as_weak(api: &Arc<Api>, plural: &str, object: &Value) -> u16 {
        let request = http::Request::post(format!("{CORE}/{plural}"));
        let request = request.header("authorization", format!("Bearer {WEAK_TOKEN}"));
        let request = request.body(Body::from(object.to_string()));
        let answer = api.call(request.expect("a request")).await;
        answer.status().as_u16()
    }

    fn pod(name: &str) -> Value {
        json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    }

    /// The attack: large limits, which every pod of the namespace is held against.
    #[tokio::test(start_paused = true)]
    async fn large_limits_make_small_writes_heavy() {
        let api = testing::api_with_weak_user().await;
        let account = json!({"metadata": {"name": "default"}});
        create(&api, "serviceaccounts", &account).await;
        assert_eq!(create_as_weak(&api, "pods", &pod("a")).await, 201);
        for i in 0..5 {
            let annotations = json!({"k": "x".repeat(250_000)});
            let range = json!({"metadata": {"name": format!("l{i}"), "annotations": annotations}});
            create(&api, "limitranges", &range).await;
        }
        let flooded = api.flow_control().without_heavy_seats();
        assert_eq!(create_as_weak(&api, "pods", &pod("b")).await, 429);
        let map = json!({"metadata": {"name": "a"}});
        let other = create_as_weak(&api, "configmaps", &map).await;
        assert_eq!(other, 201, "they are not looked at for others");
        drop(flooded);
        assert_eq!(create_as_weak(&api, "pods", &pod("b")).await, 201);
    }

    /// The attack: large objects up to a quota, which every further one has counted.
    #[tokio::test]
    async fn objects_are_counted_and_not_read() {
        let api = testing::api_with_weak_user().await;
        api.count_quotas();
        let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {"count/configmaps": "3"}}});
        create(&api, "resourcequotas", &quota).await;
        let map =
            |name: &str| json!({"metadata": {"name": name}, "data": {"k": "x".repeat(30_000)}});
        for name in ["a", "b", "c"] {
            assert_eq!(create_as_weak(&api, "configmaps", &map(name)).await, 201);
        }
        let read = api.store().stats().decoded_bytes;
        let refused = create_as_weak(&api, "configmaps", &json!({"metadata": {"name": "d"}})).await;
        assert_eq!(refused, 403);
        let more = api.store().stats().decoded_bytes.saturating_sub(read);
        assert!(more < 100_000, "{more}");
        let of_a = format!("{CORE}/configmaps/a");
        send(&api, "DELETE", &of_a, &[], &Value::Null).await;
        let accepted =
            create_as_weak(&api, "configmaps", &json!({"metadata": {"name": "d"}})).await;
        assert_eq!(accepted, 201, "what is gone is not counted");
    }

    /// The attack: services in such a number that everybody else's wait for theirs.
    #[tokio::test(start_paused = true)]
    async fn nobody_stands_in_line_for_addresses_twice() {
        let api = testing::api().await;
        let flow = super::Flow::of_user(&User::new("greedy", &[]));
        let control = api.flow_control();
        let turn = control.addresses(&flow).await;
        assert!(turn.is_some());
        assert!(
            control.addresses(&flow).await.is_none(),
            "waits for its own"
        );
        let other = super::Flow::of_user(&User::new("other", &[]));
        assert!(control.addresses(&other).await.is_some());
        drop(turn);
        assert!(control.addresses(&flow).await.is_some());
    }
}
