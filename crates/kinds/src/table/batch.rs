//! `batch/v1`.

use super::ALL_VERBS;
use crate::batch;
use crate::columns;
use crate::fields::{JOB_FIELDS, METADATA};
use crate::kind::{Kind, Scope, Subresource};

pub(super) static CRON_JOB: Kind = Kind {
    group: "batch",
    version: "v1",
    kind: "CronJob",
    plural: "cronjobs",
    singular: "cronjob",
    short_names: &["cj"],
    categories: &["all"],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[Subresource {
        name: "status",
        group_version: None,
        kind: "CronJob",
        verbs: &["get", "patch", "update"],
    }],
    schema: "io.k8s.api.batch.v1.CronJob",
    strategy: &batch::CRON_JOB,
    fields: &METADATA,
    columns: &columns::CRON_JOBS,
};

pub(super) static JOB: Kind = Kind {
    group: "batch",
    version: "v1",
    kind: "Job",
    plural: "jobs",
    singular: "job",
    short_names: &[],
    categories: &["all"],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[Subresource {
        name: "status",
        group_version: None,
        kind: "Job",
        verbs: &["get", "patch", "update"],
    }],
    schema: "io.k8s.api.batch.v1.Job",
    strategy: &batch::JOB,
    fields: &JOB_FIELDS,
    columns: &columns::JOBS,
};
