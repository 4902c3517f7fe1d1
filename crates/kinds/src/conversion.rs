//! Kinds that are served in several versions, or groups, and kept in one of them.
//!
//! What is asked for is read, completed and owned in the form of the request. A [`Conversion`] takes
//! it to the form that is kept, and back for the answer. In between most are judged by the rules of
//! the form that is kept, as upstream judges the internal version whatever version a request speaks.

use crate::{Context, CreateStrategy, Kind, Strategy, UpdateStrategy};
use serde_json::Value;
use stowplan_apimachinery::field::ErrorList;

/// A kind whose objects are kept as those of another kind.
pub struct Conversion {
    /// What is served.
    pub kind: &'static Kind,
    /// What is kept.
    pub stored: &'static Kind,
    /// From the one to the other.
    pub forms: Forms,
    /// Whether objects are judged as those that are kept, by the rules of that kind: all but the
    /// defaults and who owns which field.
    pub judged_as_stored: bool,
}

/// Two forms of the same objects. Both ways end in canonical form, and there and back again is what
/// upstream makes of an object that it reads.
#[derive(Clone, Copy)]
pub struct Forms {
    /// The form that is kept.
    pub to_stored: fn(&Value) -> Value,
    /// The form that is served.
    pub from_stored: fn(&Value) -> Value,
}

/// The behaviour of a kind that is judged as another one: what is left of it.
pub(crate) struct Converted {
    /// The strategy of the kind that is kept.
    pub(crate) main: &'static dyn Strategy,
    pub(crate) forms: Forms,
    /// The defaults of this version alone.
    pub(crate) defaults: fn(&mut Value),
    /// The strategy of `/status`, converted too.
    pub(crate) status: Option<&'static dyn Strategy>,
}

impl Converted {
    fn stored(&self, object: &Value) -> Value {
        (self.forms.to_stored)(object)
    }
}

impl CreateStrategy for Converted {
    fn validate(&self, object: &Value, cx: &Context<'_>) -> ErrorList {
        self.main.validate(&self.stored(object), cx)
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        self.main.validate_name(name, prefix)
    }
}

impl UpdateStrategy for Converted {
    fn validate_update(&self, new: &Value, old: &Value, cx: &Context<'_>) -> ErrorList {
        let (new, old) = (self.stored(new), self.stored(old));
        self.main.validate_update(&new, &old, cx)
    }

    fn allow_create_on_update(&self) -> bool {
        self.main.allow_create_on_update()
    }

    fn allow_unconditional_update(&self) -> bool {
        self.main.allow_unconditional_update()
    }
}

impl Strategy for Converted {
    fn set_defaults(&self, object: &mut Value) {
        (self.defaults)(object);
    }

    fn status(&self) -> Option<&'static dyn Strategy> {
        self.status
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        self.main.reset_fields()
    }
}
