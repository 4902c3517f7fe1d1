//! Upstream's `validation_test.go` and `validation_pluginargs_test.go`, as rows of our own.

use crate::tests::{args_errors, check, load};
use expect_test::{Expect, expect};

#[test]
fn every_rule_of_the_configuration_itself() {
    for (body, errors) in [
        (
            "parallelism: 0",
            "parallelism: Invalid value: 0: should be an integer value greater than zero",
        ),
        (
            "clientConnection: {burst: -1}",
            "clientConnection.burst: Invalid value: -1: must be non-negative",
        ),
        (
            "leaderElection: {resourceLock: configmap}",
            "leaderElection.resourceLock: Invalid value: \"configmap\": resourceLock value must be \"leases\"",
        ),
        (
            "leaderElection: {leaderElect: false, resourceLock: configmap, leaseDuration: -1s}",
            "",
        ),
        (
            "leaderElection: {leaseDuration: 10s}",
            "leaderElection.leaseDuration: Invalid value: \"10s\": must be greater than `RenewDeadline`",
        ),
        (
            "leaderElection: {retryPeriod: -2s}",
            "leaderElection.retryPeriod: Invalid value: \"-2s\": must be greater than zero",
        ),
        (
            "percentageOfNodesToScore: 101",
            "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
        ),
        (
            "percentageOfNodesToScore: -1",
            "percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]",
        ),
        (
            "profiles: [{percentageOfNodesToScore: 101}]",
            "profiles[0].percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
        ),
        (
            "podInitialBackoffSeconds: 0",
            "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0",
        ),
        (
            "podInitialBackoffSeconds: 11",
            "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds",
        ),
        (
            "profiles: [{schedulerName: ''}]",
            "profiles[0].schedulerName: Required value",
        ),
        (
            "profiles: [{schedulerName: a}, {}]",
            "profiles[1].schedulerName: Required value",
        ),
        (
            "profiles: [{schedulerName: a}, {schedulerName: a}]",
            "profiles[1].schedulerName: Duplicate value: \"profiles[0].schedulerName\"",
        ),
        (
            "profiles: [{schedulerName: a, plugins: {queueSort: {enabled: [{name: S}]}}}, {schedulerName: b}]",
            "profiles[1].plugins.queueSort: Invalid value: {\"disabled\":[],\"enabled\":[]}: must be the same for all profiles",
        ),
        (
            "profiles: [{plugins: {queueSort: {enabled: [{name: S}, {name: T}]}}}]",
            "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can be enabled",
        ),
        (
            "profiles: [{plugins: {filter: {enabled: [{name: A}, {name: EBSLimits}]}}}]",
            "profiles[0].plugins.filter.enabled[1]: Invalid value: \"EBSLimits\": was invalid in version \"v1\" (KubeSchedulerConfiguration is version \"kubescheduler.config.k8s.io/v1\")",
        ),
        (
            "profiles: [{pluginConfig: [{name: GCEPDLimits}]}]",
            "profiles[0].pluginConfig[0]: Invalid value: \"GCEPDLimits\": was invalid in version \"v1\" (KubeSchedulerConfiguration is version \"kubescheduler.config.k8s.io/v1\")",
        ),
        (
            "profiles: [{pluginConfig: [{name: A}, {name: A}]}]",
            "profiles[0].pluginConfig[1]: Duplicate value: \"A\"",
        ),
        (
            "extenders: [{prioritizeVerb: p, weight: -1}]",
            "extenders[0].weight: Invalid value: -1: must have a positive weight applied to it",
        ),
        (
            "extenders: [{managedResources: [{name: example.com/a}, {name: example.com/a}]}]",
            "extenders[0].managedResources[1].name: Invalid value: \"example.com/a\": duplicate extender managed resource name",
        ),
        (
            "extenders: [{managedResources: [{name: cpu}]}]",
            "extenders[0].managedResources[0].name: Invalid value: \"cpu\": is an invalid extended resource name",
        ),
        (
            "extenders: [{bindVerb: a}, {bindVerb: b}]",
            "extenders: Invalid value: \"found 2 extenders implementing bind\": only one extender can implement bind",
        ),
    ] {
        let actual = load(body).map_or_else(|errors| errors.to_string(), |_| String::new());
        assert_eq!(actual, errors, "{body}");
    }
}

#[test]
fn queue_sort_arguments_must_agree() {
    check(
        "
profiles:
- schedulerName: a
  plugins: &same {queueSort: {enabled: [{name: Sort}]}}
  pluginConfig: [{name: Sort, args: {x: 1}}]
- schedulerName: b
  plugins: *same
  pluginConfig: [{name: Sort, args: {x: 2}}]
- schedulerName: c
  plugins: *same
",
        expect![[
            r#"profiles[1].pluginConfig.args: Invalid value: "Sort": queueSort must be the same for all profiles"#
        ]],
    );
}

#[test]
fn every_rule_of_the_arguments() {
    const FIT: &str = "NodeResourcesFit";
    const SPREAD: &str = "PodTopologySpread";
    for (plugin, args, errors) in [
        (
            "DefaultPreemption",
            "{minCandidateNodesPercentage: -1}",
            "minCandidateNodesPercentage: Invalid value: -1: not in valid range [0, 100]",
        ),
        (
            "DefaultPreemption",
            "{minCandidateNodesPercentage: 900}",
            "minCandidateNodesPercentage: Invalid value: 900: not in valid range [0, 100]",
        ),
        (
            "DefaultPreemption",
            "{minCandidateNodesAbsolute: -1}",
            "minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)",
        ),
        (
            "DefaultPreemption",
            "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}",
            "minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute\n\
             minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same time as minCandidateNodesPercentage",
        ),
        ("DefaultPreemption", "{minCandidateNodesPercentage: 0}", ""),
        (
            "DynamicResources",
            "{filterTimeout: 0s, bindingTimeout: 1s}",
            "",
        ),
        (
            "DynamicResources",
            "{filterTimeout: -1s}",
            "filterTimeout: Invalid value: \"-1s\": must be zero or positive",
        ),
        (
            "DynamicResources",
            "{bindingTimeout: 999ms}",
            "bindingTimeout: Invalid value: \"999ms\": must be at least 1 second",
        ),
        ("InterPodAffinity", "{hardPodAffinityWeight: 0}", ""),
        (
            "InterPodAffinity",
            "{hardPodAffinityWeight: -1}",
            "hardPodAffinityWeight: Invalid value: -1: not in valid range [0, 100]",
        ),
        (
            "InterPodAffinity",
            "{hardPodAffinityWeight: 101}",
            "hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
        ),
        (
            "NodeResourcesBalancedAllocation",
            "{resources: [{name: cpu, weight: 2}]}",
            "resources[0].weight: Invalid value: 2: must be 1",
        ),
        (
            "NodeResourcesBalancedAllocation",
            "{resources: [{name: cpu}, {name: cpu}]}",
            "resources[1].name: Duplicate value: \"cpu\"",
        ),
        ("VolumeBinding", "{bindTimeoutSeconds: 0}", ""),
        (
            "VolumeBinding",
            "{bindTimeoutSeconds: -10}",
            "bindTimeoutSeconds: Invalid value: -10: invalid BindTimeoutSeconds, should not be a negative value",
        ),
        (
            "VolumeBinding",
            "{shape: [{utilization: 1, score: 1}]}",
            "shape: Invalid value: [{\"utilization\":1,\"score\":1}]: unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring",
        ),
        (
            FIT,
            "{ignoredResources: [example.com], ignoredResourceGroups: [example.com]}",
            "",
        ),
        (
            FIT,
            "{ignoredResourceGroups: [a.com/b]}",
            "ignoredResourceGroups[0]: Invalid value: \"a.com/b\": resource group name can't contain '/'",
        ),
        (
            FIT,
            "{scoringStrategy: {}}",
            "scoringStrategy.type: Unsupported value: \"\": supported values: \"LeastAllocated\", \"MostAllocated\", \"RequestedToCapacityRatio\"",
        ),
        (
            FIT,
            "{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 101}, {name: x, weight: -1}]}}",
            "scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]\n\
             scoringStrategy.resources[1].weight: Invalid value: -1: resource weight of x not in valid range (0, 100]",
        ),
        (
            FIT,
            "{scoringStrategy: {type: RequestedToCapacityRatio}}",
            "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is RequestedToCapacityRatio",
        ),
        (
            FIT,
            "{scoringStrategy: {type: LeastAllocated, requestedToCapacityRatio: {}}}",
            "scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not RequestedToCapacityRatio",
        ),
        (
            FIT,
            "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {}}}",
            "scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point must be specified",
        ),
        (
            FIT,
            "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: \
             [{utilization: 10, score: 3}, {utilization: 10, score: 11}, {utilization: -1, score: -1}]}}}",
            "scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 10: values must be sorted in increasing order\n\
             scoringStrategy.requestedToCapacityRatio.shape[1].score: Invalid value: 11: not in valid range [0, 10]\n\
             scoringStrategy.requestedToCapacityRatio.shape[2].utilization: Invalid value: -1: not in valid range [0, 100]\n\
             scoringStrategy.requestedToCapacityRatio.shape[2].score: Invalid value: -1: not in valid range [0, 10]",
        ),
        (SPREAD, "{defaultingType: List}", ""),
        (
            SPREAD,
            "{defaultingType: Mine}",
            "defaultingType: Unsupported value: \"Mine\": supported values: \"System\", \"List\"",
        ),
        (
            SPREAD,
            "{defaultConstraints: [{maxSkew: 1, topologyKey: k, whenUnsatisfiable: DoNotSchedule}]}",
            "defaultingType: Invalid value: \"System\": when .defaultConstraints are not empty",
        ),
        (
            SPREAD,
            "{defaultingType: List, defaultConstraints: [{maxSkew: 0, topologyKey: '', whenUnsatisfiable: '', labelSelector: {}}]}",
            "defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)\n\
             defaultConstraints[0].topologyKey: Required value: can not be empty\n\
             defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty\n\
             defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, as they deduced for each pod",
        ),
        (
            SPREAD,
            "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: k, whenUnsatisfiable: Never}, {maxSkew: 2, topologyKey: k, whenUnsatisfiable: Never}]}",
            "defaultConstraints[0].whenUnsatisfiable: Unsupported value: \"Never\": supported values: \"DoNotSchedule\", \"ScheduleAnyway\"\n\
             defaultConstraints[1].whenUnsatisfiable: Unsupported value: \"Never\": supported values: \"DoNotSchedule\", \"ScheduleAnyway\"\n\
             defaultConstraints[1]: Duplicate value: \"{k, Never}\"",
        ),
    ] {
        assert_eq!(args_errors(plugin, args), errors, "{plugin} {args}");
    }
}

#[test]
fn names_are_label_keys() {
    let check = |name: &str, expect: Expect| {
        let args = format!("{{ignoredResources: ['{name}']}}");
        expect.assert_eq(&args_errors("NodeResourcesFit", &args));
    };
    check(
        &"a".repeat(64),
        expect![[
            r#"ignoredResources[0]: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": name part must be no more than 63 bytes"#
        ]],
    );
    check(
        "example.com/",
        expect![[r#"
        ignoredResources[0]: Invalid value: "example.com/": name part must be non-empty
        ignoredResources[0]: Invalid value: "example.com/": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"#]],
    );
    check(
        "/b",
        expect![[r#"ignoredResources[0]: Invalid value: "/b": prefix part must be non-empty"#]],
    );
    check(
        "a/b/c",
        expect![[
            r#"ignoredResources[0]: Invalid value: "a/b/c": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"#
        ]],
    );
    check(
        "-Upper.com/x",
        expect![[
            r#"ignoredResources[0]: Invalid value: "-Upper.com/x": prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#
        ]],
    );
}

#[test]
fn added_affinity_must_be_one_that_can_be_parsed() {
    let check = |affinity: &str, expect: Expect| {
        let args = format!("{{addedAffinity: {affinity}}}");
        expect.assert_eq(&args_errors("NodeAffinity", &args));
    };
    check(
        "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
          {matchExpressions: [{key: a, operator: In, values: [b]}, {key: a, operator: Gt, values: ['5']}]},
          {matchFields: [{key: metadata.name, operator: NotIn, values: [n]}]}, {}]}}",
        expect![[""]],
    );
    check(
        "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [
          {key: in/valid/key, operator: In, values: [b]},
          {key: a, operator: Near},
          {key: a, operator: In},
          {key: a, operator: Exists, values: ['two words']},
          {key: a, operator: Lt, values: [five, six]}]}]},
         preferredDuringSchedulingIgnoredDuringExecution: [
          {weight: 0, preference: {matchFields: [{key: metadata.name, operator: In}]}},
          {weight: 1, preference: {matchFields: [
            {key: metadata.name, operator: In, values: [a, b]}, {key: metadata.name, operator: Exists}]}}]}",
        expect![[r#"
            addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key: Invalid value: "in/valid/key": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')
            addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].operator: Unsupported value: "Near": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"
            addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[2].values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty
            addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[3].values: Invalid value: ["two words"]: values set must be empty for exists and does not exist
            addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[3].values[0][a]: Invalid value: "two words": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')
            addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[4].values: Invalid value: ["five","six"]: for 'Gt', 'Lt' operators, exactly one value is required
            addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[4].values[0]: Invalid value: "five": for 'Gt', 'Lt' operators, the value must be an integer
            addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[4].values[1]: Invalid value: "six": for 'Gt', 'Lt' operators, the value must be an integer
            addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[1].matchFields[0].values: Invalid value: ["a","b"]: must have one element
            addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[1].matchFields[1].operator: Unsupported value: "Exists": supported values: "In", "NotIn""#]],
    );
}
