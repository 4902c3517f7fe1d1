//! The objects of one kind.

use crate::Object;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// Namespace and name; the namespace of objects that have none is empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Key {
    /// The namespace.
    pub namespace: Box<str>,
    /// The name.
    pub name: Box<str>,
}

impl Key {
    /// A key by its parts.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The key of an object.
    pub fn of<K: Object>(object: &K) -> Self {
        let meta = object.metadata();
        let namespace = meta.namespace.as_deref().unwrap_or_default();
        Self::new(namespace, meta.name.as_deref().unwrap_or_default())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.is_empty() {
            true => f.write_str(&self.name),
            false => write!(f, "{}/{}", self.namespace, self.name),
        }
    }
}

/// What became of an object.
#[derive(Debug)]
pub enum Delta<'a, K> {
    /// It is there. Who begins to listen is told so of all that there are.
    Added(&'a Arc<K>),
    /// It was like the first, and is like the second.
    Updated(&'a Arc<K>, &'a Arc<K>),
    /// It was like this, and is gone.
    Deleted(&'a Arc<K>),
}

impl<K> Delta<'_, K> {
    /// The object as it is, or was.
    pub fn object(&self) -> &Arc<K> {
        match self {
            Self::Added(object) | Self::Updated(_, object) | Self::Deleted(object) => object,
        }
    }

    /// The object as it was before, if it changed.
    pub fn before(&self) -> Option<&Arc<K>> {
        match self {
            Self::Updated(before, _) => Some(before),
            Self::Added(_) | Self::Deleted(_) => None,
        }
    }
}

type Handler<K> = Box<dyn FnMut(Delta<'_, K>) + Send>;

/// What an object is filed under in an index.
type Values<K> = fn(&K) -> Vec<String>;

/// How many deletions are remembered: an answer that was on its way may still speak of the object.
const GONE_MAX: usize = 20_000;

/// The objects of one kind, indexed, and those who are told of changes. client-go's `SharedInformer`
/// without the watch.
pub struct Store<K> {
    objects: RwLock<Objects<K>>,
    /// Locked while objects change, so that nobody is told twice or not at all.
    handlers: Mutex<Vec<Handler<K>>>,
}

struct Objects<K> {
    by_key: BTreeMap<Key, Arc<K>>,
    by_owner: Index,
    others: BTreeMap<&'static str, (Values<K>, Index)>,
    gone: Gone,
}

/// Uids of objects that are gone, though an older event or answer may still speak of them.
#[derive(Default)]
struct Gone {
    uids: BTreeSet<Box<str>>,
    order: VecDeque<Box<str>>,
}

impl Gone {
    fn insert(&mut self, uid: &str) {
        if uid.is_empty() || !self.uids.insert(uid.into()) {
            return;
        }
        self.order.push_back(uid.into());
        if self.order.len() > GONE_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.uids.remove(&oldest);
        }
    }
}

type Index = BTreeMap<Box<str>, BTreeSet<Key>>;

impl<K> Default for Store<K> {
    fn default() -> Self {
        let objects = Objects {
            by_key: BTreeMap::new(),
            by_owner: Index::new(),
            others: BTreeMap::new(),
            gone: Gone::default(),
        };
        Self {
            objects: RwLock::new(objects),
            handlers: Mutex::default(),
        }
    }
}

impl<K: Object> Store<K> {
    fn read<T>(&self, look: impl FnOnce(&Objects<K>) -> T) -> T {
        look(&self.objects.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut Objects<K>) -> T) -> T {
        change(&mut self.objects.write().unwrap_or_else(PoisonError::into_inner))
    }

    fn handlers(&self) -> MutexGuard<'_, Vec<Handler<K>>> {
        let handlers = self.handlers.lock();
        handlers.unwrap_or_else(PoisonError::into_inner)
    }

    /// Files objects under what `values` says of them; the same name twice is the same index.
    pub fn add_index(&self, name: &'static str, values: Values<K>) {
        self.write(|objects| {
            if objects.others.contains_key(name) {
                return;
            }
            let mut index = Index::new();
            for (key, object) in &objects.by_key {
                file(&mut index, key, values(object));
            }
            objects.others.insert(name, (values, index));
        });
    }

    /// Lets `handler` know of all objects that there are, and from then on of each change, in order. It
    /// must not wait, nor change objects; it may look things up.
    pub fn add_handler(&self, mut handler: impl FnMut(Delta<'_, K>) + Send + 'static) {
        let mut handlers = self.handlers();
        for object in self.all() {
            handler(Delta::Added(&object));
        }
        handlers.push(Box::new(handler));
    }

    /// Puts an object in, unless what is there is as new or newer.
    pub fn upsert(&self, object: impl Into<Arc<K>>) {
        let now = object.into();
        let key = Key::of(&*now);
        let mut handlers = self.handlers();
        let before = match self.write(|objects| objects.upsert(key, &now)) {
            Put::Stale => return,
            Put::New => None,
            Put::Over(before) => Some(before),
        };
        for handler in handlers.iter_mut() {
            match &before {
                Some(before) if uid(&**before) == uid(&*now) => {
                    handler(Delta::Updated(before, &now));
                }
                // Another one of the same name: that the first is gone was missed.
                Some(before) => {
                    handler(Delta::Deleted(before));
                    handler(Delta::Added(&now));
                }
                None => handler(Delta::Added(&now)),
            }
        }
    }

    /// An object is gone.
    pub fn delete(&self, key: &Key) {
        self.delete_if(key, |_| true);
    }

    /// A watch says that an object was gone as of this version, or a list of this version does not have it.
    /// Who has made another one of its name since, and knows that by the answer, keeps that.
    pub fn delete_as_of(&self, key: &Key, version: &str) {
        self.delete_if(key, |known| {
            let versions = version_of(known).zip(version.parse::<u64>().ok());
            versions.is_none_or(|(known, version)| known <= version)
        });
    }

    /// Everything that there was as of this version is known by its key: the rest is gone. What was made since
    /// stays.
    pub fn retain_as_of(&self, version: &str, is_there: &dyn Fn(&Key) -> bool) {
        let keys: Vec<Key> = self.read(|objects| {
            let keys = objects.by_key.keys();
            keys.filter(|key| !is_there(key)).cloned().collect()
        });
        for key in keys {
            self.delete_as_of(&key, version);
        }
    }

    fn delete_if(&self, key: &Key, is_it: impl Fn(&K) -> bool) {
        let mut handlers = self.handlers();
        let before = self.write(|objects| {
            objects.by_key.get(key).filter(|known| is_it(known))?;
            let before = objects.remove(key)?;
            objects.gone.insert(uid(&*before));
            Some(before)
        });
        let Some(before) = before else { return };
        for handler in handlers.iter_mut() {
            handler(Delta::Deleted(&before));
        }
    }

    /// We know that the object with this uid is gone, before the watch says so. Older events of it are not
    /// believed.
    pub fn forget(&self, key: &Key, uid_gone: &str) {
        let mut handlers = self.handlers();
        let before = self.write(|objects| {
            let is_it = |object: &Arc<K>| uid(&**object) == uid_gone;
            objects.by_key.get(key).filter(|object| is_it(object))?;
            objects.gone.insert(uid_gone);
            objects.remove(key)
        });
        let Some(before) = before else { return };
        for handler in handlers.iter_mut() {
            handler(Delta::Deleted(&before));
        }
    }

    /// An object; the namespace of those that have none is empty.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        let key = Key::new(namespace, name);
        self.read(|objects| objects.by_key.get(&key).cloned())
    }

    /// All objects, in the order of namespaces and names.
    pub fn all(&self) -> Vec<Arc<K>> {
        self.read(|objects| objects.by_key.values().cloned().collect())
    }

    /// All objects of a namespace, in the order of their names.
    pub fn namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        let first = Key::new(namespace, "");
        self.read(|objects| {
            let from = objects.by_key.range(first..);
            let of = from.take_while(|(key, _)| *key.namespace == *namespace);
            of.map(|(_, object)| object.clone()).collect()
        })
    }

    /// All objects that name the uid among their owners.
    pub fn owned(&self, uid: &str) -> Vec<Arc<K>> {
        self.read(|objects| objects.filed(&objects.by_owner, uid))
    }

    /// All objects that an [index](Self::add_index) has under a value; none if there is no such index.
    pub fn indexed(&self, index: &str, value: &str) -> Vec<Arc<K>> {
        self.read(|objects| match objects.others.get(index) {
            Some((_, index)) => objects.filed(index, value),
            None => Vec::new(),
        })
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.read(|objects| objects.by_key.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What putting an object in came to.
enum Put<K> {
    /// What is there is as new.
    Stale,
    /// There was none.
    New,
    /// This one was there.
    Over(Arc<K>),
}

impl<K: Object> Objects<K> {
    fn upsert(&mut self, key: Key, now: &Arc<K>) -> Put<K> {
        if self.gone.uids.contains(uid(&**now)) {
            return Put::Stale;
        }
        if let Some(before) = self.by_key.get(&key)
            && is_as_new(&**before, &**now)
        {
            return Put::Stale;
        }
        let before = self.remove(&key);
        file(&mut self.by_owner, &key, owners(&**now));
        for (values, index) in self.others.values_mut() {
            file(index, &key, values(now));
        }
        self.by_key.insert(key, now.clone());
        before.map_or(Put::New, Put::Over)
    }

    fn remove(&mut self, key: &Key) -> Option<Arc<K>> {
        let object = self.by_key.remove(key)?;
        unfile(&mut self.by_owner, key, owners(&*object));
        for (values, index) in self.others.values_mut() {
            unfile(index, key, values(&object));
        }
        Some(object)
    }

    fn filed(&self, index: &Index, value: &str) -> Vec<Arc<K>> {
        let keys = index.get(value).into_iter().flatten();
        keys.filter_map(|key| self.by_key.get(key).cloned())
            .collect()
    }
}

fn file(index: &mut Index, key: &Key, values: Vec<String>) {
    for value in values {
        let keys = index.entry(value.into_boxed_str()).or_default();
        keys.insert(key.clone());
    }
}

fn unfile(index: &mut Index, key: &Key, values: Vec<String>) {
    for value in values {
        if let Some(keys) = index.get_mut(&*value) {
            keys.remove(key);
            if keys.is_empty() {
                index.remove(&*value);
            }
        }
    }
}

fn uid<K: Object>(object: &K) -> &str {
    object.metadata().uid.as_deref().unwrap_or_default()
}

fn owners<K: Object>(object: &K) -> Vec<String> {
    let owners = object.metadata().owner_references.iter().flatten();
    owners.map(|owner| owner.uid.clone()).collect()
}

/// Whether what is known is the same version of the object or a later one. Resource versions of one kind
/// can be compared as numbers (KEP-5504); what is no number is never newer.
fn is_as_new<K: Object>(known: &K, told: &K) -> bool {
    match (version_of(known), version_of(told)) {
        (Some(known), Some(told)) => known >= told,
        _ => false,
    }
}

fn version_of<K: Object>(object: &K) -> Option<u64> {
    let version = object.metadata().resource_version.as_deref()?;
    version.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

    fn map(name: &str, uid: &str, version: u64) -> ConfigMap {
        ConfigMap {
            metadata: ObjectMeta {
                namespace: Some("shop".to_owned()),
                name: Some(name.to_owned()),
                uid: Some(uid.to_owned()),
                resource_version: Some(version.to_string()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        }
    }

    fn told(store: &Store<ConfigMap>) -> Arc<Mutex<Vec<String>>> {
        let told = Arc::new(Mutex::new(Vec::new()));
        let notes = told.clone();
        store.add_handler(move |delta| {
            let what = match delta {
                Delta::Added(_) => "added",
                Delta::Updated(..) => "updated",
                Delta::Deleted(_) => "deleted",
            };
            let meta = &delta.object().metadata;
            let version = meta.resource_version.as_deref().unwrap_or_default();
            notes.lock().unwrap().push(format!("{what} {version}"));
        });
        told
    }

    #[test]
    fn what_was_written_is_seen_at_once_and_an_older_event_changes_nothing() {
        let store = Store::default();
        let told = told(&store);
        store.upsert(map("a", "1", 5));
        // The answer to a write, then the events of the watch.
        store.upsert(map("a", "1", 8));
        store.upsert(map("a", "1", 7));
        store.upsert(map("a", "1", 8));
        assert_eq!(*told.lock().unwrap(), ["added 5", "updated 8"]);
    }

    #[test]
    fn what_is_gone_does_not_come_back_by_an_older_event() {
        let store = Store::default();
        let told = told(&store);
        let key = Key::new("shop", "a");
        store.upsert(map("a", "1", 5));
        store.forget(&key, "1");
        store.upsert(map("a", "1", 6));
        assert!(store.is_empty());
        store.delete(&key);
        // Another one of that name is new.
        store.upsert(map("a", "2", 9));
        store.forget(&key, "1");
        assert_eq!(store.len(), 1);
        assert_eq!(*told.lock().unwrap(), ["added 5", "deleted 5", "added 9"]);
    }

    #[test]
    fn an_answer_that_comes_after_the_deletion_does_not_bring_the_object_back() {
        let store = Store::default();
        let told = told(&store);
        store.upsert(map("a", "1", 5));
        store.delete(&Key::new("shop", "a"));
        store.upsert(map("a", "1", 6));
        assert!(store.is_empty());
        assert_eq!(*told.lock().unwrap(), ["added 5", "deleted 5"]);
    }

    /// A pod of a StatefulSet is deleted and made again faster than the watch tells of the first.
    #[test]
    fn a_deletion_that_is_told_late_does_not_take_away_what_was_made_since() {
        let store = Store::default();
        let told = told(&store);
        let key = Key::new("shop", "a");
        store.upsert(map("a", "1", 5));
        store.forget(&key, "1");
        store.upsert(map("a", "2", 7));
        store.delete_as_of(&key, "6");
        // Later events of the new one are believed.
        store.upsert(map("a", "2", 8));
        assert_eq!(
            *told.lock().unwrap(),
            ["added 5", "deleted 5", "added 7", "updated 8"]
        );
        store.delete_as_of(&key, "9");
        assert!(store.is_empty());
    }

    #[test]
    fn what_a_list_does_not_have_is_gone_unless_it_was_made_since() {
        let store = Store::default();
        store.upsert(map("a", "1", 5));
        store.upsert(map("b", "2", 6));
        store.upsert(map("c", "3", 9));
        store.retain_as_of("7", &|key| &*key.name == "a");
        let names: Vec<_> = store
            .all()
            .iter()
            .map(|map| map.metadata.name.clone())
            .collect();
        assert_eq!(names, [Some("a".to_owned()), Some("c".to_owned())]);
    }

    #[test]
    fn another_object_of_the_same_name_is_told_as_a_deletion_first() {
        let store = Store::default();
        let told = told(&store);
        store.upsert(map("a", "1", 5));
        store.upsert(map("a", "2", 9));
        assert_eq!(*told.lock().unwrap(), ["added 5", "deleted 5", "added 9"]);
    }

    #[test]
    fn objects_are_found_by_owner_and_by_index_until_they_are_gone() {
        let store = Store::<ConfigMap>::default();
        store.add_index("name", |map| map.metadata.name.iter().cloned().collect());
        let mut owned = map("a", "1", 5);
        owned.metadata.owner_references = Some(vec![OwnerReference {
            uid: "owner".to_owned(),
            ..OwnerReference::default()
        }]);
        store.upsert(owned);
        store.upsert(map("b", "2", 6));
        assert_eq!(store.owned("owner").len(), 1);
        assert_eq!(store.indexed("name", "b").len(), 1);
        assert_eq!(store.namespace("shop").len(), 2);
        store.upsert(map("a", "1", 7));
        assert!(store.owned("owner").is_empty());
        store.delete(&Key::new("shop", "b"));
        assert!(store.indexed("name", "b").is_empty());
    }
}
