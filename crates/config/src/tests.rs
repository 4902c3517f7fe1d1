//! Upstream's `scheme_test.go` and `defaults_test.go`, as rows of our own.

use super::*;
use expect_test::{Expect, expect};

const HEADER: &str =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

pub(super) fn load(body: &str) -> Result<KubeSchedulerConfiguration, ConfigErrors> {
    KubeSchedulerConfiguration::from_text(&format!("{HEADER}{body}"))
}

/// What is wrong with a file, line by line; empty if nothing is.
pub(super) fn check(body: &str, expect: Expect) {
    let errors = load(body).map_or_else(|errors| errors.to_string(), |_| String::new());
    expect.assert_eq(&errors);
}

/// What is wrong with the arguments of one plugin, places below `args`.
pub(super) fn args_errors(plugin: &str, args: &str) -> String {
    let text = format!("profiles: [{{pluginConfig: [{{name: {plugin}, args: {args}}}]}}]");
    match load(&text) {
        Ok(_) => String::new(),
        Err(errors) => errors
            .to_string()
            .replace("profiles[0].pluginConfig[0].args.", ""),
    }
}

fn args(plugin: &str, args: &str) -> serde_json::Value {
    let text = format!("profiles: [{{pluginConfig: [{{name: {plugin}, args: {args}}}]}}]");
    let mut config = load(&text).unwrap();
    config.profiles.remove(0).plugin_config.remove(0).args
}

#[test]
fn an_empty_file_has_the_defaults() {
    let config = load("").unwrap();
    assert_eq!(config.parallelism, 16);
    assert_eq!(config.percentage_of_nodes_to_score, 0);
    assert_eq!(config.pod_initial_backoff_seconds, 1);
    assert_eq!(config.pod_max_backoff_seconds, 10);
    assert_eq!(config.enable_contention_profiling, Some(true));
    assert_eq!(config.leader_election, LeaderElection::default());
    assert_eq!(config.profiles.len(), 1);
    let name = config.profiles[0].scheduler_name.as_deref();
    assert_eq!(name, Some("default-scheduler"));
}

#[test]
fn null_and_zero_stand_for_the_default_where_upstream_says_so() {
    let config = load(
        "
parallelism:
profiles:
- plugins:
  schedulerName:
enableProfiling: false
clientConnection: {qps: 0, burst: 0, contentType: ''}
leaderElection: {leaseDuration: 0s, resourceLock: '', resourceName: mine}
",
    )
    .unwrap();
    assert_eq!(config.parallelism, 16);
    assert_eq!(config.enable_contention_profiling, Some(false));
    assert_eq!(config.client_connection, ClientConnection::default());
    assert_eq!(
        config.leader_election,
        LeaderElection {
            resource_name: "mine".to_owned(),
            ..LeaderElection::default()
        }
    );
}

#[test]
fn every_field_of_v1_is_read() {
    let config = load(
        "
parallelism: 8
leaderElection: {leaderElect: true, leaseDuration: 30s, renewDeadline: 15s, retryPeriod: 5s,
  resourceLock: leases, resourceName: n, resourceNamespace: ns}
clientConnection: {kubeconfig: k, acceptContentTypes: a, contentType: c, qps: 10, burst: 20}
enableProfiling: true
enableContentionProfiling: false
percentageOfNodesToScore: 10
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 20
delayCacheUntilActive: true
extenders:
- {urlPrefix: 'http://x', filterVerb: f, preemptVerb: p, prioritizeVerb: s, weight: 1, bindVerb: b,
  enableHTTPS: true, httpTimeout: 5s, nodeCacheCapable: true, ignorable: true,
  managedResources: [{name: example.com/gpu, ignoredByScheduler: true}],
  tlsConfig: {insecure: true, serverName: s, certFile: c, keyFile: k, caFile: a, certData: Yw==,
    keyData: aw==, caData: YQ==}}
profiles:
- schedulerName: a
  percentageOfNodesToScore: 20
  plugins:
    preEnqueue: {}
    queueSort: {}
    preFilter: {}
    filter: {}
    postFilter: {}
    preScore: {}
    score: {enabled: [{name: A, weight: 2}, {name: B}], disabled: [{name: '*'}]}
    reserve: {}
    permit: {}
    preBind: {}
    bind: {}
    postBind: {}
    multiPoint: {}
    placementGenerate: {}
    placementScore: {}
  pluginConfig:
  - name: A
    args: {anything: [goes]}
- schedulerName: b
",
    )
    .unwrap();
    assert_eq!(config.extenders[0].http_timeout, Duration::from_secs(5));
    assert_eq!(config.profiles[0].plugins.score.enabled[0].weight, 2);
    assert_eq!(config.profiles[0].plugins.score.enabled[1].weight, 0);
    assert_eq!(config.profiles[1].percentage_of_nodes_to_score, None);
}

#[test]
fn json_is_as_good_as_yaml() {
    let text = format!(
        "{{\n\t\"apiVersion\": \"{API_VERSION}\",\n\t\"kind\": \"{KIND}\", \"parallelism\": 3}}"
    );
    let config = KubeSchedulerConfiguration::from_text(&text).unwrap();
    assert_eq!(config.parallelism, 3);
}

#[test]
fn the_type_must_be_right() {
    for (text, message) in [
        ("", "expected a KubeSchedulerConfiguration"),
        ("[]", "expected a KubeSchedulerConfiguration"),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1",
            "kind: Required value",
        ),
        (
            "kind: KubeSchedulerConfiguration",
            "apiVersion: Required value",
        ),
        (
            "{apiVersion: v1, kind: Pod}",
            "kind: Unsupported value: \"Pod\": supported values: \"KubeSchedulerConfiguration\"",
        ),
        (
            "{apiVersion: v1, kind: KubeSchedulerConfiguration}",
            "apiVersion: Unsupported value: \"v1\": supported values: \"kubescheduler.config.k8s.io/v1\"",
        ),
        (
            "{apiVersion: kubescheduler.config.k8s.io/v1beta3, kind: KubeSchedulerConfiguration}",
            "apiVersion: v1beta3 is no longer served: rewrite the file for \"kubescheduler.config.k8s.io/v1\"",
        ),
    ] {
        let errors = KubeSchedulerConfiguration::from_text(text).unwrap_err();
        assert_eq!(errors.to_string(), message, "{text}");
    }
}

#[test]
fn broken_text_says_where() {
    check(
        "a: b: c",
        expect!["mapping values are not allowed in this context at line 3 column 5"],
    );
    check(
        "profiles: []\nprofiles: []",
        expect![[r#"duplicate entry with key "profiles""#]],
    );
    check(
        "---\nprofiles: []",
        expect!["deserializing from YAML containing more than one document is not supported"],
    );
}

#[test]
fn unknown_fields_and_wrong_types_name_their_place() {
    check(
        "
paralelism: 3
profiles:
- plugins: {score: {enabled: [{name: A, wieght: 1}]}, scroe: {}}
  pluginConfig:
  - {name: DefaultPreemption}
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        typ: MostAllocated
        requestedToCapacityRatio: {shape: [{Score: 2, Utilization: 1}]}
  - name: NodeAffinity
    args: {addedAffinity: {required: {}}}
  - name: PodTopologySpread
    args: {defaultConstraints: [{maxSkew: one, topologyKey: zone}]}
",
        expect![[r#"
            paralelism: unknown field
            profiles[0].plugins.score.enabled[0].wieght: unknown field
            profiles[0].plugins.scroe: unknown field
            profiles[0].pluginConfig[1].args.scoringStrategy.requestedToCapacityRatio.shape[0].Score: unknown field
            profiles[0].pluginConfig[1].args.scoringStrategy.requestedToCapacityRatio.shape[0].Utilization: unknown field
            profiles[0].pluginConfig[1].args.scoringStrategy.typ: unknown field
            profiles[0].pluginConfig[2].args.addedAffinity.required: unknown field
            profiles[0].pluginConfig[3].args.defaultConstraints[0].maxSkew: invalid type: string "one", expected i32"#]],
    );
    check(
        "profiles: [{schedulerName: 5}]",
        expect!["profiles[0].schedulerName: invalid type: integer `5`, expected a string"],
    );
    check(
        "profiles: {}",
        expect!["profiles: invalid type: map, expected a sequence"],
    );
    check(
        "profiles: [{plugins: {filter: {enabled: [{weight: 5}]}}}]",
        expect!["profiles[0].plugins.filter.enabled[0]: missing field `name`"],
    );
    check(
        "podInitialBackoffSeconds: soon",
        expect![[r#"podInitialBackoffSeconds: invalid type: string "soon", expected i64"#]],
    );
    check(
        "leaderElection: {leaseDuration: 5}",
        expect!["leaderElection.leaseDuration: invalid type: integer `5`, expected a string"],
    );
    check(
        "leaderElection: {leaseDuration: 5 s}",
        expect![[
            r#"leaderElection.leaseDuration: invalid duration "5 s": expected a number with a unit (ns, us, ms, s, m, h), as in "1m30s""#
        ]],
    );
    check(
        "parallelism: 4000000000",
        expect!["parallelism: invalid value: integer `4000000000`, expected i32"],
    );
}

#[test]
fn arguments_may_repeat_their_type_but_not_another() {
    let of = |kind: &str| {
        let args = format!("{{apiVersion: {API_VERSION}, kind: {kind}}}");
        args_errors("DefaultPreemption", &args)
    };
    assert_eq!(of("DefaultPreemptionArgs"), "");
    assert_eq!(
        of("InterPodAffinityArgs"),
        "kind: args for plugin DefaultPreemption were not of type \"DefaultPreemptionArgs\", got \"InterPodAffinityArgs\""
    );
}

#[test]
fn absent_arguments_have_upstreams_defaults() {
    use serde_json::json;
    let resources = json!([{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]);
    for none in ["null", "{}"] {
        for (plugin, expected) in [
            (
                "DefaultPreemption",
                json!({"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100}),
            ),
            (
                "DynamicResources",
                json!({"filterTimeout": "10s", "bindingTimeout": "10m0s"}),
            ),
            (
                "InterPodAffinity",
                json!({"hardPodAffinityWeight": 1, "ignorePreferredTermsOfExistingPods": false}),
            ),
            ("NodeAffinity", json!({})),
            (
                "NodeResourcesBalancedAllocation",
                json!({ "resources": resources }),
            ),
            (
                "NodeResourcesFit",
                json!({
                    "ignoredResources": [], "ignoredResourceGroups": [],
                    "scoringStrategy": {"type": "LeastAllocated", "resources": resources},
                }),
            ),
            ("PodTopologySpread", json!({"defaultingType": "System"})),
            ("VolumeBinding", json!({"bindTimeoutSeconds": 600})),
        ] {
            assert_eq!(args(plugin, none), expected, "{plugin}");
        }
    }
}

#[test]
fn a_weight_of_zero_becomes_one() {
    let text = "{resources: [{name: cpu}, {name: memory, weight: 0}, {name: x, weight: 1}]}";
    let args = args("NodeResourcesBalancedAllocation", text);
    let resources = args["resources"].as_array().unwrap();
    assert!(resources.iter().all(|resource| resource["weight"] == 1));
    assert_eq!(resources.len(), 3);
}
