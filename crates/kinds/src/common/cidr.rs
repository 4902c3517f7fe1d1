//! Ranges of IP addresses as fields hold them.
//!
//! Upstream: `k8s.io/apimachinery/pkg/util/validation/ip.go`, `k8s.io/utils/net`.

use super::ip;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::go;

/// A range, read sloppily.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cidr {
    /// The address before the slash; IPv4 in IPv6 clothes is IPv4.
    pub address: IpAddr,
    /// How many of its bits all addresses of the range share, counted in its own family.
    pub bits: u8,
}

impl Cidr {
    /// Reads `10.0.0.0/8`.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let written = ip::parse(address)?;
        let digits = !bits.is_empty() && bits.bytes().all(|b| b.is_ascii_digit());
        let bits = bits.parse::<u32>().ok().filter(|_| digits)?;
        // In IPv6 clothes an IPv4 range has 96 bits more.
        let extra = if address.contains(':') && written.is_ipv4() {
            96
        } else {
            0
        };
        let width = if written.is_ipv4() { 32 } else { 128 };
        let own = bits.saturating_sub(extra);
        (bits <= width + extra).then_some(Self {
            address: written,
            bits: u8::try_from(own).ok()?,
        })
    }

    /// The first address of the range.
    pub fn network(&self) -> IpAddr {
        masked(self.address, self.bits)
    }

    /// Whether an address is in the range.
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4() && masked(address, self.bits) == self.network()
    }

    /// The range as it should be written.
    pub fn canonical(&self) -> String {
        format!("{}/{}", self.network(), self.bits)
    }
}

fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX
                .checked_shl(32 - u32::from(bits.min(32)))
                .unwrap_or(0);
            IpAddr::V4((u32::from(v4) & mask).into())
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX
                .checked_shl(128 - u32::from(bits.min(128)))
                .unwrap_or(0);
            IpAddr::V6((u128::from(v6) & mask).into())
        }
    }
}

/// The strict reading: address and bits.
fn parse_strictly(text: &str) -> Option<(IpAddr, u32)> {
    let (address, bits) = text.rsplit_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let well_formed = bits == "0" || (!bits.starts_with('0') && !bits.starts_with('+'));
    let bits: u32 = bits.parse().ok().filter(|_| well_formed)?;
    let width = if address.is_ipv4() { 32 } else { 128 };
    (bits <= width).then_some((address, bits))
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some())
}

/// Faults of a range in a field that was there before the strict rules; a value that the stored
/// object has already is forgiven.
pub fn validate(path: &Path<'_>, value: &str, stored: &BTreeSet<&str>) -> ErrorList {
    match stored.contains(value) {
        true => ErrorList::new(),
        false => validate_new(path, value),
    }
}

/// Faults of a range that no stored object has.
pub fn validate_new(path: &Path<'_>, value: &str) -> ErrorList {
    let wrong = |fault: &str| vec![Error::invalid(path, value, fault)];
    if Cidr::parse(value).is_none() {
        return wrong("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    }
    match parse_strictly(value) {
        None => wrong("must not have leading 0s in IP or prefix length"),
        Some((address, _)) if is_mapped(address) => {
            wrong("must not have an IPv4-mapped IPv6 address")
        }
        Some((address, bits)) if masked(address, bits as u8) != address => {
            wrong("must not have bits set beyond the prefix length")
        }
        Some(_) => ErrorList::new(),
    }
}

/// What to tell of a range that was accepted though it should be written otherwise.
pub fn warnings(path: &Path<'_>, value: &str) -> Vec<String> {
    let Some(cidr) = Cidr::parse(value) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    let quoted = go::quote(value);
    if cidr.address != cidr.network() {
        let width = if cidr.address.is_ipv4() { 32 } else { 128 };
        out.push(format!(
            "{path}: CIDR value {quoted} is ambiguous in this context (should be {} or {}?)",
            go::quote(&cidr.canonical()),
            go::quote(&format!("{}/{width}", cidr.address)),
        ));
    }
    let strict = parse_strictly(value);
    if strict.is_none_or(|(address, _)| is_mapped(address)) {
        out.push(format!(
            "{path}: non-standard CIDR value {quoted} is invalid: use {}",
            go::quote(&cidr.canonical())
        ));
    }
    if let (true, Some((IpAddr::V6(v6), bits))) = (out.is_empty(), strict) {
        let canonical = format!("{}/{bits}", Ipv6Addr::from(u128::from(v6)));
        if canonical != value {
            out.push(format!(
                "{path}: IPv6 CIDR value {quoted} should be in RFC 5952 canonical format ({})",
                go::quote(&canonical)
            ));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_contain_addresses_of_their_family() {
        let range = Cidr::parse("10.1.2.3/8").unwrap();
        assert_eq!(range.canonical(), "10.0.0.0/8");
        assert!(range.contains("10.200.0.1".parse().unwrap()));
        assert!(!range.contains("11.0.0.1".parse().unwrap()));
        assert!(!range.contains("::1".parse().unwrap()));
        let everything = Cidr::parse("0.0.0.0/0").unwrap();
        assert!(everything.contains("1.2.3.4".parse().unwrap()));
        let clothed = Cidr::parse("::ffff:1.2.3.0/120").unwrap();
        assert_eq!(clothed.canonical(), "1.2.3.0/24");
        for bad in [
            "",
            "1.2.3.4",
            "1.2.3.4/33",
            "::/129",
            "1.2.3.4/x",
            "1.2.3.4/-1",
        ] {
            assert_eq!(Cidr::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn new_ranges_are_strict() {
        let fault = |value| {
            let faults = validate_new(&Path::new("c"), value);
            faults.iter().map(|e| e.detail.clone()).collect::<String>()
        };
        assert_eq!(fault("10.0.0.0/8"), "");
        assert!(fault("10.0.0.0").starts_with("must be a valid CIDR value"));
        assert!(fault("10.0.0.0/08").starts_with("must not have leading 0s"));
        assert!(fault("10.0.0.1/8").starts_with("must not have bits set"));
        assert!(fault("::ffff:1.2.3.0/120").contains("IPv4-mapped"));
        assert!(validate(&Path::new("c"), "x", &BTreeSet::from(["x"])).is_empty());
    }

    #[test]
    fn odd_forms_are_pointed_out() {
        let path = Path::new("c");
        assert!(warnings(&path, "10.0.0.0/8").is_empty());
        assert_eq!(
            warnings(&path, "10.0.0.1/8"),
            [
                r#"c: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)"#
            ]
        );
        assert_eq!(
            warnings(&path, "010.0.0.0/8"),
            [r#"c: non-standard CIDR value "010.0.0.0/8" is invalid: use "10.0.0.0/8""#]
        );
        assert_eq!(
            warnings(&path, "2001:DB8::/64"),
            [
                r#"c: IPv6 CIDR value "2001:DB8::/64" should be in RFC 5952 canonical format ("2001:db8::/64")"#
            ]
        );
    }
}
