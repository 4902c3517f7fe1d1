//! For how long taints are tolerated.

use k8s_openapi::api::core::v1::{Taint, Toleration};

/// For how long all of some taints are tolerated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tolerated {
    /// One is not.
    Not,
    /// For so many seconds.
    For(i64),
    /// For ever.
    Forever,
}

/// For how long `tolerations` tolerate all `taints`. Upstream's `GetMatchingTolerations` and
/// `getMinTolerationTime`.
pub fn tolerated(taints: &[Taint], tolerations: &[Toleration]) -> Tolerated {
    let mut least: Option<i64> = None;
    for taint in taints {
        // The first one that matches counts.
        let Some(used) = tolerations
            .iter()
            .find(|toleration| tolerates(toleration, taint))
        else {
            return Tolerated::Not;
        };
        if let Some(seconds) = used.toleration_seconds {
            least = Some(least.map_or(seconds, |least| least.min(seconds)).max(0));
        }
    }
    match least {
        Some(seconds) => Tolerated::For(seconds),
        None => Tolerated::Forever,
    }
}

/// Upstream's `ToleratesTaint`, without the comparing operators, whose gate is off.
fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let given = |field: &Option<String>| field.clone().unwrap_or_default();
    let (effect, key) = (given(&toleration.effect), given(&toleration.key));
    if !effect.is_empty() && effect != taint.effect {
        return false;
    }
    if !key.is_empty() && key != taint.key {
        return false;
    }
    match toleration.operator.as_deref().unwrap_or_default() {
        "" | "Equal" => given(&toleration.value) == given(&taint.value),
        operator => operator == "Exists",
    }
}
