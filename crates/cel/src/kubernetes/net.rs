//! IP addresses and networks. Upstream: `library/ip.go` and `library/cidr.go` over Go's `net/netip`.

use super::Opaque;
use crate::eval::{Outcome, overload};
use crate::value::Val;
use std::fmt;
use std::net::IpAddr;
use stowplan_apimachinery::go::quote;

/// A network: an address and how many bits of it count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cidr {
    address: IpAddr,
    pub(crate) bits: u8,
}

fn width(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

/// The first bits of an address, as a number.
fn first_bits(address: IpAddr, bits: u8) -> u128 {
    let number = match address {
        IpAddr::V4(v4) => u128::from(u32::from(v4)) << 96,
        IpAddr::V6(v6) => u128::from(v6),
    };
    match bits {
        0 => 0,
        bits => number & (u128::MAX << (128 - u32::from(bits.min(128)))),
    }
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some())
}

/// An address in its text, which has neither a zone nor the other family in it.
pub(crate) fn parse(text: &str) -> Result<IpAddr, String> {
    let shown = quote(text);
    let plain = match text.split_once('%') {
        Some((plain, zone)) if !zone.is_empty() && plain.contains(':') => plain,
        _ => text,
    };
    let Ok(address) = plain.parse::<IpAddr>() else {
        return Err(format!(
            "IP Address {shown} parse error during conversion from string: ParseAddr({shown}): unable to parse IP"
        ));
    };
    if plain.len() != text.len() {
        return Err(format!("IP address {shown} with zone value is not allowed"));
    }
    match is_mapped(address) {
        true => Err(format!("IPv4-mapped IPv6 address {shown} is not allowed")),
        false => Ok(address),
    }
}

/// Whether an address is written as it would be printed.
pub(crate) fn is_canonical(text: &str) -> Outcome {
    let address = parse(text)?;
    Ok(Val::Bool(address.to_string() == text))
}

/// A network, or what is said of a text that is none.
pub(crate) fn read_cidr(text: &str) -> Result<Cidr, String> {
    Cidr::parse(text)
        .map_err(|why| format!("network address parse error during conversion from string: {why}"))
}

impl Cidr {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let shown = quote(text);
        let wrong = |why: &str| {
            format!(
                "network address parse error during conversion from string: netip.ParsePrefix({shown}): {why}"
            )
        };
        let (address, bits) = text.rsplit_once('/').ok_or_else(|| wrong("no '/'"))?;
        let address: IpAddr = address.parse().map_err(|_| {
            wrong(&format!(
                "ParseAddr({}): unable to parse IP",
                quote(address)
            ))
        })?;
        let digits = !bits.is_empty() && bits.bytes().all(|b| b.is_ascii_digit());
        if !digits || (bits.len() > 1 && bits.starts_with('0')) {
            return Err(wrong(&format!("bad bits after slash: {}", quote(bits))));
        }
        let count = bits.parse().ok().filter(|n| *n <= width(address));
        let bits = count.ok_or_else(|| wrong("prefix length out of range"))?;
        match is_mapped(address) {
            true => Err(format!("IPv4-mapped IPv6 address {shown} is not allowed")),
            false => Ok(Self { address, bits }),
        }
    }

    fn contains(&self, address: IpAddr) -> bool {
        width(self.address) == width(address)
            && first_bits(self.address, self.bits) == first_bits(address, self.bits)
    }

    fn masked(&self) -> Self {
        let bits = first_bits(self.address, self.bits);
        Self {
            address: match self.address {
                IpAddr::V4(_) => {
                    let high = u32::try_from(bits >> 96).unwrap_or_default();
                    IpAddr::V4(high.into())
                }
                IpAddr::V6(_) => IpAddr::V6(bits.into()),
            },
            bits: self.bits,
        }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

/// Methods of an address.
pub(super) fn of_ip(own: IpAddr, name: &str, with: &[Val]) -> Outcome {
    if !with.is_empty() {
        return overload();
    }
    let link_local = match own {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    let link_local_multicast = match own {
        IpAddr::V4(v4) => matches!(v4.octets(), [224, 0, 0, _]),
        IpAddr::V6(v6) => v6.segments()[0] & 0xff0f == 0xff02,
    };
    let broadcast = matches!(own, IpAddr::V4(v4) if v4.is_broadcast());
    let other = own.is_unspecified() || own.is_loopback() || own.is_multicast() || link_local;
    Ok(match name {
        "family" if own.is_ipv4() => Val::Int(4),
        "family" => Val::Int(6),
        "isUnspecified" => Val::Bool(own.is_unspecified()),
        "isLoopback" => Val::Bool(own.is_loopback()),
        "isLinkLocalMulticast" => Val::Bool(link_local_multicast),
        "isLinkLocalUnicast" => Val::Bool(link_local),
        "isGlobalUnicast" => Val::Bool(!other && !broadcast),
        _ => return overload(),
    })
}

/// Methods of a network.
pub(super) fn of_cidr(own: &Cidr, name: &str, with: &[Val]) -> Outcome {
    let contains = |other: &Cidr| own.bits <= other.bits && own.contains(other.address);
    Ok(match (name, with) {
        ("ip", []) => Opaque::Ip(own.address).into(),
        ("prefixLength", []) => Val::Int(own.bits.into()),
        ("masked", []) => Opaque::Cidr(own.masked()).into(),
        ("containsIP", [Val::Text(text)]) => match parse(text) {
            Ok(ip) => Val::Bool(own.contains(ip)),
            // Upstream looks at the network again, not at what went wrong.
            Err(_) => return overload(),
        },
        ("containsCIDR", [Val::Text(text)]) => Val::Bool(contains(&read_cidr(text)?)),
        ("containsIP" | "containsCIDR", [Val::Opaque(other)]) => match (name, &**other) {
            ("containsIP", Opaque::Ip(other)) => Val::Bool(own.contains(*other)),
            ("containsCIDR", Opaque::Cidr(other)) => Val::Bool(contains(other)),
            _ => return overload(),
        },
        _ => return overload(),
    })
}
