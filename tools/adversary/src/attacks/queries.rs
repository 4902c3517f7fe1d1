//! Paths, parameters and headers.

use super::{CONFIG_MAPS, PODS, create, keys};
use crate::attack::{Attack, Request};
use serde_json::json;

pub(super) fn attacks() -> Vec<Attack> {
    let join = |n: usize, make: &dyn Fn(usize) -> String, with: &str| {
        (0..n).map(make).collect::<Vec<_>>().join(with)
    };
    vec![
        of_selector("requirements", move |n| join(n, &|i| format!("k{i}"), ",")),
        of_selector("values", move |n| {
            format!("k+in+({})", join(n, &|i| format!("v{i}"), ","))
        }),
        of_selector("contradictions", move |n| {
            join(n, &|i| format!("k!=v{i}"), ",")
        }),
        of_selector("parentheses", |n| "(".repeat(n)),
        get("fields that are selected", move |n| {
            format!(
                "{PODS}?fieldSelector={}",
                join(n, &|i| format!("metadata.name!=a{i}"), ",")
            )
        }),
        get("parameters", move |n| {
            format!("{PODS}?{}", join(n, &|i| format!("p{i}=v"), "&"))
        }),
        get("the same parameter", move |n| {
            format!(
                "{PODS}?{}",
                join(n, &|i| format!("labelSelector=k{i}"), "&")
            )
        }),
        get("escapes in parameters", |n| {
            format!("{PODS}?labelSelector={}", "%20".repeat(n))
        }),
        get("parts of the path", |n| {
            format!("/api/v1/{}", "a/".repeat(n))
        }),
        get("slashes", |n| format!("/api/v1/pods{}", "/".repeat(n))),
        get("a revision", |n| {
            format!("{PODS}?resourceVersion={}", "1".repeat(n))
        }),
        get("a continue token", |n| {
            format!("{PODS}?limit=1&continue={}", "a".repeat(n))
        }),
        post("a field manager", |n| {
            format!("fieldManager={}", "%01".repeat(n))
        }),
        post("a field manager beyond ASCII", |n| {
            format!("fieldManager={}", "\u{80}".repeat(n))
        }),
        post("dry runs", move |n| {
            join(n, &|i| format!("dryRun=x{i}"), "&")
        }),
        post("a field validation", |n| {
            format!("fieldValidation={}", "%22".repeat(n))
        }),
        Attack::single("query: a propagation policy", |n| {
            let policy = "%22".repeat(n);
            Request::new(
                "DELETE",
                format!("{CONFIG_MAPS}/a?propagationPolicy={policy}"),
            )
        }),
        header("accept", move |n| {
            join(n, &|i| format!("application/x{i};q=0.{i}"), ",")
        }),
        header("accept", |n| {
            format!("application/json{}", ";a=b".repeat(n))
        }),
        header("accept-encoding", move |n| {
            join(n, &|i| format!("x{i}"), ",")
        }),
        header("authorization", |n| format!("Bearer {}", "a".repeat(4 * n))),
        header("authorization", |n| {
            format!("Bearer {}", "a.".repeat(2 * n))
        }),
        header("content-type", |n| {
            format!("application/json{}", ";a=b".repeat(n))
        }),
        header("impersonate-user", |n| "a".repeat(4 * n)),
        header("if-none-match", move |n| {
            join(n, &|i| format!("\"{i}\""), ",")
        }),
        headers("impersonated groups", |i| {
            ("impersonate-group".to_owned(), format!("g{i}"))
        }),
        headers("impersonated extras", |i| {
            (format!("impersonate-extra-k{i}"), "v".to_owned())
        }),
        headers("headers", |i| (format!("x-k{i}"), "v".to_owned())),
        Attack::new("a list of many objects, by label", |n| {
            let mut all = many(n);
            all.push(Request::new(
                "GET",
                format!("{CONFIG_MAPS}?labelSelector=a"),
            ));
            all
        }),
        Attack::new("a list of many objects, as a table", |n| {
            let mut all = many(n);
            let list = Request::new("GET", CONFIG_MAPS);
            all.push(list.header("accept", "application/json;as=Table;g=meta.k8s.io;v=v1"));
            all
        }),
        Attack::new("all of a collection goes", |n| {
            let mut all = many(n);
            all.push(Request::new("DELETE", CONFIG_MAPS));
            all
        }),
        Attack::new("a large object as YAML", |n| {
            let get = Request::new("GET", format!("{CONFIG_MAPS}/a"));
            vec![create(keys(n)), get.header("accept", "application/yaml")]
        }),
    ]
}

/// As many objects as keep the scene short.
fn many(n: usize) -> Vec<Request> {
    let one = |i| Request::post(CONFIG_MAPS, &json!({"metadata": {"name": format!("a{i}")}}));
    (0..n / 8).map(one).collect()
}

fn get(name: &str, make: impl Fn(usize) -> String + Send + 'static) -> Attack {
    Attack::single(format!("query: {name}"), move |n| {
        Request::new("GET", make(n))
    })
}

fn post(name: &str, make: impl Fn(usize) -> String + Send + 'static) -> Attack {
    Attack::single(format!("query of a write: {name}"), move |n| {
        let url = format!("{CONFIG_MAPS}?{}", make(n));
        Request::post(url, &json!({"metadata": {"name": "a"}}))
    })
}

fn of_selector(name: &str, make: impl Fn(usize) -> String + Send + 'static) -> Attack {
    get(&format!("label selector: {name}"), move |n| {
        format!("{PODS}?labelSelector={}", make(n))
    })
}

fn header(name: &'static str, make: impl Fn(usize) -> String + Send + 'static) -> Attack {
    let shown = make(2);
    Attack::single(format!("header: {name}: {shown}"), move |n| {
        Request::new("GET", PODS).header(name, make(n))
    })
}

fn headers(name: &str, make: impl Fn(usize) -> (String, String) + Send + 'static) -> Attack {
    Attack::single(format!("headers: {name}"), move |n| {
        // HTTP itself has a limit.
        let mut request = Request::new("GET", PODS).header("impersonate-user", "ann");
        request.headers.extend((0..n.min(20_000)).map(&make));
        request
    })
}
