//! Plugins of any type in one list. The only place where state is cast back to its type.

#[macro_use]
mod state;
mod filtering;
mod scoring;
mod slots;

pub(super) use filtering::{
    AnyFilter, AnyFilterState, AnyPostFilter, AnyPreBind, AnyPreFilter, AnyPreFilterExtensions,
    AnyReserve,
};
pub(super) use scoring::{AnyNormalizeScore, AnyPreScore, AnyScore, AnyScoreState};

use super::cycle::State;

type Erased = Box<dyn State>;
