//! LargestFirst. An extension: kube-scheduler has no such plugin.

use crate::framework::args::{ArgNames, ArgValue, Args, FieldError, FieldPath, Fields, FromArg};
use crate::framework::{AnyPlugin, Cx, PluginBuilder, QueueSort};
use crate::model::{Pod, ResourceId, ResourceList};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use stowplan_base::resource_names::can_be_requested;
use stowplan_base::{Quantity, Time};

/// `LargestFirstArgs`.
#[derive(Clone, Debug)]
pub struct LargestFirstArgs {
    /// `reference`: what pods are measured by. Amounts are greater than 0; resources that are not
    /// named do not count.
    pub reference: Vec<(ResourceId, i64)>,
}

impl Default for LargestFirstArgs {
    fn default() -> Self {
        Self {
            reference: vec![(ResourceId::CPU, 1000), (ResourceId::MEMORY, 4 << 30)],
        }
    }
}

impl Args for LargestFirstArgs {
    fn decode(fields: &mut Fields<'_>) -> Result<Self, FieldError> {
        let given: Option<BTreeMap<String, Amount>> = fields.optional("reference")?;
        let Some(given) = given else {
            fields.set(
                "reference",
                ArgValue::map([("cpu", "1"), ("memory", "4Gi")]),
            );
            return Ok(Self::default());
        };
        let texts = given.iter().map(|(name, amount)| (name, &amount.0));
        fields.set("reference", ArgValue::map(texts));
        let path = fields.path("reference");
        if given.is_empty() {
            fields.reject(path.required("at least one resource must be specified"));
        }
        let mut amounts = Vec::new();
        for (name, Amount(text)) in &given {
            let path = path.key(name);
            if !can_be_requested(name) {
                fields.reject(path.invalid(name, "pods cannot ask for such a resource"));
            }
            match text.parse::<Quantity>() {
                Ok(amount) if amount > Quantity::ZERO => amounts.push((fields.sym(name), amount)),
                Ok(_) => fields.reject(path.invalid(text, "must be greater than zero")),
                Err(error) => fields.reject(path.invalid(text, error)),
            }
        }
        let list = ResourceList::new(amounts);
        let ArgNames { names, resources } = fields.names();
        let columns = resources.resources(&list, names);
        Ok(Self {
            reference: columns.iter().collect(),
        })
    }
}

/// A quantity, written as text or as a number.
struct Amount(String);

impl FromArg for Amount {
    fn from_arg(value: ArgValue, path: &FieldPath) -> Result<Self, FieldError> {
        match value {
            ArgValue::Int(_) | ArgValue::Float(_) => Ok(Self(value.to_string())),
            other => String::from_arg(other, path).map(Self),
        }
    }
}

/// The plugin: higher priority first, then the larger pod, then the one that has waited longer.
#[derive(Clone, Debug, Default)]
pub struct LargestFirst {
    args: LargestFirstArgs,
}

impl LargestFirst {
    /// The plugin with its arguments.
    pub fn new(args: LargestFirstArgs) -> Self {
        Self { args }
    }

    /// The pod's largest request as a share of the reference, in millionths.
    fn size(&self, pod: &Pod) -> i128 {
        let requests = &pod.requests.total_columns;
        let share = |(id, unit): &(ResourceId, i64)| {
            i128::from(requests.get(*id)) * 1_000_000 / i128::from((*unit).max(1))
        };
        self.args.reference.iter().map(share).max().unwrap_or(0)
    }
}

impl LargestFirst {
    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self).queue_sort().build()
    }
}

impl QueueSort for LargestFirst {
    fn order(&self, _cx: Cx<'_>, a: (&Pod, Time), b: (&Pod, Time)) -> Ordering {
        let by_priority = b.0.priority.cmp(&a.0.priority);
        let by_size = || self.size(b.0).cmp(&self.size(a.0));
        by_priority.then_with(by_size).then(a.1.cmp(&b.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;

    #[test]
    fn priority_then_size_then_arrival() {
        let mut world = World::default();
        let mut pod = |name: &str, requests: &[(&str, &str)]| {
            let mut pod = world.pod(&format!("ns/{name}"), &[]);
            world.set_requests(&mut pod, requests);
            pod
        };
        let mut urgent = pod("urgent", &[]);
        urgent.priority = 1;
        let in_order = [
            urgent,
            pod("memory", &[("cpu", "1"), ("memory", "16Gi")]),
            pod("cpu", &[("cpu", "3"), ("memory", "1Gi")]),
            pod("small", &[("cpu", "100m"), ("x.com/gpu", "8")]),
            pod("nothing", &[]),
        ];
        let sort = LargestFirst::default();
        let [early, late] = [1, 2].map(Time::from_secs);
        for (i, first) in in_order.iter().enumerate() {
            for second in &in_order[i + 1..] {
                let order = sort.order(world.cx(), (first, late), (second, early));
                assert_eq!(order, Ordering::Less, "{} {}", first.key, second.key);
            }
            let same = |a, b| sort.order(world.cx(), (first, a), (first, b));
            assert_eq!(same(early, late), Ordering::Less);
            assert_eq!(same(late, late), Ordering::Equal);
        }
    }
}
