//! Interned strings.

use crate::lookup::WordHasher;
use hashbrown::HashTable;
use std::hash::Hasher;
use std::sync::Arc;

/// An interned string: equal symbols of one [`Names`] are equal strings.
///
/// The order of symbols is the order of arrival, not of the alphabet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Sym(u32);

impl Sym {
    /// The symbol of the empty string.
    pub const EMPTY: Self = Self(0);

    /// The symbol as a number, to be packed with others.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The symbol of a [`number`](Self::number).
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// Whether this is the empty string.
    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// The symbol as a dense index, for tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The table of interned strings. Owned by whoever owns the cluster's state; never shrinks.
#[derive(Clone, Debug)]
pub struct Names {
    /// Symbols by text, each with the hash of its text: a table that grows need not read the texts.
    ids: HashTable<(u32, Sym)>,
    texts: Vec<Arc<str>>,
}

impl Default for Names {
    fn default() -> Self {
        Self::new()
    }
}

impl Names {
    /// A table that holds the well-known names of [`sym`] only.
    pub fn new() -> Self {
        let mut names = Self {
            ids: HashTable::new(),
            texts: Vec::new(),
        };
        for text in sym::TEXTS {
            names.intern(text);
        }
        names
    }

    /// The symbol of `text`, new if need be.
    pub fn intern(&mut self, text: &str) -> Sym {
        let hash = hash(text);
        if let Some(sym) = self.find(hash, text) {
            return sym;
        }
        let sym = Sym(u32::try_from(self.texts.len()).expect("fewer than 2^32 names"));
        self.texts.push(text.into());
        self.ids
            .insert_unique(spread(hash), (hash, sym), |(hash, _)| spread(*hash));
        sym
    }

    /// The symbol of `text`, if it was interned before.
    pub fn get(&self, text: &str) -> Option<Sym> {
        self.find(hash(text), text)
    }

    fn find(&self, hash: u32, text: &str) -> Option<Sym> {
        let is_it = |(held, sym): &(u32, Sym)| *held == hash && &*self.texts[sym.index()] == text;
        let (_, sym) = self.ids.find(spread(hash), is_it)?;
        Some(*sym)
    }

    /// The text of `sym`.
    pub fn text(&self, sym: Sym) -> &str {
        &self.texts[sym.index()]
    }

    /// The text of `sym`, to keep.
    pub fn shared(&self, sym: Sym) -> Arc<str> {
        self.texts[sym.index()].clone()
    }

    /// Every text, by [`Sym::index`].
    pub fn texts(&self) -> impl ExactSizeIterator<Item = &str> {
        self.texts.iter().map(|text| &**text)
    }
}

fn hash(text: &str) -> u32 {
    let mut hasher = WordHasher::default();
    hasher.write(text.as_bytes());
    // The length, too: a text that ends in zeros is another one.
    hasher.write_usize(text.len());
    let hash = hasher.finish();
    (hash >> 32) as u32
}

/// A table takes its index from the low bits of a hash and a tag from the high ones.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

macro_rules! well_known {
    ($($name:ident = $text:literal,)*) => {
        /// Names with a fixed symbol in every [`Names`](super::Names).
        pub mod sym {
            use super::Sym;
            #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
            enum Position { $($name),* }
            $(
                #[doc = concat!("`", $text, "`")]
                pub const $name: Sym = Sym(Position::$name as u32);
            )*
            pub(super) const TEXTS: &[&str] = &[$($text),*];
        }
    };
}

well_known! {
    EMPTY = "",
    HOSTNAME = "kubernetes.io/hostname",
    ZONE = "topology.kubernetes.io/zone",
    REGION = "topology.kubernetes.io/region",
    ZONE_BETA = "failure-domain.beta.kubernetes.io/zone",
    REGION_BETA = "failure-domain.beta.kubernetes.io/region",
    TAINT_UNSCHEDULABLE = "node.kubernetes.io/unschedulable",
    METADATA_NAME = "metadata.name",
    DEFAULT_SCHEDULER = "default-scheduler",
    DEFAULT_NAMESPACE = "default",
    CPU = "cpu",
    MEMORY = "memory",
    EPHEMERAL_STORAGE = "ephemeral-storage",
    PODS = "pods",
    YES = "yes",
    BIND_COMPLETED = "pv.kubernetes.io/bind-completed",
    BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller",
    SELECTED_NODE = "volume.kubernetes.io/selected-node",
    NO_PROVISIONER = "kubernetes.io/no-provisioner",
    AVAILABLE = "Available",
    BOUND = "Bound",
    LOST = "Lost",
    AWS_EBS_PLUGIN = "kubernetes.io/aws-ebs",
    AWS_EBS_DRIVER = "ebs.csi.aws.com",
    AZURE_DISK_PLUGIN = "kubernetes.io/azure-disk",
    AZURE_DISK_DRIVER = "disk.csi.azure.com",
    AZURE_FILE_PLUGIN = "kubernetes.io/azure-file",
    AZURE_FILE_DRIVER = "file.csi.azure.com",
    CINDER_PLUGIN = "kubernetes.io/cinder",
    CINDER_DRIVER = "cinder.csi.openstack.org",
    GCE_PD_PLUGIN = "kubernetes.io/gce-pd",
    GCE_PD_DRIVER = "pd.csi.storage.gke.io",
    PORTWORX_PLUGIN = "kubernetes.io/portworx-volume",
    PORTWORX_DRIVER = "pxd.portworx.com",
    VSPHERE_PLUGIN = "kubernetes.io/vsphere-volume",
    VSPHERE_DRIVER = "csi.vsphere.vmware.com",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_names_keep_their_symbols() {
        let names = Names::new();
        assert_eq!(names.text(Sym::EMPTY), "");
        assert_eq!(names.text(sym::HOSTNAME), "kubernetes.io/hostname");
        assert_eq!(names.text(sym::PODS), "pods");
    }

    #[test]
    fn interning_twice_gives_one_symbol() {
        let mut names = Names::new();
        let a = names.intern("a");
        assert_eq!(names.intern("a"), a);
        assert_ne!(names.intern("b"), a);
        assert_eq!(names.get("a"), Some(a));
        assert_eq!(names.get("c"), None);
        assert_eq!(names.texts().nth(a.index()), Some("a"));
    }
}
