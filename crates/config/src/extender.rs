//! `extenders`: services outside that are asked too.

use super::Duration;
use k8s_openapi::ByteString;
use serde::{Deserialize, Serialize};

/// One of `extenders`. An absent verb means that the extender does not take part there.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Extender {
    /// Where it is.
    pub url_prefix: String,
    /// Appended to the prefix for Filter.
    pub filter_verb: String,
    /// Appended to the prefix for preemption.
    pub preempt_verb: String,
    /// Appended to the prefix for Score.
    pub prioritize_verb: String,
    /// What its scores are multiplied by.
    pub weight: i64,
    /// Appended to the prefix for Bind.
    pub bind_verb: String,
    /// Whether to use HTTPS.
    #[serde(rename = "enableHTTPS")]
    pub enable_https: bool,
    /// How to use it.
    pub tls_config: Option<ExtenderTlsConfig>,
    /// How long a call may take.
    pub http_timeout: Duration,
    /// Whether it knows the nodes already.
    pub node_cache_capable: bool,
    /// Only pods that ask for one of these are sent to it; all if empty.
    pub managed_resources: Vec<ExtenderManagedResource>,
    /// Whether scheduling goes on without it.
    pub ignorable: bool,
}

/// One of `managedResources`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExtenderManagedResource {
    /// The resource.
    pub name: String,
    /// Whether NodeResourcesFit leaves it alone.
    pub ignored_by_scheduler: bool,
}

/// `tlsConfig`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExtenderTlsConfig {
    /// Do not verify the certificate.
    pub insecure: bool,
    /// The name in the certificate.
    pub server_name: String,
    /// The client's certificate, as a path.
    pub cert_file: String,
    /// The client's key, as a path.
    pub key_file: String,
    /// The trusted roots, as a path.
    pub ca_file: String,
    /// The client's certificate.
    pub cert_data: ByteString,
    /// The client's key, which nobody is told.
    #[serde(skip_serializing)]
    pub key_data: ByteString,
    /// The trusted roots.
    pub ca_data: ByteString,
}
