//! What was read → a cluster that could exist: named, defaulted, valid, with all its pods.
//!
//! Plays the parts of the API server (names, defaults, validation) and, as far as placement depends
//! on it, of the controllers that nobody runs here: workloads get their pods, claims and volumes that
//! name each other are bound, budgets get their status.

mod budgets;
mod claims;
mod names;
#[cfg(test)]
mod tests;
mod warnings;

pub use names::made_up_uid;

use crate::defaults::Defaults;
use crate::load::{Input, LoadError, Loaded};
use crate::{validation, workloads};

/// A cluster that could exist.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// All objects, those that were made included.
    pub objects: Vec<Loaded>,
    /// How many of them, from the start, were read; the others were made for workloads.
    pub read: usize,
    /// What the user should know.
    pub warnings: Vec<String>,
    defaults: Defaults,
}

impl Prepared {
    /// One more pod of a workload, ready to be placed, then the claims that come with it; `None` if
    /// it makes no more pods by number.
    pub fn one_more(&self, workload: &Loaded) -> Option<Vec<Loaded>> {
        let mut made = workloads::one_more(&self.objects, workload)?;
        for loaded in &mut made {
            // Templates were validated, and so were the classes they name.
            self.defaults.fill(&mut loaded.object, &mut Vec::new());
            names::ensure_uid(&mut loaded.object);
        }
        Some(made)
    }
}

/// Makes a cluster of what was read, or says everything that is wrong with it.
pub fn prepare(input: Input) -> Result<Prepared, Vec<LoadError>> {
    let warnings = warnings::of_input(&input);
    let Input {
        mut objects,
        mut errors,
        ..
    } = input;
    names::complete(&mut objects);
    names::check_duplicates(&objects, &mut errors);
    let defaults = Defaults::of(&objects);
    fill_and_validate(&mut objects, &defaults, &mut errors);
    if !errors.is_empty() {
        errors.sort_by(|a, b| a.place().cmp(&b.place()));
        return Err(errors);
    }
    for loaded in &mut objects {
        names::ensure_uid(&mut loaded.object);
    }
    names::check_uids(&objects, &mut errors);
    let read = objects.len();
    workloads::limits::check(&objects).map_err(|error| vec![error])?;
    let mut made = workloads::expand(&objects);
    fill_and_validate(&mut made, &defaults, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    objects.append(&mut made);
    claims::make_ephemeral(&mut objects, &defaults);
    for loaded in &mut objects[read..] {
        names::ensure_uid(&mut loaded.object);
    }
    names::imply_namespaces(&mut objects);
    claims::bind_named(&mut objects);
    budgets::fill(&mut objects);
    let mut warnings = warnings;
    warnings.extend(warnings::of_objects(&objects));
    Ok(Prepared {
        objects,
        read,
        warnings,
        defaults,
    })
}

fn fill_and_validate(objects: &mut [Loaded], defaults: &Defaults, errors: &mut Vec<LoadError>) {
    for loaded in objects {
        let mut wrong = Vec::new();
        defaults.fill(&mut loaded.object, &mut wrong);
        wrong.extend(validation::validate(&loaded.object));
        let title = loaded.object.title();
        for error in wrong {
            errors.push(LoadError::object(
                &loaded.source,
                format_args!("{title}: {error}"),
            ));
        }
    }
}
