//! NetworkPolicy.

use crate::common::cidr::{self, Cidr};
use crate::common::faults::Faults;
use crate::common::labels::{self, SelectorOptions};
use crate::common::{generation, kube_metadata, name_rules};
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View, names};

pub(crate) struct NetworkPolicy;

static SPEC: Path<'static> = Path::new("spec");
const DIRECTIONS: [(&str, &str); 2] = [("ingress", "from"), ("egress", "to")];

/// What a stored policy is forgiven.
#[derive(Default)]
struct Forgiven<'a> {
    selectors: SelectorOptions,
    ranges: BTreeSet<&'a str>,
}

impl CreateStrategy for NetworkPolicy {
    fn prepare_for_create(&self, object: &mut Value, _: &Context<'_>) {
        generation::start(object);
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate(object, true, &name_rules::dns_subdomain);
        errors.extend(validate_spec(object.at("spec"), &Forgiven::default()));
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

impl UpdateStrategy for NetworkPolicy {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        let changed = new.at("spec") != old.at("spec");
        generation::raise_if(new, old, changed);
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let selector = old.at("spec").at("podSelector");
        let faults = labels::validate_selector(selector, SelectorOptions::default(), &SPEC);
        let forgiven = Forgiven {
            selectors: SelectorOptions {
                allow_invalid_values: !faults.is_empty(),
            },
            ranges: blocks(old)
                .into_iter()
                .flat_map(|(_, block)| ranges(block))
                .collect(),
        };
        let mut errors = kube_metadata::validate_update(new, old);
        errors.extend(validate_spec(new.at("spec"), &forgiven));
        errors
    }
}

impl Strategy for NetworkPolicy {
    fn set_defaults(&self, object: &mut Value) {
        let spec = object.at_mut("spec");
        if spec.list("policyTypes").is_empty() {
            let types = match spec.list("egress").is_empty() {
                true => json!(["Ingress"]),
                false => json!(["Ingress", "Egress"]),
            };
            spec.set("policyTypes", types);
        }
        for (direction, _) in DIRECTIONS {
            for rule in spec.each_mut(direction) {
                for port in rule.each_mut("ports") {
                    port.default_to("protocol", "TCP");
                }
            }
        }
    }

    fn warnings(&self, new: &Value, _: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        for ((direction, i, peers, j), block) in blocks(new) {
            let path = SPEC.child(direction);
            let path = path.index(i);
            let path = path.child(peers);
            let path = path.index(j);
            let path = path.child("ipBlock");
            warnings.extend(cidr::warnings(&path.child("cidr"), block.text("cidr")));
            let path = path.child("except");
            for (k, range) in block.list("except").iter().enumerate() {
                let range = range.as_str().unwrap_or_default();
                warnings.extend(cidr::warnings(&path.index(k), range));
            }
        }
        warnings
    }
}

/// Where a block of addresses stands: direction, rule, word for peers, peer.
type Place = (&'static str, usize, &'static str, usize);

fn blocks(policy: &Value) -> Vec<(Place, &Value)> {
    let mut all = Vec::new();
    for (direction, peers) in DIRECTIONS {
        for (i, rule) in policy.at("spec").list(direction).iter().enumerate() {
            for (j, peer) in rule.list(peers).iter().enumerate() {
                if peer.has("ipBlock") {
                    all.push(((direction, i, peers, j), peer.at("ipBlock")));
                }
            }
        }
    }
    all
}

fn ranges(block: &Value) -> Vec<&str> {
    let except = block.list("except").iter().filter_map(Value::as_str);
    std::iter::once(block.text("cidr")).chain(except).collect()
}

fn validate_spec(spec: &Value, forgiven: &Forgiven<'_>) -> ErrorList {
    let selector = spec.at("podSelector");
    let path = SPEC.child("podSelector");
    let mut errors = labels::validate_selector(selector, forgiven.selectors, &path);
    for (direction, peers) in DIRECTIONS {
        let path = SPEC.child(direction);
        for (i, rule) in spec.list(direction).iter().enumerate() {
            let path = path.index(i);
            let at = path.child("ports");
            for (j, port) in rule.list("ports").iter().enumerate() {
                validate_port(port, &at.index(j), &mut errors);
            }
            let at = path.child(peers);
            for (j, peer) in rule.list(peers).iter().enumerate() {
                validate_peer(peer, forgiven, &at.index(j), &mut errors);
            }
        }
    }
    let path = SPEC.child("policyTypes");
    let types = spec.list("policyTypes");
    if types.len() > 2 {
        let fault = "may not specify more than two policyTypes";
        errors.invalid(&path, spec.at("policyTypes"), fault);
        return errors;
    }
    for (i, kind) in types.iter().enumerate() {
        let kind = kind.as_str().unwrap_or_default();
        if !matches!(kind, "Ingress" | "Egress") {
            errors.not_supported(&path.index(i), kind, &["Ingress", "Egress"]);
        }
    }
    errors
}

fn validate_port(port: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    if let Some(protocol) = port.at("protocol").as_str()
        && !matches!(protocol, "TCP" | "UDP" | "SCTP")
    {
        errors.not_supported(&path.child("protocol"), protocol, &["TCP", "UDP", "SCTP"]);
    }
    let end = port.int("endPort");
    let (at, end_at) = (path.child("port"), path.child("endPort"));
    match (port.at("port"), end) {
        (Value::Null, Some(end)) => {
            let fault = "may not be specified when `port` is not specified";
            errors.invalid(&end_at, end, fault);
        }
        (Value::Null, None) => {}
        (Value::String(name), end) => {
            if let Some(end) = end {
                let fault = "may not be specified when `port` is non-numeric";
                errors.invalid(&end_at, end, fault);
            }
            errors.invalid_each(&at, name, names::port_name(name));
        }
        (number, end) => {
            let number = number.as_i64().unwrap_or_default();
            errors.invalid_each(&at, number, names::port_number(number));
            let Some(end) = end else {
                return;
            };
            if end < number {
                let fault = "must be greater than or equal to `port`";
                errors.invalid(&end_at, number, fault);
            }
            errors.invalid_each(&end_at, end, names::port_number(end));
        }
    }
}

fn validate_peer(peer: &Value, forgiven: &Forgiven<'_>, path: &Path<'_>, errors: &mut ErrorList) {
    let mut kinds = 0;
    for field in ["podSelector", "namespaceSelector"] {
        if peer.has(field) {
            kinds += 1;
            let path = path.child(field);
            let selector = peer.at(field);
            errors.extend(labels::validate_selector(
                selector,
                forgiven.selectors,
                &path,
            ));
        }
    }
    if peer.has("ipBlock") {
        kinds += 1;
        validate_block(peer.at("ipBlock"), forgiven, &path.child("ipBlock"), errors);
    }
    if kinds == 0 {
        errors.required(path, "must specify a peer");
    } else if kinds > 1 && peer.has("ipBlock") {
        errors.forbidden(path, "may not specify both ipBlock and another peer");
    }
}

fn validate_block(block: &Value, forgiven: &Forgiven<'_>, path: &Path<'_>, errors: &mut ErrorList) {
    let whole = block.text("cidr");
    let at = path.child("cidr");
    if whole.is_empty() {
        return errors.required(&at, "");
    }
    errors.extend(cidr::validate(&at, whole, &forgiven.ranges));
    let Some(whole) = Cidr::parse(whole) else {
        return;
    };
    let path = path.child("except");
    for (i, text) in block.list("except").iter().enumerate() {
        let text = text.as_str().unwrap_or_default();
        let path = path.index(i);
        errors.extend(cidr::validate(&path, text, &forgiven.ranges));
        let Some(part) = Cidr::parse(text) else {
            continue;
        };
        if !whole.contains(part.network()) || whole.bits >= part.bits {
            errors.invalid(&path, text, "must be a strict subset of `cidr`");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::faults;

    fn policy(spec: Value) -> Value {
        let mut object = json!({"metadata": {"name": "a", "namespace": "n"}, "spec": spec});
        NetworkPolicy.set_defaults(&mut object);
        object
    }

    #[test]
    fn types_follow_from_rules() {
        let types = |spec: Value| policy(spec)["spec"]["policyTypes"].clone();
        assert_eq!(types(json!({})), json!(["Ingress"]));
        assert_eq!(types(json!({"egress": [{}]})), json!(["Ingress", "Egress"]));
        let ports = policy(json!({"egress": [{"ports": [{"port": 1}]}]}));
        assert_eq!(ports["spec"]["egress"][0]["ports"][0]["protocol"], "TCP");
    }

    #[test]
    fn peers_and_ports_are_checked() {
        let block = json!({"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16", "11.0.0.0/16", "x"]});
        let object = policy(json!({"ingress": [{
            "from": [{}, {"ipBlock": block, "podSelector": {}}],
            "ports": [{"endPort": 1}, {"port": "a", "endPort": 1}, {"port": 5, "endPort": 4}],
        }]}));
        let found = faults(&NetworkPolicy, &object);
        let fields: Vec<&str> = found.iter().filter_map(|f| f.split(": ").next()).collect();
        assert_eq!(
            fields,
            [
                "spec.ingress[0].ports[0].endPort",
                "spec.ingress[0].ports[1].endPort",
                "spec.ingress[0].ports[2].endPort",
                "spec.ingress[0].from[0]",
                "spec.ingress[0].from[1].ipBlock.except[1]",
                "spec.ingress[0].from[1].ipBlock.except[2]",
                "spec.ingress[0].from[1]",
            ]
        );
    }
}
