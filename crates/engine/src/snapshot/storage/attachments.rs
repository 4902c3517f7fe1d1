//! VolumeAttachments by node and by volume.

use crate::model::VolumeAttachment;
use std::collections::BTreeSet;
use stowplan_base::Sym;

/// The names of VolumeAttachments.
#[derive(Clone, Debug, Default)]
pub(super) struct Attachments {
    /// By (node, attachment).
    by_node: BTreeSet<(Sym, Sym)>,
    /// The nodes by (volume, attachment, node).
    by_volume: BTreeSet<(Sym, Sym, Sym)>,
}

impl Attachments {
    pub(super) fn add(&mut self, attachment: &VolumeAttachment) {
        let VolumeAttachment {
            name, node_name, ..
        } = *attachment;
        self.by_node.insert((node_name, name));
        if let Some(volume) = attachment.volume_name {
            self.by_volume.insert((volume, name, node_name));
        }
    }

    pub(super) fn remove(&mut self, attachment: &VolumeAttachment) {
        let VolumeAttachment {
            name, node_name, ..
        } = *attachment;
        self.by_node.remove(&(node_name, name));
        if let Some(volume) = attachment.volume_name {
            self.by_volume.remove(&(volume, name, node_name));
        }
    }

    /// The attachments on a node.
    pub(super) fn on(&self, node: Sym) -> impl Iterator<Item = Sym> {
        self.by_node
            .range((node, Sym::EMPTY)..)
            .take_while(move |(on, _)| *on == node)
            .map(|(_, name)| *name)
    }

    /// The nodes that a volume is attached to.
    pub(super) fn nodes(&self, volume: Sym) -> impl Iterator<Item = Sym> {
        self.by_volume
            .range((volume, Sym::EMPTY, Sym::EMPTY)..)
            .take_while(move |(of, ..)| *of == volume)
            .map(|(_, _, node)| *node)
    }
}
