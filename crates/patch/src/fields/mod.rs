//! Fields of an object, and sets of them.

mod element;
mod set;
#[cfg(test)]
mod tests;
pub(crate) mod value;

pub(crate) use element::Element;
pub(crate) use set::Set;
