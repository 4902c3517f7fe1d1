//! The whole binary is killed at random moments under load, also while it starts: what was
//! acknowledged is there, and a watch that resumes from its last revision has no gap.

use super::client::{Client, Folder, Lost, Server, up};
use super::{CONFIG_MAPS, block_on, config_map};
use http::Method;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use stowplan_base::Rng;

const WRITERS: usize = 4;
const FENCE: &str = "fence";

/// Objects by name; the value is a number.
type Objects = BTreeMap<String, u64>;

fn setting(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}

fn entry(object: &Value) -> (String, u64) {
    let name = object["metadata"]["name"].as_str().expect("a name");
    let value = object["data"]["value"].as_str().unwrap_or_default();
    (name.to_owned(), value.parse().unwrap_or_default())
}

fn revision(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str();
    text.expect("a revision").parse().expect("a number")
}

/// All objects, and the revision of the list.
async fn list(client: &Client) -> (Objects, u64) {
    let (status, list) = client.get(CONFIG_MAPS).await;
    assert_eq!(status.as_u16(), 200, "{list}");
    let items = list["items"].as_array().expect("items");
    (items.iter().map(entry).collect(), revision(&list))
}

/// One client that counts up, and what it knows of its objects.
struct Writer {
    name: String,
    number: u64,
    known: Objects,
    /// An object with its state after a request that was not answered.
    unknown: Option<(String, Option<u64>)>,
}

impl Writer {
    fn new(index: usize) -> Self {
        Self {
            name: format!("w{index}"),
            number: 0,
            known: Objects::new(),
            unknown: None,
        }
    }

    /// Takes over what is there after a restart, if it is what can be there.
    fn check(&mut self, all: &Objects) {
        let prefix = format!("{}-", self.name);
        let mine = |name: &String| *name == self.name || name.starts_with(&prefix);
        let mut there = all.clone();
        there.retain(|name, _| mine(name));
        let mut with_unknown = self.known.clone();
        match self.unknown.take() {
            Some((name, Some(value))) => drop(with_unknown.insert(name, value)),
            Some((name, None)) => drop(with_unknown.remove(&name)),
            None => {}
        }
        assert!(
            there == self.known || there == with_unknown,
            "{there:?} is neither {:?} nor {with_unknown:?}",
            self.known
        );
        self.number = there.get(&self.name).copied().unwrap_or(0);
        self.known = there;
    }

    async fn write(
        &mut self,
        connection: &mut super::client::Connection,
        name: String,
        value: Option<u64>,
    ) -> Result<(), Lost> {
        let here = format!("{CONFIG_MAPS}/{name}");
        let body = value.map(|value| config_map(&name, &value.to_string()));
        let (method, path) = match (value.is_some(), self.known.contains_key(&name)) {
            (true, true) => (Method::PUT, here.as_str()),
            (true, false) => (Method::POST, CONFIG_MAPS),
            (false, _) => (Method::DELETE, here.as_str()),
        };
        self.unknown = Some((name.clone(), value));
        let (status, answer) = connection.ask(method, path, body).await?;
        assert!(status.is_success(), "{answer}");
        self.unknown = None;
        match value {
            Some(value) => self.known.insert(name, value),
            None => self.known.remove(&name),
        };
        Ok(())
    }

    /// Each step counts one up; every third also makes an object or removes the one before.
    async fn step(&mut self, connection: &mut super::client::Connection) -> Result<(), Lost> {
        let next = self.number + 1;
        let name = self.name.clone();
        self.write(connection, name, Some(next)).await?;
        self.number = next;
        let other = format!("{}-{}", self.name, next / 6);
        match (next % 6, self.known.contains_key(&other)) {
            (0, false) => self.write(connection, other, Some(next)).await,
            (3, true) => self.write(connection, other, None).await,
            _ => Ok(()),
        }
    }

    /// Writes until the server is gone.
    async fn run(mut self, client: Client, acked: Arc<AtomicU64>) -> Self {
        let Ok(mut connection) = client.connect().await else {
            return self;
        };
        while self.step(&mut connection).await.is_ok() {
            acked.fetch_add(1, Ordering::Relaxed);
        }
        self
    }
}

/// Follows all objects through all restarts.
#[derive(Default)]
struct Follower {
    revision: u64,
    objects: Objects,
    events: u64,
    expired: u64,
}

impl Follower {
    async fn start_over(&mut self, client: &Client) {
        (self.objects, self.revision) = list(client).await;
    }

    /// Follows until the fence has this number, or the server is gone.
    async fn follow(&mut self, client: &Client, fence: Option<u64>) -> Result<(), Lost> {
        if self.revision == 0 {
            self.start_over(client).await;
        }
        loop {
            if fence.is_some() && self.objects.get(FENCE).copied() == fence {
                return Ok(());
            }
            let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion={}", self.revision);
            let mut watch = client.connect().await?.watch(&path).await?;
            let gone = loop {
                let Some(event) = watch.next().await else {
                    return Err(Lost::new("the watch ended"));
                };
                if event["code"] == 410 || event["object"]["code"] == 410 {
                    break true;
                }
                self.apply(&event);
                if fence.is_some() && self.objects.get(FENCE).copied() == fence {
                    break false;
                }
            };
            if gone {
                self.expired += 1;
                self.start_over(client).await;
            }
        }
    }

    fn apply(&mut self, event: &Value) {
        let object = &event["object"];
        let (name, value) = entry(object);
        let at = revision(object);
        assert!(at > self.revision, "{event} after {}", self.revision);
        self.revision = at;
        self.events += 1;
        let before = self.objects.get(&name).copied();
        match event["type"].as_str() {
            Some("ADDED") => {
                assert_eq!(before, None, "added twice: {event}");
                self.objects.insert(name, value);
            }
            // Only counters are changed, and no number is left out.
            Some("MODIFIED") => {
                assert_eq!(before, Some(value - 1), "a gap before {event}");
                self.objects.insert(name, value);
            }
            Some("DELETED") => {
                assert!(before.is_some(), "deleted, but never there: {event}");
                self.objects.remove(&name);
            }
            _ => panic!("{event}"),
        }
    }
}

struct Crashes {
    folder: Folder,
    rng: Rng,
    writers: Vec<Writer>,
    follower: Follower,
    fence: Writer,
    acked: Arc<AtomicU64>,
}

impl Crashes {
    /// What the one before acknowledged is there, and the follower comes to see the same.
    async fn check(&mut self, client: &Client) {
        let (there, _) = list(client).await;
        for writer in self.writers.iter_mut().chain([&mut self.fence]) {
            writer.check(&there);
        }
        let mut connection = client.connect().await.expect("a connection");
        let number = self.fence.number + 1;
        let written = self
            .fence
            .write(&mut connection, FENCE.into(), Some(number));
        written.await.expect("an answer");
        let followed = self.follower.follow(client, Some(number)).await;
        followed.expect("the server runs");
        let (there, _) = list(client).await;
        assert_eq!(self.follower.objects, there);
    }

    /// One process from its start to its end.
    async fn one(&mut self) {
        let mut server = Server::spawn(&mut up(&self.folder.0));
        let wait = Duration::from_micros(self.rng.below(60_000) as u64);
        if self.rng.below(4) == 0 {
            tokio::time::sleep(wait).await;
            return server.kill();
        }
        let client = Client::read(&server.ready());
        self.check(&client).await;
        let before = self.acked.load(Ordering::Relaxed);
        let mut running = Vec::new();
        for writer in self.writers.drain(..) {
            let acked = Arc::clone(&self.acked);
            running.push(tokio::spawn(writer.run(client.clone(), acked)));
        }
        let mut follower = std::mem::take(&mut self.follower);
        let following = tokio::spawn(async move {
            drop(follower.follow(&client, None).await);
            follower
        });
        while self.acked.load(Ordering::Relaxed) == before {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(wait).await;
        server.kill();
        for writer in running {
            self.writers.push(writer.await.expect("no panic"));
        }
        self.follower = following.await.expect("no panic");
    }
}

#[test]
fn no_acknowledged_write_is_lost_and_no_watch_has_a_gap_when_the_binary_is_killed() {
    let kills = setting("STOWPLAN_KILLS", 6);
    let seed = setting("STOWPLAN_SEED", 1);
    println!("STOWPLAN_SEED={seed}");
    let mut crashes = Crashes {
        folder: Folder::new(),
        rng: Rng::new(seed),
        writers: (0..WRITERS).map(Writer::new).collect(),
        follower: Follower::default(),
        fence: Writer {
            name: FENCE.into(),
            ..Writer::new(WRITERS)
        },
        acked: Arc::default(),
    };
    block_on(async {
        for _ in 0..kills {
            crashes.one().await;
        }
        let mut server = Server::spawn(&mut up(&crashes.folder.0));
        crashes.check(&Client::read(&server.ready())).await;
        assert_eq!(server.stop("-TERM").code(), Some(0));
    });
    let acked = crashes.acked.load(Ordering::Relaxed);
    let Follower {
        events, expired, ..
    } = crashes.follower;
    println!("{kills} kills, {acked} acknowledged writes, {events} events, {expired} times 410");
    assert!(acked >= kills / 2, "only {acked} writes were acknowledged");
    assert!(events >= acked || expired > 0, "only {events} events");
}

/// The secrets are made on the first start: a process that is killed there leaves a folder that the
/// next one can use.
#[test]
fn a_first_start_may_be_killed_at_any_moment() {
    let mut rng = Rng::new(setting("STOWPLAN_SEED", 1));
    for _ in 0..setting("STOWPLAN_KILLS", 6).min(20) {
        let folder = Folder::new();
        let server = Server::spawn(&mut up(&folder.0));
        std::thread::sleep(Duration::from_micros(rng.below(50_000) as u64));
        server.kill();
        let mut server = Server::spawn(&mut up(&folder.0));
        let client = Client::read(&server.ready());
        assert_eq!(block_on(client.get("/version")).0.as_u16(), 200);
    }
}
