//! What only pods of one operating system may say.

use crate::common::faults::Faults;
use serde_json::Value;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{View, names};

const SPEC_KIB_MAX: usize = 64;
const DOMAIN_BYTES_MAX: usize = 256;
const USER_BYTES_MAX: usize = 104;

/// Options of a security context that Windows reads.
pub(super) fn validate_options(context: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let options = context.at("windowsOptions");
    if options.has("gmsaCredentialSpecName") {
        let name = options.text("gmsaCredentialSpecName");
        let faults = names::dns1123_subdomain(name);
        errors.invalid_each(&path.child("gmsaCredentialSpecName"), name, faults);
    }
    if options.has("gmsaCredentialSpec") {
        let (spec, at) = (
            options.text("gmsaCredentialSpec"),
            path.child("gmsaCredentialSpec"),
        );
        if spec.is_empty() {
            errors.invalid(&at, spec, "gmsaCredentialSpec cannot be an empty string");
        } else if spec.len() > SPEC_KIB_MAX * 1024 {
            let detail = format!("gmsaCredentialSpec size must be under {SPEC_KIB_MAX} KiB");
            errors.invalid(&at, spec, detail);
        }
    }
    if options.has("runAsUserName") {
        let name = options.text("runAsUserName");
        errors.invalid_each(&path.child("runAsUserName"), name, user_name_faults(name));
    }
}

fn user_name_faults(name: &str) -> Vec<String> {
    if name.is_empty() {
        return vec!["runAsUserName cannot be an empty string".to_owned()];
    }
    if name.chars().any(|c| c.is_ascii_control()) {
        return vec!["runAsUserName cannot contain control characters".to_owned()];
    }
    let (domain, user) = match name.split_once('\\') {
        Some((_, user)) if user.contains('\\') => {
            return vec!["runAsUserName cannot contain more than one backslash".to_owned()];
        }
        Some((domain, user)) => (Some(domain), user),
        None => (None, name),
    };
    let mut faults = Vec::new();
    if domain.is_some_and(|domain| domain.len() >= DOMAIN_BYTES_MAX) {
        faults.push(format!(
            "runAsUserName's Domain length must be under {DOMAIN_BYTES_MAX} characters"
        ));
    }
    if domain.is_some_and(|domain| !is_netbios(domain) && !is_dns(domain)) {
        let fault = "runAsUserName's Domain doesn't match the NetBios nor the DNS format";
        faults.push(fault.to_owned());
    }
    if user.is_empty() {
        faults.push("runAsUserName's User cannot be empty".to_owned());
    } else if user.len() > USER_BYTES_MAX {
        faults.push(format!(
            "runAsUserName's User length must not be longer than {USER_BYTES_MAX} characters"
        ));
    }
    if !user.is_empty() && user.chars().all(|c| matches!(c, '.' | ' ')) {
        let fault = "runAsUserName's User cannot contain only periods or spaces";
        faults.push(fault.to_owned());
    }
    if user.contains(|c| "\"/\\:;|=,+*?<>@[]".contains(c)) {
        let fault =
            r#"runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]"#;
        faults.push(fault.to_owned());
    }
    faults
}

fn is_netbios(domain: &str) -> bool {
    let allowed = |c: char| !r#"\/:*?"<>|"#.contains(c);
    let length = domain.chars().count();
    (1..=15).contains(&length) && !domain.starts_with('.') && domain.chars().all(allowed)
}

fn is_dns(domain: &str) -> bool {
    domain.split('.').all(|label| {
        let bytes = label.as_bytes();
        let ends = [bytes.first(), bytes.last()];
        let inner = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        bytes.len() <= 63
            && ends
                .iter()
                .all(|b| b.is_some_and(|b| b.is_ascii_alphanumeric()))
            && label.bytes().all(inner)
    })
}

/// If one container is a process of the host, all are, and they share its network.
pub(super) fn validate_host_processes(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let of = |object: &Value| {
        object
            .path(&["securityContext", "windowsOptions", "hostProcess"])
            .as_bool()
    };
    let pod = of(spec);
    let (mut count, mut processes) = (0, 0);
    super::each_container(spec, path, |container, at| {
        count += 1;
        let own = of(container);
        if let (Some(pod), Some(own)) = (pod, own)
            && pod != own
        {
            let (context, options);
            context = at.child("securityContext");
            options = context.child("windowsOptions");
            errors.invalid(
                &options.child("hostProcess"),
                own,
                format!("pod hostProcess value must be identical if both are specified, was {pod}"),
            );
        }
        if own.or(pod) == Some(true) {
            processes += 1;
        }
    });
    if processes == 0 {
        return;
    }
    if processes != count {
        errors.invalid(
            path,
            "",
            "If pod contains any hostProcess containers then all containers must be HostProcess containers",
        );
    }
    if !spec.flag("hostNetwork") {
        errors.invalid(
            &path.child("hostNetwork"),
            false,
            "hostNetwork must be true if pod contains any hostProcess containers",
        );
    }
}

/// The operating system, and what it leaves no room for.
pub(super) fn validate_os(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    if !spec.has("os") {
        return;
    }
    let at = path.child("os");
    match spec.at("os").text("name") {
        "" => errors.required(&at.child("name"), ""),
        "linux" => validate_linux(spec, path, errors),
        "windows" => validate_windows(spec, path, errors),
        other => errors.not_supported(&at, other, &["linux", "windows"]),
    }
}

fn validate_linux(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    const REFUSED: &str = "windows options cannot be set for a linux pod";
    let mut check = |object: &Value, path: &Path<'_>| {
        if object.at("securityContext").has("windowsOptions") {
            let at = path.child("securityContext");
            errors.forbidden(&at.child("windowsOptions"), REFUSED);
        }
    };
    check(spec, path);
    super::each_container(spec, path, check);
}

fn validate_windows(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    const REFUSED: &str = "cannot be set for a windows pod";
    let context = path.child("securityContext");
    let (own, inner) = (false, true);
    // In upstream's order, where some fields of the spec live in the security context.
    for (field, in_context) in [
        ("appArmorProfile", inner),
        ("seLinuxOptions", inner),
        ("hostUsers", own),
        ("hostPID", own),
        ("hostIPC", own),
        ("seccompProfile", inner),
        ("fsGroup", inner),
        ("fsGroupChangePolicy", inner),
        ("sysctls", inner),
        ("shareProcessNamespace", own),
        ("runAsUser", inner),
        ("runAsGroup", inner),
        ("supplementalGroups", inner),
        ("supplementalGroupsPolicy", inner),
        ("seLinuxChangePolicy", inner),
    ] {
        let (object, at) = match in_context {
            true => (spec.at("securityContext"), context.child(field)),
            false => (spec, path.child(field)),
        };
        let set = match field {
            "hostPID" | "hostIPC" => object.flag(field),
            "sysctls" => !object.list(field).is_empty(),
            _ => object.has(field),
        };
        if set {
            errors.forbidden(&at, REFUSED);
        }
    }
    super::each_container(spec, path, |container, at| {
        let at = at.child("securityContext");
        for field in [
            "appArmorProfile",
            "seLinuxOptions",
            "seccompProfile",
            "capabilities",
            "readOnlyRootFilesystem",
            "privileged",
            "allowPrivilegeEscalation",
            "procMount",
            "runAsUser",
            "runAsGroup",
        ] {
            if container.at("securityContext").has(field) {
                errors.forbidden(&at.child(field), REFUSED);
            }
        }
    });
}
