//! IP addresses and CIDRs as fields hold them.
//!
//! Two readings exist side by side: a sloppy one from the days of Go 1.16 (leading zeros, IPv4 in
//! IPv6 clothes), which says what an address means, and a strict one, which new values have to
//! pass. Upstream: `k8s.io/apimachinery/pkg/util/validation/ip.go`, `k8s.io/utils/net`.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::go;

/// The address that a text means, read sloppily. An IPv4 address in an IPv6 one is IPv4.
pub fn parse(text: &str) -> Option<IpAddr> {
    Some(parse_as_written(text)?.to_canonical())
}

fn parse_as_written(text: &str) -> Option<IpAddr> {
    match text.find(['.', ':']).map(|at| text.as_bytes()[at]) {
        Some(b'.') => parse_v4(text).map(IpAddr::V4),
        Some(b':') => parse_v6(text).map(IpAddr::V6),
        _ => None,
    }
}

fn parse_v4(text: &str) -> Option<Ipv4Addr> {
    let octets: Vec<u8> = text.split('.').map(octet).collect::<Option<_>>()?;
    Some(Ipv4Addr::from(<[u8; 4]>::try_from(octets).ok()?))
}

fn octet(text: &str) -> Option<u8> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| without_zeros(text).parse().ok()).flatten()
}

/// The number without the zeros in front of it; zero itself stays.
fn without_zeros(text: &str) -> &str {
    let rest = text.trim_start_matches('0');
    match rest.is_empty() {
        true => &text[text.len().saturating_sub(1)..],
        false => rest,
    }
}

fn parse_v6(text: &str) -> Option<Ipv6Addr> {
    let group = |group: &str| match group.contains('.') {
        true => parse_v4(group).map(|v4| v4.to_string()),
        false => Some(without_zeros(group).to_owned()),
    };
    let groups: Vec<String> = text.split(':').map(group).collect::<Option<_>>()?;
    groups.join(":").parse().ok()
}

/// Whether a text is an IPv6 address.
pub fn is_v6(text: &str) -> bool {
    parse(text).is_some_and(|ip| ip.is_ipv6())
}

/// Whether a text is an IPv4 address.
pub fn is_v4(text: &str) -> bool {
    parse(text).is_some_and(|ip| ip.is_ipv4())
}

/// Whether there is one of each family.
pub fn is_dual_stack(addresses: &[IpAddr]) -> bool {
    addresses.iter().any(IpAddr::is_ipv4) && addresses.iter().any(IpAddr::is_ipv6)
}

/// Faults of an address in a field that was there before the strict rules; a value that the stored
/// object has already is forgiven.
pub fn validate(path: &Path<'_>, value: &str, stored: &BTreeSet<&str>) -> ErrorList {
    match stored.contains(value) {
        true => ErrorList::new(),
        false => validate_new(path, value),
    }
}

/// Faults of an address that no stored object has.
pub fn validate_new(path: &Path<'_>, value: &str) -> ErrorList {
    let Some(_) = parse(value) else {
        let fault = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        return vec![Error::invalid(path, value, fault)];
    };
    match value.parse::<IpAddr>() {
        Err(_) => vec![Error::invalid(path, value, "must not have leading 0s")],
        Ok(IpAddr::V6(ip)) if ip.to_ipv4_mapped().is_some() => {
            let fault = "must not be an IPv4-mapped IPv6 address";
            vec![Error::invalid(path, value, fault)]
        }
        Ok(_) => ErrorList::new(),
    }
}

/// Faults of an address in a field that has always been strict.
pub fn validate_canonical(path: &Path<'_>, value: &str) -> ErrorList {
    let mut errors = validate_new(path, value);
    if let (true, Some(ip)) = (errors.is_empty(), parse(value)) {
        let canonical = ip.to_string();
        if value != canonical {
            let fault = format!("must be in canonical form ({})", go::quote(&canonical));
            errors.push(Error::invalid(path, value, fault));
        }
    }
    errors
}

/// Faults of an address as the destination of traffic (`ValidateEndpointIP`).
pub fn validate_endpoint(value: &str, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let Some(ip) = parse(value) else {
        return vec![Error::invalid(path, value, "must be a valid IP address")];
    };
    let (local, local_multicast) = match ip {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(v6) => {
            let first = v6.segments()[0];
            (first & 0xffc0 == 0xfe80, first & 0xff0f == 0xff02)
        }
    };
    let mut broken = |rule: bool, fault: String| {
        if rule {
            errors.push(Error::invalid(path, value, fault));
        }
    };
    broken(
        ip.is_unspecified(),
        format!("may not be unspecified ({value})"),
    );
    broken(
        ip.is_loopback(),
        "may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned(),
    );
    broken(
        local,
        "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned(),
    );
    broken(
        local_multicast,
        "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned(),
    );
    errors
}

/// What to tell of an address that was accepted though it should be written otherwise.
pub fn warnings(path: &Path<'_>, value: &str) -> Vec<String> {
    let Some(ip) = parse(value) else {
        return Vec::new();
    };
    let quoted = go::quote(value);
    match value.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => Vec::new(),
        Ok(IpAddr::V6(v6)) if v6.to_ipv4_mapped().is_none() => {
            let canonical = v6.to_string();
            if canonical == value {
                return Vec::new();
            }
            vec![format!(
                "{path}: IPv6 address {quoted} should be in RFC 5952 canonical format ({})",
                go::quote(&canonical)
            )]
        }
        _ => vec![format!(
            "{path}: non-standard IP address {quoted} is invalid: use {}",
            go::quote(&ip.to_string())
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sloppy_addresses_are_understood() {
        let means = |text| parse(text).map(|ip| ip.to_string()).unwrap_or_default();
        assert_eq!(means("010.000.0.1"), "10.0.0.1");
        assert_eq!(means("::ffff:1.2.3.4"), "1.2.3.4");
        assert_eq!(means("2001:00db8::00001"), "2001:db8::1");
        for bad in [
            "",
            "1.2.3",
            "1.2.3.256",
            "a",
            "1.2.3.4.5",
            ":",
            "1..2.3",
            "fe80::1%a",
        ] {
            assert_eq!(means(bad), "", "{bad}");
        }
    }

    #[test]
    fn new_addresses_are_strict() {
        let check = |value, stored: &[&str]| {
            let stored = stored.iter().copied().collect();
            let faults = validate(&Path::new("ip"), value, &stored);
            faults.iter().map(|e| e.detail.clone()).collect::<String>()
        };
        assert_eq!(check("1.2.3.4", &[]), "");
        assert_eq!(check("1.2.3.04", &[]), "must not have leading 0s");
        assert_eq!(check("1.2.3.04", &["1.2.3.04"]), "");
        assert_eq!(
            check("::ffff:1.2.3.4", &[]),
            "must not be an IPv4-mapped IPv6 address"
        );
        assert!(check("x", &[]).starts_with("must be a valid IP address, (e.g."));
        let faults = validate_canonical(&Path::new("ip"), "2001:DB8::1");
        assert_eq!(
            faults[0].detail,
            "must be in canonical form (\"2001:db8::1\")"
        );
    }

    #[test]
    fn traffic_goes_to_real_hosts() {
        let fault = |value| {
            let faults = validate_endpoint(value, &Path::new("ip"));
            faults.iter().map(|e| e.detail.clone()).collect::<String>()
        };
        assert_eq!(fault("10.1.2.3"), "");
        assert!(fault("0.0.0.0").starts_with("may not be unspecified (0.0.0.0)"));
        assert!(fault("::1").contains("loopback"));
        assert!(fault("169.254.1.1").contains("link-local range"));
        assert!(fault("224.0.0.9").contains("multicast"));
        assert!(fault("ff12::1").contains("multicast") && fault("ff05::1").is_empty());
    }

    #[test]
    fn odd_forms_are_pointed_out() {
        let path = Path::new("ip");
        assert!(warnings(&path, "1.2.3.4").is_empty());
        assert_eq!(
            warnings(&path, "01.2.3.4"),
            [r#"ip: non-standard IP address "01.2.3.4" is invalid: use "1.2.3.4""#]
        );
        assert_eq!(
            warnings(&path, "::0:1"),
            [r#"ip: IPv6 address "::0:1" should be in RFC 5952 canonical format ("::1")"#]
        );
    }
}
