//! What a worker is told of its lease stays true when power fails.

use crate::disk::Memory;
use crate::tools::{Served, settings};
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::Rng;

/// Takes a job; the token of its lease.
fn lease(served: &Served, jid: &str) -> u64 {
    let mut client = served.client(None);
    let push = format!(r#"PUSH {{"jid":"{jid}","jobtype":"T","args":[],"queue":"q"}}"#);
    client.ask(&push).unwrap();
    let jid = client.ask("FETCH q").unwrap()["jid"].clone();
    let show = format!(r#"STOWPLAN {{"op":"show","jid":{jid}}}"#);
    let told = client.ask(&show).unwrap();
    told[0]["lease"]["token"].as_str().unwrap().parse().unwrap()
}

#[test]
fn no_token_is_given_twice_when_power_fails() {
    let disk = Memory::default();
    let served = Served::on(Arc::new(disk.clone()), settings());
    let began = disk.changes();
    let mut last = 0;
    for n in 0..5 {
        last = lease(&served, &format!("leased-{n}"));
    }
    let mut rng = Rng::new(1);
    for at in began..=disk.changes() {
        let after = disk.after_power_loss(at, &mut rng);
        let again = Served::on(Arc::new(after), settings());
        assert!(lease(&again, "leased-later") > last, "power failed at {at}");
    }
}

#[test]
fn leases_become_durable_although_nobody_waits_for_that() {
    let disk = Memory::default();
    let served = Served::on(Arc::new(disk.clone()), settings());
    lease(&served, "leased-1");
    for _ in 0..500 {
        if disk.is_synced() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("not durable after 5 s");
}

#[test]
fn progress_of_who_has_no_lease_any_more_does_not_count() {
    let served = Served::new(None);
    let mut first = served.client(Some("w1"));
    let push =
        r#"PUSH {"jid":"12345678","jobtype":"T","args":[],"queue":"q","custom":{"track":1}}"#;
    first.ask(push).unwrap();
    first.ask("FETCH q").unwrap();
    let set = r#"TRACK SET {"jid":"12345678","percent":50}"#;
    first.ask(set).unwrap();
    let late = r#"TRACK SET {"jid":"12345678","percent":90,"token":"1"}"#;
    let refused = first.ask(late).unwrap_err();
    assert_eq!(refused.to_string(), "ERR lease expired 12345678");
    let mut second = served.client(Some("w2"));
    let other = r#"TRACK SET {"jid":"12345678","percent":10}"#;
    assert!(second.ask(other).is_err());
    assert_eq!(second.ask("TRACK GET 12345678").unwrap()["percent"], 50);
}
