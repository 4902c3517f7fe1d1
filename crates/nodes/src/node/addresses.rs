//! Addresses of nodes and pods.

use std::net::Ipv4Addr;

/// The smallest block that a node gets, as the number of bits of addresses in it.
const BITS_MIN: u32 = 8;
/// Pods are in 10.0.0.0/8, from 10.64.0.0 on: the beginning is for Services.
const PODS: u32 = (10 << 24) | (64 << 16);
/// How many addresses there are for pods.
const ROOM: u32 = (11 << 24) - PODS;
/// Nodes are in 172.16.0.0/12; the first ones are in 172.18.0.0/16, as those of kind.
const HOSTS: u32 = (172 << 24) | (18 << 16);

/// The addresses of one node's pods, and which of them are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cidr {
    base: u32,
    bits: u32,
    taken: Vec<u64>,
}

impl Cidr {
    /// `10.0.3.0/24`; `None` if it is something else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (base, prefix) = text.split_once('/')?;
        let base: Ipv4Addr = base.parse().ok()?;
        let prefix: u32 = prefix.parse().ok().filter(|prefix| *prefix <= 30)?;
        let bits = 32 - prefix;
        let base = base.to_bits();
        Some(Self {
            base: base - base % 1_u32.checked_shl(bits).unwrap_or(1),
            bits,
            taken: Vec::new(),
        })
    }

    pub(crate) fn text(&self) -> String {
        format!("{}/{}", Ipv4Addr::from_bits(self.base), 32 - self.bits)
    }

    /// An address that nobody has. The first one is the node's own on that network.
    pub(crate) fn allocate(&mut self) -> Option<Ipv4Addr> {
        let size = (1_u64 << self.bits) as u32;
        let full = self.taken.iter().position(|word| *word != u64::MAX);
        let word = full.unwrap_or(self.taken.len());
        if word == self.taken.len() {
            // Neither the network nor the node itself.
            self.taken.push(if word == 0 { 0b11 } else { 0 });
        }
        let bits = self.taken.get_mut(word)?;
        let bit = bits.trailing_ones();
        let offset = word as u32 * 64 + bit;
        if offset >= size - 1 {
            return None;
        }
        *bits |= 1 << bit;
        Some(Ipv4Addr::from_bits(self.base + offset))
    }

    fn offset(&self, ip: Ipv4Addr) -> Option<u32> {
        let offset = ip.to_bits().checked_sub(self.base)?;
        (u64::from(offset) < 1 << self.bits).then_some(offset)
    }

    /// An address is known to be taken.
    pub(crate) fn mark(&mut self, ip: Ipv4Addr) {
        let Some(offset) = self.offset(ip) else {
            return;
        };
        let word = (offset / 64) as usize;
        if self.taken.is_empty() {
            self.taken.push(0b11);
        }
        if self.taken.len() <= word {
            self.taken.resize(word + 1, 0);
        }
        if let Some(bits) = self.taken.get_mut(word) {
            *bits |= 1 << (offset % 64);
        }
    }

    pub(crate) fn free(&mut self, ip: Ipv4Addr) {
        let Some(offset) = self.offset(ip) else {
            return;
        };
        if let Some(bits) = self.taken.get_mut((offset / 64) as usize) {
            *bits &= !(1 << (offset % 64));
        }
    }

    /// The address of a node with these pods, if it says none.
    pub(crate) fn host(&self) -> Ipv4Addr {
        let number = (self.base.wrapping_sub(PODS) & 0x00ff_ffff) >> BITS_MIN;
        Ipv4Addr::from_bits(HOSTS + number + 2)
    }
}

/// Gives blocks of addresses to nodes.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// The next address that no block has.
    next: u32,
}

impl Blocks {
    /// A block for so many pods.
    pub(crate) fn allocate(&mut self, pods: i64) -> Cidr {
        let wanted = u32::try_from(pods.clamp(0, 1 << 16)).unwrap_or(0) + 6;
        let bits = wanted.next_power_of_two().trailing_zeros().max(BITS_MIN);
        let size = 1 << bits;
        let start = self.next.next_multiple_of(size);
        // What does not fit any more begins anew: more pods than an IPv4 network has.
        let start = if start + size > ROOM { 0 } else { start };
        self.next = start + size;
        Cidr {
            base: PODS + start,
            bits,
            taken: Vec::new(),
        }
    }

    /// A block is known to be taken.
    pub(crate) fn mark(&mut self, cidr: &Cidr) {
        let start = cidr.base.checked_sub(PODS);
        if let Some(start) = start.filter(|start| *start < ROOM) {
            self.next = self.next.max(start + (1 << cidr.bits.min(24)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_has_its_block_and_each_pod_its_address() {
        let mut blocks = Blocks::default();
        blocks.mark(&Cidr::parse("10.64.0.0/24").unwrap());
        let mut small = blocks.allocate(110);
        let large = blocks.allocate(1_000);
        assert_eq!(small.text(), "10.64.1.0/24");
        assert_eq!(large.text(), "10.64.4.0/22");
        assert_eq!(blocks.allocate(110).text(), "10.64.8.0/24");
        assert_eq!(small.host().to_string(), "172.18.0.3");
        small.mark("10.64.1.3".parse().unwrap());
        let first = small.allocate().unwrap();
        let second = small.allocate().unwrap();
        assert_eq!(
            [first, second].map(|ip| ip.to_string()),
            ["10.64.1.2", "10.64.1.4"]
        );
        small.free(first);
        assert_eq!(small.allocate(), Some(first));
        let rest = std::iter::from_fn(|| small.allocate()).count();
        assert_eq!(rest, 256 - 3 - 3);
        assert_eq!(Cidr::parse("fd00::/64"), None);
    }
}
