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

/// The table of interned strings. Owned by whoever owns the cluster's state, who
/// [sweeps](Self::sweep) it now and then.
#[derive(Clone, Debug)]
pub struct Names {
    /// Symbols by text, each with the hash of its text: a table that grows need not read the texts.
    ids: HashTable<(u32, Sym)>,
    texts: Vec<Arc<str>>,
    /// Symbols to be given to new texts.
    free: Vec<Sym>,
    /// Symbols that the last sweep took back. They rest until the next: who holds on to one by mistake
    /// finds no text, rather than that of another.
    resting: Vec<Sym>,
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
            free: Vec::new(),
            resting: Vec::new(),
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
        let sym = match self.free.pop() {
            Some(sym) => {
                self.texts[sym.index()] = text.into();
                sym
            }
            None => {
                self.texts.push(text.into());
                Sym(u32::try_from(self.texts.len() - 1).expect("fewer than 2^32 names"))
            }
        };
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

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Never: the well-known names are always there.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// How many symbols there are, free ones included: the next new one has this number.
    pub fn symbols(&self) -> usize {
        self.texts.len()
    }

    /// Marks for all symbols, of which the first so many are set.
    pub fn marks(&self, first: usize) -> Marks {
        let mut marks = vec![false; self.texts.len()];
        marks[..first].fill(true);
        Marks(marks)
    }

    /// Forgets all names whose symbols are not marked.
    pub fn sweep(&mut self, marks: &Marks) {
        self.free.append(&mut self.resting);
        let Self {
            ids,
            texts,
            resting,
            ..
        } = self;
        let nothing = texts[Sym::EMPTY.index()].clone();
        ids.retain(|(_, sym)| {
            let stays = marks.has(*sym);
            if !stays {
                texts[sym.index()] = nothing.clone();
                resting.push(*sym);
            }
            stays
        });
        ids.shrink_to_fit(|(hash, _)| spread(*hash));
        resting.sort_unstable();
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

/// Which symbols are in use: those that are hashed into it. Other numbers of 32 bits mark symbols, too,
/// which does no harm.
#[derive(Clone, Debug)]
pub struct Marks(Vec<bool>);

impl Marks {
    /// Whether a symbol is marked.
    pub fn has(&self, sym: Sym) -> bool {
        self.0.get(sym.index()).is_some_and(|mark| *mark)
    }
}

impl Hasher for Marks {
    fn write_u32(&mut self, number: u32) {
        if let Some(mark) = self.0.get_mut(number as usize) {
            *mark = true;
        }
    }

    fn write(&mut self, _other: &[u8]) {}

    fn finish(&self) -> u64 {
        0
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
    fn names_that_nobody_bears_are_forgotten() {
        use std::hash::Hash;
        let mut names = Names::new();
        let permanent = names.symbols();
        let [a, b, c] = ["a", "b", "c"].map(|text| names.intern(text));
        let sweep = |names: &mut Names, used: &[Sym]| {
            let mut marks = names.marks(permanent);
            used.hash(&mut marks);
            names.sweep(&marks);
        };
        sweep(&mut names, &[b]);
        assert_eq!(names.text(b), "b");
        assert_eq!(names.get("b"), Some(b));
        assert_eq!((names.get("a"), names.text(a)), (None, ""));
        assert_eq!(names.get("cpu"), Some(sym::CPU));
        // What was taken back rests at first.
        let d = names.intern("d");
        assert!(![a, b, c].contains(&d));
        sweep(&mut names, &[b, d]);
        let again = ["e", "f"].map(|text| names.intern(text));
        assert!(again.contains(&a) && again.contains(&c));
        assert_eq!(names.text(d), "d");
        assert_eq!(again.map(|sym| names.text(sym)), ["e", "f"]);
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
