//! Who a container is, and how much it may use.

use super::start::{CONFIG_ERROR, trouble};
use super::uid_of;
use crate::fields::quantity;
use crate::record::Limits;
use k8s_openapi::api::core::v1::{Container, Pod};
use stowplan_nodes::Trouble;

/// Who the container is to be.
pub(super) fn user(pod: &Pod, container: &Container) -> Result<(u32, u32), Trouble> {
    let of_pod = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.security_context.as_ref());
    let own = container.security_context.as_ref();
    let uid = own
        .and_then(|one| one.run_as_user)
        .or(of_pod.and_then(|one| one.run_as_user));
    let gid = own
        .and_then(|one| one.run_as_group)
        .or(of_pod.and_then(|one| one.run_as_group));
    let non_root = own.and_then(|one| one.run_as_non_root);
    let non_root = non_root.or(of_pod.and_then(|one| one.run_as_non_root));
    if non_root == Some(true) && uid.unwrap_or(0) == 0 {
        let (name, uid_text) = (
            pod.metadata.name.as_deref().unwrap_or_default(),
            uid_of(pod),
        );
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let place = format!(
            "(pod: \"{name}_{namespace}({uid_text})\", container: {})",
            container.name
        );
        let message = match uid {
            Some(_) => format!("container's runAsUser breaks non-root policy {place}"),
            None => format!("container has runAsNonRoot and image will run as root {place}"),
        };
        return Err(trouble(CONFIG_ERROR, message));
    }
    let id = |id: Option<i64>| u32::try_from(id.unwrap_or(0)).unwrap_or(0);
    Ok((id(uid), id(gid)))
}

pub(super) fn amount(container: &Container, list: &str, name: &str) -> Option<i64> {
    let resources = container.resources.as_ref()?;
    let list = match list {
        "limits" => resources.limits.as_ref()?,
        _ => resources.requests.as_ref()?,
    };
    let amount = quantity(list.get(name)?).ok()?;
    Some(match name {
        "cpu" => amount.milli_value(),
        _ => amount.value(),
    })
}

/// Limits of each process, where there is no cgroup.
pub(super) fn limits(container: &Container) -> Limits {
    let memory = amount(container, "limits", "memory");
    Limits {
        data: memory
            .and_then(|bytes| u64::try_from(bytes).ok())
            .filter(|bytes| *bytes > 0),
    }
}
