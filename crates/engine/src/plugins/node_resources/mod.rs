//! NodeResourcesFit and NodeResourcesBalancedAllocation. Upstream's
//! `pkg/scheduler/framework/plugins/noderesources`.

mod allocation;
mod args;
pub mod balanced_allocation;
pub mod fit;
mod hints;
mod strategies;

#[cfg(test)]
mod tests;
