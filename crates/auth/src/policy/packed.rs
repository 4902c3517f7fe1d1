//! Texts in a row, in fewer bytes than their JSON: whoever stores large roles and bindings makes the
//! index of them grow by no more than he stored.

use crate::Rule;
use serde_json::Value;
use stowplan_apimachinery::View;

/// Appends a number: seven bits a byte, the lowest first.
fn put_number(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(0x80 | (number & 0x7f) as u8);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends bytes and, before them, how many.
pub(super) fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Takes what [`put`] appended from the beginning.
pub(super) fn take<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (mut length, mut shift) = (0_usize, 0_u32);
    loop {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        length |= usize::from(byte & 0x7f).checked_shl(shift)?;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    let (bytes, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(bytes)
}

/// A list of texts.
#[derive(Clone, Copy)]
pub(crate) struct Texts<'a>(&'a [u8]);

impl<'a> Texts<'a> {
    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn has(self, text: &str) -> bool {
        self.into_iter().any(|each| each == text)
    }

    fn to_vec(self) -> Vec<String> {
        self.into_iter().map(str::to_owned).collect()
    }
}

impl<'a> Iterator for Texts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        take(&mut self.0).map(|bytes| std::str::from_utf8(bytes).unwrap_or_default())
    }
}

/// What a rule consists of.
const LISTS: [&str; 5] = [
    "verbs",
    "apiGroups",
    "resources",
    "resourceNames",
    "nonResourceURLs",
];

/// The rules of a role.
#[derive(Debug)]
pub(crate) struct Rules(Box<[u8]>);

impl Rules {
    /// Of the `rules` of a Role or ClusterRole.
    pub(crate) fn pack(rules: &[Value]) -> Self {
        let (mut out, mut list) = (Vec::new(), Vec::new());
        for rule in rules {
            for name in LISTS {
                list.clear();
                for text in rule.list(name).iter().filter_map(Value::as_str) {
                    put(&mut list, text.as_bytes());
                }
                put(&mut out, &list);
            }
        }
        Self(out.into())
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = PackedRule<'_>> {
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            let mut lists = [Texts(&[]); LISTS.len()];
            for list in &mut lists {
                *list = Texts(take(&mut rest)?);
            }
            Some(PackedRule(lists))
        })
    }
}

/// One rule.
#[derive(Clone, Copy)]
pub(crate) struct PackedRule<'a>([Texts<'a>; LISTS.len()]);

impl<'a> PackedRule<'a> {
    pub(crate) fn verbs(self) -> Texts<'a> {
        self.0[0]
    }

    pub(crate) fn api_groups(self) -> Texts<'a> {
        self.0[1]
    }

    pub(crate) fn resources(self) -> Texts<'a> {
        self.0[2]
    }

    pub(crate) fn resource_names(self) -> Texts<'a> {
        self.0[3]
    }

    pub(crate) fn non_resource_urls(self) -> Texts<'a> {
        self.0[4]
    }

    /// Bytes that it takes up.
    pub(crate) fn bytes(self) -> usize {
        self.0.iter().map(|list| 1 + list.0.len()).sum()
    }

    pub(crate) fn unpack(self) -> Rule {
        Rule {
            api_groups: self.api_groups().to_vec(),
            resources: self.resources().to_vec(),
            resource_names: self.resource_names().to_vec(),
            non_resource_urls: self.non_resource_urls().to_vec(),
            verbs: self.verbs().to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rules_come_back_as_they_were() {
        let long = "x".repeat(70_000);
        let rules = json!([
            {"apiGroups": [""], "resources": ["pods", "ü"], "verbs": ["get", "*"]},
            {},
            {"nonResourceURLs": ["/a", "", long], "verbs": [""], "resourceNames": ["n"]},
        ]);
        let rules = rules.as_array().expect("a list");
        let packed = Rules::pack(rules);
        let read: Vec<Rule> = rules.iter().map(Rule::read).collect();
        let unpacked: Vec<Rule> = packed.iter().map(PackedRule::unpack).collect();
        assert_eq!(unpacked, read);
        let bytes: usize = packed.iter().map(PackedRule::bytes).sum();
        assert!(
            bytes <= packed.bytes()
                && packed.bytes() < Value::from(rules.clone()).to_string().len()
        );
    }
}
