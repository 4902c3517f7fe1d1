//! The libraries that Kubernetes adds to the language. Upstream: `apiserver/pkg/cel/library`.

mod formats;
mod net;
mod semver;
mod url;

use crate::eval::{Outcome, overload};
use crate::value::Val;
use formats::Format;
use net::Cidr;
use semver::Version;
use std::cmp::Ordering;
use std::fmt;
use std::net::IpAddr;
use stowplan_apimachinery::quantity::Quantity;
use url::Url;

pub(crate) use formats::named as named_format;
pub(crate) use net::is_canonical;

/// A value that only its own methods look into.
#[derive(Debug)]
pub enum Opaque {
    Quantity(Quantity),
    Ip(IpAddr),
    Cidr(Cidr),
    Url(Url),
    Version(Version),
    Format(&'static Format),
}

impl Opaque {
    /// The name of the type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Url(_) => "kubernetes.URL",
            Self::Version(_) => "kubernetes.Semver",
            Self::Format(_) => "kubernetes.NamedFormat",
        }
    }

    /// Whether `string()` takes it.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Self::Ip(_) | Self::Cidr(_))
    }

    /// What costs go by.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Ip(IpAddr::V4(_)) => 4,
            Self::Ip(IpAddr::V6(_)) => 16,
            Self::Cidr(cidr) => usize::from(cidr.bits.div_ceil(8)),
            _ => 1,
        }
    }

    /// The length of the expression that a format would be.
    pub(crate) fn pattern_size(&self) -> u64 {
        match self {
            Self::Format(format) => format.pattern_size,
            _ => 1,
        }
    }
}

impl fmt::Display for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quantity(quantity) => quantity.fmt(f),
            Self::Ip(ip) => ip.fmt(f),
            Self::Cidr(cidr) => cidr.fmt(f),
            Self::Url(url) => f.write_str(&url.text),
            Self::Version(version) => f.write_str(&version.text),
            Self::Format(format) => f.write_str(format.name),
        }
    }
}

impl PartialEq for Opaque {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Quantity(a), Self::Quantity(b)) => a == b,
            (Self::Ip(a), Self::Ip(b)) => a == b,
            (Self::Cidr(a), Self::Cidr(b)) => a == b,
            (Self::Url(a), Self::Url(b)) => a.text == b.text,
            (Self::Version(a), Self::Version(b)) => a.order(b).is_eq(),
            (Self::Format(a), Self::Format(b)) => a.name == b.name,
            _ => false,
        }
    }
}

/// Functions without an object; `None` if it is none of these.
pub(crate) fn plain(name: &str, with: &[Val]) -> Option<Outcome> {
    let (text, normalize) = match with {
        [Val::Text(text)] => (text, false),
        [Val::Text(text), Val::Bool(normalize)] if name.ends_with("emver") => (text, *normalize),
        [Val::Opaque(_)] => return of_opaque(name, with),
        _ => return None,
    };
    let version = || match normalize {
        true => Version::normalized(text),
        false => Version::parse(text),
    };
    let holds = |known: bool| Ok(Val::Bool(known));
    Some(match name {
        "quantity" => match Quantity::parse(text) {
            Ok(quantity) => Ok(quantity.into()),
            Err(why) => Err(why.to_string()),
        },
        "isQuantity" => holds(Quantity::parse(text).is_ok()),
        "ip" => net::parse(text).map(|ip| Opaque::Ip(ip).into()),
        "isIP" => holds(net::parse(text).is_ok()),
        "cidr" => net::read_cidr(text).map(|cidr| Opaque::Cidr(cidr).into()),
        "isCIDR" => holds(Cidr::parse(text).is_ok()),
        "url" => Url::parse(text).map(|url| Opaque::Url(url).into()),
        "isURL" => holds(Url::parse(text).is_ok()),
        "semver" => version().map(|version| Opaque::Version(version).into()),
        "isSemver" => holds(version().is_ok()),
        _ => return None,
    })
}

fn of_opaque(name: &str, with: &[Val]) -> Option<Outcome> {
    match (name, with) {
        ("sign", [Val::Opaque(value)]) => Some(match &**value {
            Opaque::Quantity(quantity) => Ok(Val::Int(sign(quantity))),
            _ => overload(),
        }),
        _ => None,
    }
}

fn sign(quantity: &Quantity) -> i64 {
    match (quantity.is_zero(), quantity.is_negative()) {
        (true, _) => 0,
        (false, true) => -1,
        (false, false) => 1,
    }
}

/// Methods of a value.
pub(crate) fn method(own: &Opaque, name: &str, with: &[Val]) -> Outcome {
    let opaque = |value: &Val| match value {
        Val::Opaque(value) => Some(value.clone()),
        _ => None,
    };
    let other = with.first().and_then(opaque);
    match (own, other.as_deref()) {
        (Opaque::Quantity(a), Some(Opaque::Quantity(b))) if with.len() == 1 => match name {
            "add" | "sub" => Ok(changed(a, b, name)),
            _ => compared(name, a.cmp(b)),
        },
        (Opaque::Quantity(own), _) => of_quantity(own, name, with),
        (Opaque::Version(a), Some(Opaque::Version(b))) if with.len() == 1 => {
            compared(name, a.order(b))
        }
        (Opaque::Version(own), _) => own.part(name, with),
        (Opaque::Ip(own), _) => net::of_ip(*own, name, with),
        (Opaque::Cidr(own), _) => net::of_cidr(own, name, with),
        (Opaque::Url(own), _) => own.part(name, with),
        (Opaque::Format(own), _) => match (name, with) {
            ("validate", [Val::Text(text)]) => Ok(own.validate(text)),
            _ => overload(),
        },
    }
}

fn compared(name: &str, order: Ordering) -> Outcome {
    match name {
        "isGreaterThan" => Ok(Val::Bool(order.is_gt())),
        "isLessThan" => Ok(Val::Bool(order.is_lt())),
        "compareTo" => Ok(Val::Int(order as i64)),
        _ => overload(),
    }
}

fn changed(a: &Quantity, b: &Quantity, name: &str) -> Val {
    let mut made = a.clone();
    match name {
        "add" => made.add(b),
        _ => made.sub(b),
    }
    made.into()
}

fn of_quantity(own: &Quantity, name: &str, with: &[Val]) -> Outcome {
    match (name, with) {
        ("isInteger", []) => Ok(Val::Bool(own.as_integer().is_some())),
        ("asInteger", []) => match own.as_integer() {
            Some(n) => Ok(Val::Int(n)),
            None => Err("cannot convert value to integer".to_owned()),
        },
        ("asApproximateFloat", []) => Ok(Val::Double(own.as_f64())),
        ("sign", []) => Ok(Val::Int(sign(own))),
        ("add" | "sub", [Val::Int(n)]) => Ok(changed(own, &Quantity::units(*n), name)),
        _ => overload(),
    }
}
