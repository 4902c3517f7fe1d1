//! `events.k8s.io/v1`.

use super::ALL_VERBS;
use crate::columns;
use crate::conversion::{Conversion, Forms};
use crate::event;
use crate::kind::{Kind, Scope};

pub(super) static EVENT: Kind = Kind {
    group: "events.k8s.io",
    version: "v1",
    kind: "Event",
    plural: "events",
    singular: "event",
    short_names: &["ev"],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.events.v1.Event",
    strategy: &crate::event::EventV1,
    fields: &crate::event::FIELDS_V1,
    columns: &columns::EVENTS_V1,
};

pub(super) static CORE: Conversion = Conversion {
    kind: &EVENT,
    stored: &super::core::EVENT,
    forms: Forms {
        to_stored: event::to_core,
        from_stored: event::from_core,
    },
    judged_as_stored: false,
};
