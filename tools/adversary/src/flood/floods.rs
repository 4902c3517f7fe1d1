//! The floods. Each is bounded: so many connections, so many requests at a time, five seconds.

use super::Users;
use super::client::{Client, Place};
use anyhow::Result;
use bytes::Bytes;
use serde_json::{Value, json};
use std::future::Future;
use std::pin::Pin;
use tokio::net::TcpStream;

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) struct Flood {
    pub(super) name: &'static str,
    pub(super) run: fn(Place) -> Running,
}

pub(super) static ALL: &[Flood] = &[
    Flood {
        name: "nobody",
        run: |_| Box::pin(std::future::ready(())),
    },
    Flood {
        name: "lists that wait for a revision",
        run: |place| {
            Box::pin(many(place, 4, 250, |_| {
                get(format!("{MAPS}?resourceVersion=99999999"))
            }))
        },
    },
    Flood {
        name: "large lists that are not read",
        run: |place| Box::pin(unread(place, 13, 10, MAPS.to_owned())),
    },
    Flood {
        name: "watches that are not read",
        run: |place| Box::pin(unread(place, 10, 200, format!("{MAPS}?watch=1"))),
    },
    Flood {
        name: "connections without credentials",
        run: |place| Box::pin(idle(place)),
    },
    Flood {
        name: "YAML of many keys",
        run: |place| {
            let body: String = (0..150_000).map(|i| format!("k{i}: v\n")).collect();
            Box::pin(posts(place, REVIEWS, "application/yaml", body))
        },
    },
    Flood {
        name: "YAML of many aliases",
        run: |place| {
            let text = "x".repeat(500_000);
            let uses: String = (0..4_000).map(|i| format!("k{i}: *a\n")).collect();
            Box::pin(posts(
                place,
                REVIEWS,
                "application/yaml",
                format!("a: &a {text}\n{uses}"),
            ))
        },
    },
    Flood {
        name: "owners",
        run: |place| {
            let owner = |i| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": format!("o{i}"), "uid": format!("u{i}")});
            let owners: Vec<Value> = (0..25_000).map(owner).collect();
            let object = json!({"metadata": {"name": "a", "ownerReferences": owners}});
            Box::pin(posts(
                place,
                MAPS_DRY,
                "application/json",
                object.to_string(),
            ))
        },
    },
    Flood {
        name: "errors",
        run: |place| {
            let keys: serde_json::Map<String, Value> =
                (0..60_000).map(|i| (format!("!{i}"), json!("!"))).collect();
            let object = json!({"metadata": {"name": "a", "labels": keys}});
            Box::pin(posts(
                place,
                MAPS_DRY,
                "application/json",
                object.to_string(),
            ))
        },
    },
    Flood {
        name: "a role of many rights",
        run: |place| {
            let names = |prefix: &str| {
                (0..290)
                    .map(|i| json!(format!("{prefix}{i}")))
                    .collect::<Vec<_>>()
            };
            let role = json!({"metadata": {"name": "a"}, "rules": [
            {"apiGroups": names("g"), "resources": names("r"), "verbs": names("v")}]});
            Box::pin(posts(place, ROLES, "application/json", role.to_string()))
        },
    },
    Flood {
        name: "large objects that are written",
        run: |place| {
            let object =
                json!({"metadata": {"generateName": "a"}, "data": {"k": "x".repeat(900_000)}});
            Box::pin(posts(
                place,
                MAPS_DRY,
                "application/json",
                object.to_string(),
            ))
        },
    },
    Flood {
        name: "heavy lists that wait",
        run: |place| {
            Box::pin(many(place, 4, 100, |_| {
                get(format!("{MAPS}?resourceVersion=99999999&limit=500"))
            }))
        },
    },
    Flood {
        name: "deletions of many that match nothing",
        run: |place| {
            Box::pin(many(place, 4, 100, |_| {
                let path = format!("{MAPS}?dryRun=All&fieldSelector=metadata.name%3Dnone");
                ("DELETE", path, "application/json", Bytes::new())
            }))
        },
    },
    Flood {
        name: "long selectors of watches",
        run: |place| {
            let selector = "%21a,".repeat(10_000);
            let path = format!("{MAPS}?watch=1&labelSelector={selector}a");
            Box::pin(unread(place, 5, 60, path))
        },
    },
    Flood {
        name: "lists that are made pretty",
        run: |place| Box::pin(many(place, 2, 20, |_| get(format!("{MAPS}?pretty=1")))),
    },
    Flood {
        name: "small writes",
        run: |place| {
            Box::pin(many(place, 4, 60, |_| {
                let object = json!({"metadata": {"generateName": "a"}, "data": {"k": "v"}});
                (
                    "POST",
                    MAPS_DRY.to_owned(),
                    "application/json",
                    Bytes::from(object.to_string()),
                )
            }))
        },
    },
];

const MAPS: &str = "/api/v1/namespaces/attacker/configmaps";
const MAPS_DRY: &str = "/api/v1/namespaces/attacker/configmaps?dryRun=All";
const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/attacker/roles?dryRun=All";
const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

type Asked = (&'static str, String, &'static str, Bytes);

fn get(path: String) -> Asked {
    ("GET", path, "application/json", Bytes::new())
}

/// What the attacker has: objects of 9 MB in all.
pub(super) async fn prepare(users: &Users) -> Result<()> {
    let mut client = Client::connect(&users.attackers[0]).await?;
    for i in 0..10 {
        let object =
            json!({"metadata": {"name": format!("large-{i}")}, "data": {"k": "x".repeat(900_000)}});
        client.create(MAPS, &object).await?;
    }
    Ok(())
}

/// So many requests at a time on each of so many connections, again and again.
async fn many(place: Place, connections: usize, streams: usize, ask: fn(usize) -> Asked) {
    let mut tasks = tokio::task::JoinSet::new();
    for connection in 0..connections {
        let Ok(client) = Client::connect(&place).await else {
            return;
        };
        for stream in 0..streams {
            let mut client = client.clone();
            tasks.spawn(async move {
                loop {
                    let (method, path, kind, body) = ask(connection * streams + stream);
                    match client.send(method, &path, kind, body).await {
                        // As a client that knows no manners, but does not spin.
                        Ok((429, _)) => {
                            tokio::time::sleep(std::time::Duration::from_millis(100)).await
                        }
                        Ok(_) => {}
                        Err(_) => return,
                    }
                }
            });
        }
    }
    while tasks.join_next().await.is_some() {}
}

/// The same body again and again, on eight connections.
async fn posts(place: Place, path: &'static str, kind: &'static str, body: String) {
    let body = Bytes::from(body);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (place, body) = (place.clone(), body.clone());
        tasks.spawn(async move {
            let Ok(mut client) = Client::connect(&place).await else {
                return;
            };
            while let Ok((code, _)) = client.send("POST", path, kind, body.clone()).await {
                if code == 429 {
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                }
            }
        });
    }
    while tasks.join_next().await.is_some() {}
}

/// Asks for this so often on each of so many connections, and reads nothing of the answers.
async fn unread(place: Place, connections: usize, streams: usize, path: String) {
    let mut answers = Vec::new();
    for _ in 0..connections {
        let Ok(mut client) = Client::connect(&place).await else {
            return;
        };
        for _ in 0..streams {
            let answer = client.open("GET", &path, "application/json", Bytes::new());
            answers.push(answer.await);
        }
    }
    std::future::pending::<()>().await;
}

async fn idle(place: Place) {
    let mut held = Vec::new();
    for _ in 0..2_000 {
        match TcpStream::connect(&place.authority).await {
            Ok(stream) => held.push(stream),
            Err(_) => break,
        }
    }
    std::future::pending::<()>().await;
}
