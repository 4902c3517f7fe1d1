//! How containers start, and what keeps them from it.

use super::*;

#[test]
fn a_container_that_cannot_be_started_says_why_and_is_tried_again() {
    let mut life = Life::new(one("Never", json!({})));
    life.tell(Report::Prepared(Vec::new()));
    life.orders();
    let missing = |reason| Trouble {
        reason,
        message: "configmap \"x\" not found".to_owned(),
    };
    let is_seen = life.tell(Report::NotStarted(
        run("c", 0),
        missing("CreateContainerConfigError"),
    ));
    assert!(is_seen, "it has to be written");
    assert_eq!(life.state(), "Pending: CreateContainerConfigError (0)");
    life.at(9);
    assert_eq!(life.orders(), []);
    life.at(10);
    assert_eq!(life.orders(), [Order::Start(run("c", 0))]);
    life.tell(Report::NotStarted(
        run("c", 0),
        missing(Trouble::PULL_ERROR),
    ));
    assert_eq!(life.state(), "Pending: ErrImagePull (0)");
    life.at(20);
    life.tell(Report::NotStarted(
        run("c", 0),
        missing(Trouble::PULL_ERROR),
    ));
    assert_eq!(life.state(), "Pending: ImagePullBackOff (0)");
    life.orders();
    life.at(39);
    assert_eq!(life.orders(), []);
    life.at(40);
    assert_eq!(life.orders(), [Order::Start(run("c", 0))]);
    life.tell(Report::NotStarted(
        run("c", 0),
        missing(Trouble::START_ERROR),
    ));
    assert_eq!(life.state(), "Failed: StartError 128 (0)");
    assert_eq!(life.orders(), [Order::Release]);
}

#[test]
fn volumes_that_are_missing_are_tried_again_after_longer_and_longer_pauses() {
    let mut life = Life::new(one("Never", json!({})));
    life.orders();
    life.tell(Report::NotPrepared("a secret is missing".to_owned()));
    assert!(
        life.events
            .iter()
            .any(|event| event.reason == "FailedMount" && event.is_warning)
    );
    life.at(1);
    assert_eq!(life.orders(), [Order::Prepare]);
    life.tell(Report::NotPrepared("a secret is missing".to_owned()));
    life.at(2);
    assert_eq!(life.orders(), [Order::Prepare]);
    life.tell(Report::NotPrepared("a secret is missing".to_owned()));
    life.at(3);
    assert_eq!(life.orders(), []);
    life.at(4);
    assert_eq!(life.orders(), [Order::Prepare]);
    life.tell(Report::Prepared(Vec::new()));
    assert_eq!(life.orders(), [Order::Start(run("c", 0))]);
}

#[test]
fn images_that_are_not_to_be_had_are_told_of_in_kubelets_words() {
    let told = |reason, times| {
        let mut life = Life::new(one("Never", json!({})));
        life.tell(Report::Prepared(Vec::new()));
        for again in 0..times {
            life.at(again * 10);
            let message = "why".to_owned();
            life.tell(Report::NotStarted(run("c", 0), Trouble { reason, message }));
        }
        let words = |one: PodEvent| (one.is_warning, one.reason.into_owned(), one.message);
        life.events.into_iter().map(words).collect::<Vec<_>>()
    };
    let pull = [
        (false, "Pulling", "Pulling image \"busybox\""),
        (true, "Failed", "Failed to pull image \"busybox\": why"),
        (true, "Failed", "Error: ErrImagePull"),
    ];
    let pause = [
        (false, "BackOff", "Back-off pulling image \"busybox\""),
        (true, "Failed", "Error: ImagePullBackOff"),
    ];
    let never = [
        (true, "ErrImageNeverPull", "why"),
        (true, "Failed", "Error: ErrImageNeverPull"),
    ];
    let texts = |rows: &[(bool, &str, &str)]| {
        let row = |row: &(bool, &str, &str)| (row.0, row.1.to_owned(), row.2.to_owned());
        rows.iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(told(Trouble::PULL_ERROR, 1), texts(&pull));
    let twice = [&pull[..], &pull[..], &pause[..]].concat();
    assert_eq!(told(Trouble::PULL_ERROR, 2), texts(&twice));
    assert_eq!(told(Trouble::NEVER_PULL, 1), texts(&never));
}

#[test]
fn a_container_runs_for_others_when_its_hook_is_over() {
    let hook = json!({"lifecycle": {"postStart": {"exec": {"command": ["true"]}}}});
    let two = |policy: &str| {
        let mut spec = one(policy, hook.clone());
        let all = spec["containers"].as_array_mut().expect("a list");
        all.push(json!({"name": "d", "image": "busybox"}));
        let mut life = Life::new(spec);
        life.tell(Report::Prepared(Vec::new()));
        life.orders();
        life.tell(Report::Started(run("c", 0), at(0)));
        life
    };
    let post_start = Order::Hook(run("c", 0), Hook::PostStart, u32::MAX);
    let ended = |is_done| Report::HookEnded(run("c", 0), Hook::PostStart, is_done);
    // The next container waits for it, too.
    let mut life = two("Always");
    assert_eq!(life.orders(), std::slice::from_ref(&post_start));
    assert_eq!(life.state(), "Pending: ContainerCreating (0)");
    life.at(5);
    life.tell(ended(true));
    assert_eq!(life.orders(), [Order::Start(run("d", 0))]);
    let state = &life.status()["containerStatuses"][0]["state"];
    assert_eq!(state["running"]["startedAt"], "2027-01-15T08:00:00Z");
    // One that fails stops the container; why is not for everybody to see.
    let mut life = two("Never");
    life.tell(ended(false));
    assert!(life.orders().contains(&Order::Stop(run("c", 0))));
    let told: Vec<&str> = life.events.iter().map(|one| one.message.as_str()).collect();
    assert!(told.contains(&"PostStartHook failed"), "{told:?}");
    // A pod that is to go does not wait for it, nor does one whose container is over.
    let mut life = two("Always");
    life.orders();
    life.delete(30);
    assert_eq!(life.orders(), [Order::Stop(run("c", 0))]);
    let mut life = two("Never");
    life.tell(Report::Exited(run("c", 0), exit(0, 0, 1)));
    assert!(life.orders().contains(&Order::Start(run("d", 0))));
    assert_eq!(life.state(), "Pending: Completed 0 (0)");
}
