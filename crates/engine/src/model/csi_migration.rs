//! In-tree volume plugins and the CSI drivers that replace them. Upstream's
//! `k8s.io/csi-translation-lib`; the translation of the volumes themselves is done by `stowplan-bridge`.

use stowplan_base::{Sym, sym};

/// (in-tree plugin, CSI driver, whether the scheduler takes the migration as done).
const PLUGINS: [(Sym, Sym, bool); 7] = [
    (sym::AWS_EBS_PLUGIN, sym::AWS_EBS_DRIVER, true),
    (sym::AZURE_DISK_PLUGIN, sym::AZURE_DISK_DRIVER, true),
    (sym::AZURE_FILE_PLUGIN, sym::AZURE_FILE_DRIVER, false),
    (sym::CINDER_PLUGIN, sym::CINDER_DRIVER, true),
    (sym::GCE_PD_PLUGIN, sym::GCE_PD_DRIVER, true),
    (sym::PORTWORX_PLUGIN, sym::PORTWORX_DRIVER, true),
    (sym::VSPHERE_PLUGIN, sym::VSPHERE_DRIVER, false),
];

/// The CSI driver that replaces an in-tree plugin; `None` if `plugin` is no such plugin.
pub(crate) fn driver_of(plugin: Sym) -> Option<Sym> {
    PLUGINS
        .iter()
        .find(|(name, ..)| *name == plugin)
        .map(|(_, driver, _)| *driver)
}

/// Whether volumes of the plugin count as the driver's.
pub(crate) fn is_on(plugin: Sym) -> bool {
    PLUGINS.iter().any(|(name, _, on)| *name == plugin && *on)
}
