//! Amounts of resources.

use stowplan_base::resource_names::{is_extended, is_huge_page};
use stowplan_base::{Lookup, Names, Quantity, Sym, sym};

/// Exact amounts by resource name, sorted by symbol: what the API object says.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ResourceList(Box<[(Sym, Quantity)]>);

impl ResourceList {
    /// A list from pairs in any order; names must not repeat.
    pub fn new(pairs: impl IntoIterator<Item = (Sym, Quantity)>) -> Self {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_by_key(|(name, _)| *name);
        Self(pairs.into())
    }

    /// The amount of `name`, if it is mentioned.
    pub fn get(&self, name: Sym) -> Option<Quantity> {
        self.0
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, amount)| *amount)
    }

    /// The pairs, by symbol.
    pub fn iter(&self) -> impl Iterator<Item = (Sym, Quantity)> + '_ {
        self.0.iter().copied()
    }
}

/// A resource as a dense column number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ResourceId(u16);

impl ResourceId {
    /// `cpu`, counted in thousandths.
    pub const CPU: Self = Self(0);
    /// `memory`, in bytes.
    pub const MEMORY: Self = Self(1);
    /// `ephemeral-storage`, in bytes.
    pub const EPHEMERAL_STORAGE: Self = Self(2);
    /// `pods`; only nodes have it.
    pub const PODS: Self = Self(3);

    /// The column.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Extended resources, huge pages and attachable volumes: upstream's scalar resources.
    pub fn is_scalar(self) -> bool {
        self > Self::PODS
    }
}

/// Which resource has which column.
#[derive(Clone, Debug)]
pub struct ResourceNames {
    ids: Lookup<Sym, ResourceId>,
    names: Vec<Sym>,
}

impl Default for ResourceNames {
    fn default() -> Self {
        let mut table = Self {
            ids: Lookup::new(),
            names: Vec::new(),
        };
        for name in [sym::CPU, sym::MEMORY, sym::EPHEMERAL_STORAGE, sym::PODS] {
            table.id(name);
        }
        table
    }
}

impl ResourceNames {
    /// The column of `name`, new if need be.
    pub fn id(&mut self, name: Sym) -> ResourceId {
        let next = ResourceId(u16::try_from(self.names.len()).expect("fewer than 65536 resources"));
        let names = &mut self.names;
        *self.ids.or_insert_with(name, || {
            names.push(name);
            next
        })
    }

    /// The column of `name`, if any object mentioned it.
    pub fn get(&self, name: Sym) -> Option<ResourceId> {
        self.ids.get(&name).copied()
    }

    /// The names of all columns.
    pub fn names(&self) -> &[Sym] {
        &self.names
    }

    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name of a column.
    pub fn name(&self, id: ResourceId) -> Sym {
        self.names[id.index()]
    }

    /// Upstream's `Resource.Add`: whole amounts, thousandths for cpu. Names that are neither
    /// native nor scalar are dropped.
    pub fn resources(&mut self, list: &ResourceList, names: &Names) -> Resources {
        let mut out = Resources::default();
        for (name, amount) in list.iter() {
            let native = [sym::CPU, sym::MEMORY, sym::EPHEMERAL_STORAGE, sym::PODS].contains(&name);
            if !native && !is_scalar_name(names.text(name)) {
                continue;
            }
            let value = if name == sym::CPU {
                amount.milli_value()
            } else {
                amount.value()
            };
            out.set(self.id(name), value);
        }
        out
    }
}

/// Upstream's `IsScalarResourceName` (`pkg/scheduler/util/pod_resources.go` and the v1 helpers it calls).
pub(crate) fn is_scalar_name(name: &str) -> bool {
    is_huge_page(name)
        || name.starts_with("attachable-volumes-")
        || name.contains("kubernetes.io/")
        || is_extended(name)
}

/// Whole amounts by column; a column beyond the end is 0.
///
/// Scalars that are 0 but mentioned are indistinguishable from absent ones: no rule tells them
/// apart.
#[derive(Debug, Default)]
pub struct Resources {
    /// Cpu, memory, ephemeral storage and pods lie where the object lies: every decision reads them.
    native: [i64; NATIVE],
    scalars: Vec<i64>,
}

/// How many columns are not scalars.
const NATIVE: usize = 4;

impl Clone for Resources {
    fn clone(&self) -> Self {
        Self {
            native: self.native,
            scalars: self.scalars.clone(),
        }
    }

    fn clone_from(&mut self, other: &Self) {
        self.native = other.native;
        self.scalars.clone_from(&other.scalars);
    }
}

impl PartialEq for Resources {
    fn eq(&self, other: &Self) -> bool {
        self.native == other.native
            && (self.scalars.is_empty() && other.scalars.is_empty()
                || same_scalars(&self.scalars, &other.scalars))
    }
}

/// Whether two columns of scalars are the same; what is beyond the end of one is 0.
fn same_scalars(mine: &[i64], theirs: &[i64]) -> bool {
    let shared = mine.len().min(theirs.len());
    let (mine, theirs) = (mine.split_at(shared), theirs.split_at(shared));
    mine.0 == theirs.0 && mine.1.iter().chain(theirs.1).all(|amount| *amount == 0)
}

impl Eq for Resources {}

impl std::hash::Hash for Resources {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.native.hash(state);
    }
}

impl Resources {
    /// Nothing of anything, with room for the columns of `other`.
    pub fn zeros(other: &Self) -> Self {
        Self {
            native: [0; NATIVE],
            scalars: vec![0; other.scalars.len()],
        }
    }

    /// The amount in a column.
    pub fn get(&self, id: ResourceId) -> i64 {
        match self.native.get(id.index()) {
            Some(amount) => *amount,
            None => {
                let scalar = self.scalars.get(id.index() - NATIVE);
                scalar.copied().unwrap_or(0)
            }
        }
    }

    /// Whether there is anything of a resource that is not native to Kubernetes' nodes.
    pub fn has_scalars(&self) -> bool {
        self.scalars.iter().any(|amount| *amount != 0)
    }

    /// Sets a column.
    pub fn set(&mut self, id: ResourceId, amount: i64) {
        if let Some(native) = self.native.get_mut(id.index()) {
            *native = amount;
            return;
        }
        let at = id.index() - NATIVE;
        self.widen(at + 1);
        self.scalars[at] = amount;
    }

    fn widen(&mut self, scalars: usize) {
        if self.scalars.len() < scalars {
            self.scalars.resize(scalars, 0);
        }
    }

    /// Adds `other`, column by column, wrapping as upstream's sums do.
    pub fn add(&mut self, other: &Self) {
        self.combine(other, i64::wrapping_add);
    }

    /// Takes `other` away, column by column. The inverse of [`add`](Self::add).
    pub fn sub(&mut self, other: &Self) {
        self.combine(other, i64::wrapping_sub);
    }

    fn combine(&mut self, other: &Self, with: impl Fn(i64, i64) -> i64) {
        for (mine, theirs) in self.native.iter_mut().zip(&other.native) {
            *mine = with(*mine, *theirs);
        }
        self.widen(other.scalars.len());
        for (mine, theirs) in self.scalars.iter_mut().zip(&other.scalars) {
            *mine = with(*mine, *theirs);
        }
    }

    /// The columns that are not 0.
    pub fn iter(&self) -> impl Iterator<Item = (ResourceId, i64)> + Clone + '_ {
        (0..)
            .map(ResourceId)
            .zip(self.native.iter().chain(&self.scalars).copied())
            .filter(|(_, amount)| *amount != 0)
    }
}

/// What a pod asks for, in the forms that upstream computes (`component-helpers/resource`).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct PodRequests {
    /// With pod-level resources, and with what the kubelet gave where that is more: what the pod
    /// takes up on its node, and what BalancedAllocation scores by.
    pub total: ResourceList,
    /// `total` as columns.
    pub total_columns: Resources,
    /// With pod-level resources, from the spec alone: what NodeResourcesFit filters by.
    pub spec: ResourceList,
    /// `spec` as columns.
    pub spec_columns: Resources,
    /// From the containers' specs alone, with 100m and 200Mi per container that names none: what
    /// NodeResourcesFit scores by.
    pub scoring: ResourceList,
    /// The cpu that the pod counts for in its node's non-zero sum, in thousandths: as `total`, but
    /// with 100m per container that names none.
    pub non_zero_cpu_milli: i64,
    /// The memory that the pod counts for in its node's non-zero sum, in bytes: as `total`, but
    /// with 200Mi per container that names none.
    pub non_zero_memory: i64,
}
