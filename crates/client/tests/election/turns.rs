//! One turn at a time.

use stowplan_base::{Duration, Time};
use stowplan_client::election::{Answer, Elector, End, Record, Request, Step, Timings};

const START: Time = Time::from_secs(1_000);

fn at(millis: i64) -> Time {
    START + Duration::from_millis(millis)
}

fn elector(identity: &str) -> Elector {
    Elector::new(identity, Timings::default(), 1, START)
}

fn asks(elector: &mut Elector, millis: i64) -> Request {
    match elector.next(at(millis)) {
        Step::Ask(request, until) => {
            assert!(until > at(millis));
            request
        }
        step => panic!("{step:?}"),
    }
}

/// Leads since 0 ms; the Lease has version 1.
fn leader() -> Elector {
    let mut elector = elector("a");
    assert_eq!(asks(&mut elector, 0), Request::Get);
    elector.answered(Answer::NotFound, at(0));
    let Request::Create(record) = asks(&mut elector, 0) else {
        panic!("it does not create the lease");
    };
    assert_eq!((&*record.holder, record.transitions), ("a", 0));
    assert_eq!(record.lease_duration_seconds, 15);
    elector.answered(Answer::Lease(record, "1".to_owned()), at(0));
    elector
}

fn held_by(holder: &str, renewed: i64) -> Record {
    Record {
        holder: holder.to_owned(),
        lease_duration_seconds: 15,
        acquired: Some(START),
        renewed: Some(at(renewed)),
        transitions: 3,
    }
}

#[test]
fn who_finds_no_lease_leads_and_renews_without_looking() {
    let mut elector = leader();
    assert!(elector.may_act(at(0)) && elector.leader() == Some("a"));
    assert_eq!(elector.next(at(0)), Step::Wait(at(2_000)));
    let Request::Update(record, version) = asks(&mut elector, 2_000) else {
        panic!("it does not renew");
    };
    assert_eq!((record.renewed, version), (Some(at(2_000)), "1".to_owned()));
    assert_eq!(record.acquired, Some(at(0)));
    elector.answered(Answer::Lease(record, "2".to_owned()), at(2_100));
    assert_eq!(elector.acting_until(), Some(at(12_000)));
    assert_eq!(elector.next(at(2_100)), Step::Wait(at(4_100)));
}

#[test]
fn a_held_lease_expires_by_the_observers_clock() {
    let mut elector = elector("b");
    let mut now = 0;
    // The renewals are long ago by the holder's clock, but have only just been seen.
    let record = held_by("a", -100_000);
    let mut taken = None;
    while now < 60_000 && taken.is_none() {
        match elector.next(at(now)) {
            Step::Ask(Request::Get, _) => {
                elector.answered(Answer::Lease(record.clone(), "9".to_owned()), at(now));
            }
            Step::Ask(Request::Update(record, version), _) => taken = Some((now, record, version)),
            Step::Wait(until) => now = (until.as_nanos() - START.as_nanos()) / 1_000_000 + 1,
            step => panic!("{step:?}"),
        }
        assert!(!elector.may_act(at(now)));
    }
    let (when, record, version) = taken.unwrap();
    assert!((15_000..15_000 + 4_401).contains(&when), "{when}");
    assert_eq!((&*record.holder, record.transitions), ("b", 4));
    assert_eq!(version, "9");
}

#[test]
fn a_lease_that_was_given_back_is_taken_at_once() {
    let mut elector = elector("b");
    assert_eq!(asks(&mut elector, 0), Request::Get);
    elector.answered(Answer::Lease(held_by("", 0), "9".to_owned()), at(1));
    assert!(matches!(asks(&mut elector, 1), Request::Update(..)));
}

#[test]
fn a_leader_that_cannot_renew_stops_acting_and_gives_up() {
    let mut elector = leader();
    let mut now = 0;
    let end = loop {
        match elector.next(at(now)) {
            Step::Ask(..) => {
                // What was sent may be under way still: the lease has to expire by itself.
                assert!(now < 12_000, "nothing is asked once the lease is lost");
                elector.answered(Answer::Failed, at(now));
            }
            Step::Wait(until) => now = (until.as_nanos() - START.as_nanos()) / 1_000_000,
            Step::Over(end) => break end,
        }
        assert_eq!(elector.may_act(at(now)), now < 10_000, "{now}");
    };
    assert_eq!((end, now), (End::Lost, 12_000));
}

#[test]
fn a_leader_that_sees_another_stops_acting_at_once() {
    let mut elector = leader();
    assert!(matches!(asks(&mut elector, 2_000), Request::Update(..)));
    elector.answered(Answer::Failed, at(2_001));
    assert!(elector.may_act(at(2_001)));
    assert_eq!(asks(&mut elector, 2_001), Request::Get);
    let other = Answer::Lease(held_by("b", 2_000), "7".to_owned());
    elector.answered(other, at(2_002));
    assert!(!elector.may_act(at(2_002)) && elector.leader() == Some("b"));
}

#[test]
fn conflicts_are_not_answered_by_a_storm() {
    let mut elector = leader();
    let mut asked = 0;
    for now in 2_000..2_100 {
        while let Step::Ask(request, _) = elector.next(at(now)) {
            asked += 1;
            let answer = match request {
                Request::Get => Answer::Lease(held_by("a", 0), "5".to_owned()),
                _ => Answer::Failed,
            };
            elector.answered(answer, at(now));
        }
    }
    assert_eq!(asked, 3, "a hope, a look, and a try");
}

#[test]
fn who_stops_gives_the_lease_back() {
    let mut elector = leader();
    elector.stop();
    assert!(!elector.may_act(at(1)));
    assert_eq!(asks(&mut elector, 1), Request::Get);
    elector.answered(Answer::Lease(held_by("a", 0), "4".to_owned()), at(2));
    let Request::Update(record, version) = asks(&mut elector, 2) else {
        panic!("it keeps the lease");
    };
    assert_eq!((&*record.holder, record.lease_duration_seconds), ("", 1));
    assert_eq!((record.transitions, &*version), (3, "4"));
    elector.answered(Answer::Lease(record, "5".to_owned()), at(3));
    assert_eq!(elector.next(at(3)), Step::Over(End::Stopped));

    let mut follower = self::elector("b");
    follower.stop();
    assert_eq!(follower.next(at(0)), Step::Over(End::Stopped));
}

#[test]
fn an_answer_that_comes_too_late_is_none() {
    let mut elector = leader();
    let Step::Ask(Request::Update(record, _), until) = elector.next(at(2_000)) else {
        panic!("it does not renew");
    };
    let late = until + Duration::from_millis(1);
    elector.answered(Answer::Lease(record, "2".to_owned()), late);
    assert_eq!(elector.acting_until(), Some(at(10_000)));
}

#[test]
fn a_leader_that_is_stuck_is_found_out() {
    let elector = leader();
    let tolerance = Duration::from_secs(20);
    assert!(!elector.is_stuck(tolerance, at(35_000)));
    assert!(elector.is_stuck(tolerance, at(35_001)));
}
