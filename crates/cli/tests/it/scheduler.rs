//! `stowplan scheduler`, as far as it goes without a cluster.

use crate::stowplan;
use stowplan_config::KubeSchedulerConfiguration;

#[test]
fn the_configuration_is_written_with_all_defaults() {
    let name = format!("stowplan-config-{}.yaml", std::process::id());
    let file = std::env::temp_dir().join(name);
    let run = stowplan(&format!("scheduler --write-config-to {}", file.display()));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(file).unwrap();
    let written = KubeSchedulerConfiguration::from_text(&text).unwrap();
    assert_eq!(written.leader_election.resource_name, "kube-scheduler");
    assert!(text.contains("podInitialBackoffSeconds: 1\n"), "{text}");
}

#[test]
fn gates_and_versions_that_make_no_sense_are_refused() {
    for (flag, said) in [
        (
            "--feature-gates=GangScheduling=true",
            "feature gate GangScheduling is false and cannot be changed here",
        ),
        (
            "--feature-gates=Bogus=true",
            "unrecognized feature gate: Bogus",
        ),
        ("--show-hidden-metrics-for-version=1.30", "1.35"),
    ] {
        let run = stowplan(&format!("scheduler --kubeconfig /none {flag}"));
        assert_ne!(run.status, 0, "{flag}");
        assert!(run.stderr.contains(said), "{flag}: {}", run.stderr);
    }
}
