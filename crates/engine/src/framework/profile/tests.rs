//! In the spirit of upstream's `default_plugins_test.go` and `framework_test.go`.

use super::*;
use crate::plugins::registry::{default_framework, in_tree};

/// `"A B=3 -C -*"`: enables A, and B with weight 3; disables C and all.
fn set(text: &str) -> PluginSet {
    let mut set = PluginSet::default();
    for word in text.split_whitespace() {
        if let Some(name) = word.strip_prefix('-') {
            set.disabled.push(name.to_owned());
        } else {
            let (name, weight) = word.split_once('=').unwrap_or((word, "0"));
            set.enabled.push(EnabledPlugin {
                name: name.to_owned(),
                weight: weight.parse().unwrap(),
            });
        }
    }
    set
}

fn plugins(sets: &[(Option<Point>, &str)]) -> Plugins {
    let mut plugins = Plugins::default();
    for (point, text) in sets {
        match point {
            None => plugins.multi_point = set(text),
            Some(point) => *plugins.at_mut(*point) = set(text),
        }
    }
    plugins
}

fn expanded(plugins: &Plugins) -> Result<Framework, ProfileError> {
    let args = PluginArgs::default();
    expand("test", plugins, &args, &in_tree())
}

/// What a custom profile runs at `point`, merged with the defaults.
fn runs(sets: &[(Option<Point>, &str)], point: Point) -> String {
    match expanded(&plugins(sets).merged_with_defaults()) {
        Ok(framework) => framework.enabled_at(point).join(" "),
        Err(error) => error.to_string(),
    }
}

#[test]
fn sets_merge_in_place() {
    for (default, custom, merged) in [
        ("A B C", "", "A B C"),
        ("A B C", "D", "A B C D"),
        ("A B C", "-B", "A C -B"),
        ("A B C", "-*", "-*"),
        ("A B C", "C A -*", "C A -*"),
        ("A B C", "-B B=5", "A C B=5 -B"),
        ("A B=1 C", "B=3", "A B=3 C"),
        ("A B C", "D C=2 A=1", "A=1 B C=2 D"),
        ("A B C", "B=1 B=2", "A B=2 C B=1"),
        ("A B -B", "", "A -B"),
        ("A B -B", "C -A", "C -A -B"),
        ("A B -*", "C", "C -*"),
    ] {
        assert_eq!(
            set(default).merged(&set(custom)),
            set(merged),
            "{default} + {custom}"
        );
    }
}

#[test]
fn the_default_profile_runs_upstreams_plugins() {
    let framework = default_framework();
    let at = |point| framework.enabled_at(point).join(" ");
    assert_eq!(framework.profile_name, "default-scheduler");
    assert_eq!(
        at(Point::PreEnqueue),
        "SchedulingGates DynamicResources DefaultPreemption"
    );
    assert_eq!(at(Point::QueueSort), "PrioritySort");
    assert_eq!(
        at(Point::PreFilter),
        "NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding \
         VolumeZone PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures"
    );
    assert_eq!(
        at(Point::Filter),
        "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit \
         VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread \
         InterPodAffinity DynamicResources NodeDeclaredFeatures"
    );
    assert_eq!(at(Point::PostFilter), "DynamicResources DefaultPreemption");
    assert_eq!(
        at(Point::PreScore),
        "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread \
         InterPodAffinity NodeResourcesBalancedAllocation"
    );
    assert_eq!(
        framework.score_weights(),
        [
            ("TaintToleration", 3),
            ("NodeAffinity", 2),
            ("NodeResourcesFit", 1),
            ("VolumeBinding", 1),
            ("PodTopologySpread", 2),
            ("InterPodAffinity", 2),
            ("DynamicResources", 2),
            ("NodeResourcesBalancedAllocation", 1),
            ("ImageLocality", 1),
        ]
    );
    assert_eq!(at(Point::Reserve), "VolumeBinding DynamicResources");
    assert_eq!(at(Point::Permit), "");
    assert_eq!(at(Point::PreBind), "VolumeBinding DynamicResources");
    assert_eq!(at(Point::Bind), "DefaultBinder");
    assert_eq!(at(Point::PostBind), "");
}

#[test]
fn multi_point_and_single_points_expand_in_upstreams_order() {
    const BASE: &str = "PrioritySort DefaultBinder";
    for (multi, score, expected) in [
        (
            "ImageLocality NodeAffinity",
            "",
            "ImageLocality=1 NodeAffinity=1",
        ),
        (
            "ImageLocality=2 NodeAffinity=3",
            "-ImageLocality",
            "NodeAffinity=3",
        ),
        ("ImageLocality NodeAffinity", "-*", ""),
        (
            "ImageLocality NodeAffinity",
            "-* TaintToleration=4",
            "TaintToleration=4",
        ),
        // What multiPoint enables too comes first, what it does not comes last.
        (
            "ImageLocality=2 NodeAffinity=3 InterPodAffinity=4",
            "TaintToleration=5 InterPodAffinity=6 ImageLocality=7",
            "InterPodAffinity=6 ImageLocality=7 NodeAffinity=3 TaintToleration=5",
        ),
        // Enabled at the point wins over disabled there.
        (
            "ImageLocality=2",
            "ImageLocality=3 -ImageLocality",
            "ImageLocality=3",
        ),
    ] {
        let multi = format!("{BASE} {multi}");
        let plugins = plugins(&[(None, &multi), (Some(Point::Score), score)]);
        let framework = expanded(&plugins).unwrap();
        let weights: Vec<_> = framework
            .score_weights()
            .iter()
            .map(|(p, w)| format!("{p}={w}"))
            .collect();
        assert_eq!(weights.join(" "), expected, "{multi} / {score}");
    }
}

#[test]
fn custom_profiles_merge_with_the_defaults() {
    let post_filter = |text| runs(&[(Some(Point::PostFilter), text)], Point::PostFilter);
    assert_eq!(post_filter(""), "DynamicResources DefaultPreemption");
    assert_eq!(post_filter("-DefaultPreemption"), "DynamicResources");
    assert_eq!(post_filter("-*"), "");
    assert_eq!(
        post_filter("DefaultPreemption"),
        "DefaultPreemption DynamicResources"
    );
    assert_eq!(post_filter("DefaultPreemption -*"), "DefaultPreemption");

    let minimal = "-* PrioritySort DefaultBinder NodeName";
    assert_eq!(runs(&[(None, minimal)], Point::Filter), "NodeName");
    assert_eq!(runs(&[(None, minimal)], Point::Score), "");
    assert_eq!(
        runs(
            &[(None, minimal), (Some(Point::Filter), "NodePorts")],
            Point::Filter
        ),
        "NodeName NodePorts"
    );
    assert_eq!(
        runs(
            &[(None, minimal), (Some(Point::Filter), "NodePorts")],
            Point::PreFilter
        ),
        ""
    );
}

#[test]
fn broken_profiles_say_why() {
    for (sets, message) in [
        (
            &[(None, "Nope")][..],
            "MultiPoint plugin \"Nope\" does not exist",
        ),
        (
            &[(Some(Point::Score), "Nope")],
            "ScorePlugin \"Nope\" does not exist",
        ),
        (
            &[(Some(Point::Score), "NodeName")],
            "plugin \"NodeName\" does not extend ScorePlugin plugin",
        ),
        (
            &[(Some(Point::Filter), "NodeName NodeName")],
            "plugin \"NodeName\" already registered as \"FilterPlugin\"",
        ),
        (
            &[(None, "NodeName NodeName")],
            "plugin \"NodeName\" already registered as \"MultiPoint plugin\"",
        ),
        (
            &[(Some(Point::QueueSort), "-*")],
            "only one queue sort plugin required, but got 0",
        ),
        (
            &[(Some(Point::Bind), "-*")],
            "at least one bind plugin is needed",
        ),
        (
            &[(None, "TaintToleration=-1")],
            "total score of Score plugins could overflow",
        ),
    ] {
        assert_eq!(runs(sets, Point::Filter), message);
    }
}
