//! What watches are told of an object in another form than the stored one, made once for all of them.

use crate::limits::CONVERTED_BYTES_MAX;
use crate::negotiate::Convert;
use crate::table::Style;
use bytes::Bytes;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use stowplan_store::Revision;
use tokio::sync::OnceCell;

/// What is told.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct What {
    /// Where the object is kept, and which version of it is meant.
    pub(crate) key: Bytes,
    pub(crate) version: Revision,
    /// The revision that it is told with.
    pub(crate) revision: Revision,
    pub(crate) convert: Convert,
    pub(crate) style: Style,
    /// In which version of its group, as definitions were when they had changed so often.
    pub(crate) api_version: String,
    pub(crate) definitions: u64,
    /// Ages change with the time.
    pub(crate) now_s: i64,
}

/// Its bytes, when somebody has made them. Others wait for whoever makes them.
pub(crate) type SharedBytes = Arc<OnceCell<Bytes>>;

/// The last of what was told. It is bounded: those that were asked for first go first.
#[derive(Default)]
pub(crate) struct Converted(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    told: HashMap<What, SharedBytes>,
    order: VecDeque<(What, usize)>,
    bytes: usize,
    #[cfg(test)]
    asked_first: usize,
}

impl Converted {
    /// Where this is or will be; it will have about so many bytes.
    pub(crate) fn told(&self, what: &What, bytes: usize) -> SharedBytes {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(told) = kept.told.get(what) {
            return Arc::clone(told);
        }
        #[cfg(test)]
        {
            kept.asked_first += 1;
        }
        let told = SharedBytes::default();
        kept.told.insert(what.clone(), Arc::clone(&told));
        kept.order.push_back((what.clone(), bytes));
        kept.bytes += bytes;
        let mut gone = Vec::new();
        while kept.bytes > CONVERTED_BYTES_MAX {
            let Some((what, bytes)) = kept.order.pop_front() else {
                break;
            };
            gone.push(kept.told.remove(&what));
            kept.bytes -= bytes;
        }
        drop(kept);
        // Freed without the lock.
        drop(gone);
        told
    }

    #[cfg(test)]
    fn asked_first(&self) -> usize {
        self.0.lock().expect("no panic").asked_first
    }
}

#[cfg(test)]
mod tests {
    use crate::Api;
    use crate::limits::LIGHT_BYTES_MAX;
    use crate::testing::{self, WEAK_TOKEN, send};
    use axum::body::Body;
    use http_body_util::BodyExt;
    use serde_json::{Value, json};
    use std::sync::Arc;

    const MAPS: &str = "/api/v1/namespaces/default/configmaps";
    const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

    async fn watch(api: &Arc<Api>, query: &str) -> Body {
        let request = http::Request::get(format!("{MAPS}?watch=1&{query}"))
            .header("authorization", format!("Bearer {WEAK_TOKEN}"))
            .header("accept", TABLE);
        let request = request.body(Body::empty()).expect("a request");
        let answer = api.call(request).await;
        assert_eq!(answer.status().as_u16(), 200);
        answer.into_body()
    }

    /// The next events that come together, of which the last is given.
    async fn next(body: &mut Body) -> Value {
        let mut line = Vec::new();
        while !line.ends_with(b"}\n") {
            let frame = body.frame().await.expect("more").expect("no error");
            line.extend_from_slice(&frame.into_data().expect("data"));
        }
        let values = serde_json::Deserializer::from_slice(&line).into_iter::<Value>();
        values.last().expect("one").expect("JSON")
    }

    /// The attack: many watches that want a large object in another form, and small changes to it.
    #[tokio::test]
    async fn an_object_is_converted_once_for_all_watches() {
        let api = testing::api_with_weak_user().await;
        let data = json!({"k": "x".repeat(3 * LIGHT_BYTES_MAX)});
        let map = json!({"metadata": {"name": "a"}, "data": data});
        assert_eq!(send(&api, "POST", MAPS, &[], &map).await.0, 201);
        let mut watches = Vec::new();
        for _ in 0..30 {
            let mut body = watch(&api, "includeObject=Object").await;
            assert_eq!(next(&mut body).await["type"], "ADDED");
            watches.push(body);
        }
        let before = api.converted().asked_first();
        let patch = json!({"metadata": {"labels": {"a": "b"}}});
        let merge = [("content-type", "application/merge-patch+json")];
        let (code, patched) = send(&api, "PATCH", &format!("{MAPS}/a"), &merge, &patch).await;
        assert_eq!(code, 200);
        for body in &mut watches {
            let event = next(body).await;
            assert_eq!(event["type"], "MODIFIED");
            let row = &event["object"]["rows"][0];
            assert_eq!(row["object"], patched);
            assert!(event["object"]["columnDefinitions"].is_null());
        }
        // Once, and once more whenever a second has passed.
        let made = api.converted().asked_first() - before;
        assert!((1..10).contains(&made), "{made}");
    }

    /// A large one takes a heavy seat; who gets none is told to come again.
    #[tokio::test(start_paused = true)]
    async fn a_large_object_is_converted_off_the_reactor() {
        let api = testing::api_with_weak_user().await;
        let mut body = watch(&api, "includeObject=Object").await;
        let flooded = api.flow_control().without_heavy_seats();
        let small = json!({"metadata": {"name": "a"}});
        send(&api, "POST", MAPS, &[], &small).await;
        assert_eq!(next(&mut body).await["type"], "ADDED");
        let data = json!({"k": "x".repeat(3 * LIGHT_BYTES_MAX)});
        let large = json!({"metadata": {"name": "b"}, "data": data});
        send(&api, "POST", MAPS, &[], &large).await;
        let event = next(&mut body).await;
        assert_eq!(
            (&event["type"], &event["object"]["code"]),
            (&json!("ERROR"), &json!(429))
        );
        drop(flooded);
        let mut body = watch(&api, "includeObject=Object").await;
        let mut event = next(&mut body).await;
        if event["object"]["rows"][0]["object"]["metadata"]["name"] == "a" {
            event = next(&mut body).await;
        }
        assert_eq!(event["type"], "ADDED");
        assert_eq!(event["object"]["rows"][0]["object"]["data"], data);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        use super::*;
        use crate::table::Include;
        let converted = Converted::default();
        let what = |i: u64| What {
            key: Bytes::from_static(b"/a"),
            version: Revision(i),
            revision: Revision(i),
            convert: Convert::Table("v1"),
            style: Style {
                version: "v1",
                include: Include::Object,
                headers: false,
            },
            api_version: "v1".to_owned(),
            definitions: 0,
            now_s: 0,
        };
        let each = CONVERTED_BYTES_MAX / 4;
        let first = converted.told(&what(0), each);
        assert!(Arc::ptr_eq(&first, &converted.told(&what(0), each)));
        for i in 1..=4 {
            converted.told(&what(i), each);
        }
        assert!(
            !Arc::ptr_eq(&first, &converted.told(&what(0), each)),
            "it was forgotten"
        );
        let kept = converted.0.lock().expect("no panic");
        assert_eq!(
            (kept.told.len(), kept.order.len(), kept.bytes),
            (4, 4, 4 * each)
        );
    }
}
