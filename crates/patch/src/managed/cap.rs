//! Keeps the list of owners short.
//!
//! Upstream: `apimachinery/pkg/util/managedfields/internal/capmanagers.go`.

use super::{Id, Operation, Owner, Owners};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// So many entries of updates may there be.
const MAX_UPDATERS: usize = 10;

/// Who owns what the oldest entries owned.
const ANCIENT: &str = "ancient-changes";

/// Merges the oldest updates, version by version, until few enough are left.
pub(super) fn cap(mut owners: Owners<'_>) -> Owners<'_> {
    let is_update = |owner: &&Owner<'_>| owner.id.operation == Operation::Update;
    let mut count = owners.list.iter().filter(is_update).count();
    if count <= MAX_UPDATERS {
        return owners;
    }
    let mut oldest: Vec<(Option<String>, String, Id<'_>)> = owners
        .list
        .iter()
        .filter(is_update)
        .map(|o| {
            (
                o.time.as_deref().map(str::to_owned),
                o.id.text(),
                o.id.clone(),
            )
        })
        .collect();
    oldest.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    let mut firsts: BTreeMap<String, Id<'_>> = BTreeMap::new();
    for (_, _, id) in oldest {
        if count <= MAX_UPDATERS {
            break;
        }
        let version = id.api_version.to_string();
        let Some(first) = firsts.get(&version) else {
            firsts.insert(version, id);
            continue;
        };
        let bucket = Id {
            manager: Cow::Borrowed(ANCIENT),
            operation: Operation::Update,
            api_version: id.api_version.clone(),
            subresource: Cow::Borrowed(""),
        };
        if owners.get(&bucket).is_none()
            && let Some(first) = owners.take(first)
        {
            owners.put(Owner {
                id: bucket.clone(),
                ..first
            });
        }
        if let (Some(owner), Some(ancient)) = (owners.take(&id), owners.take(&bucket)) {
            owners.put(Owner {
                id: bucket,
                fields: owner.fields.union(ancient.fields),
                ..owner
            });
            count -= 1;
        }
    }
    owners
}
