//! Which connections stay open.

use super::*;
use std::time::Duration;

fn connections(unauthenticated: usize, of_address: usize) -> Arc<Connections> {
    Connections::new(Limits {
        authenticated: 2,
        unauthenticated,
        unauthenticated_per_address: of_address,
        ..Limits::default()
    })
}

fn ip(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

/// Whether somebody else needs the slot.
fn is_displaced(slot: &Slot) -> bool {
    !slot.connections.open().closers.contains_key(&slot.id) && !slot.activity().authenticated
}

#[test]
fn the_oldest_idle_connection_is_closed_first() {
    let connections = connections(3, 3);
    let slots: Vec<_> = (0..3).map(|i| connections.add(ip(i))).collect();
    let _asking = slots[0].begin_request();
    let fourth = connections.add(ip(4));
    let gone: Vec<_> = slots.iter().map(|slot| is_displaced(slot)).collect();
    assert_eq!(gone, [false, true, false]);
    // A request that is over, body and all, makes it idle again; it opened before the others.
    drop(_asking);
    let _fifth = connections.add(ip(5));
    assert!(is_displaced(&slots[0]) && !is_displaced(&fourth));
    assert_eq!(connections.open().unauthenticated.len(), 3);
}

#[test]
fn somebody_goes_even_if_all_are_asking() {
    let connections = connections(2, 2);
    let slots: Vec<_> = (0..2).map(|i| connections.add(ip(i))).collect();
    let active: Vec<_> = slots.iter().map(Slot::begin_request).collect();
    let _third = connections.add(ip(3));
    assert!(is_displaced(&slots[0]) && !is_displaced(&slots[1]));
    drop(active);
    drop(slots);
    assert_eq!(connections.open().unauthenticated.len(), 1);
}

#[test]
fn an_address_that_takes_up_its_share_disslots_its_own_only() {
    let connections = connections(100, 2);
    let other = connections.add(ip(1));
    let flood: Vec<_> = (0..50).map(|_| connections.add(ip(2))).collect();
    assert!(!is_displaced(&other));
    let left = flood.iter().filter(|slot| !is_displaced(slot)).count();
    assert_eq!(left, 2);
    drop(flood);
    assert_eq!(
        connections.open().by_address.len(),
        1,
        "nothing is left of it"
    );
    let network = |host: u16| IpAddr::from([0x2001, 0xdb8, 0, 1, host, 0, 0, 1]);
    let first = connections.add(network(1));
    let _more = [connections.add(network(2)), connections.add(network(3))];
    assert!(is_displaced(&first));
}

#[test]
fn an_authenticated_client_stays_while_there_is_room() {
    let connections = connections(2, 2);
    let authenticated: Vec<_> = (0..3).map(|_| connections.add(ip(1))).collect::<Vec<_>>();
    for slot in &authenticated {
        slot.authenticate(None);
        slot.authenticate(None);
    }
    // The first was sent away before it was authenticated.
    assert!(is_displaced(&authenticated[0]));
    assert_eq!(connections.open().authenticated, 2);
    let late = connections.add(ip(1));
    late.authenticate(None);
    assert!(!late.activity().authenticated, "there is no room");
    let flood: Vec<_> = (0..50).map(|_| connections.add(ip(1))).collect();
    assert!(is_displaced(&late));
    assert!(!is_displaced(&authenticated[1]) && !is_displaced(&authenticated[2]));
    drop(authenticated);
    flood[49].authenticate(None);
    assert_eq!(connections.open().authenticated, 1);
}

#[test]
fn nobody_takes_all_the_room_of_the_authenticated() {
    let connections = Connections::new(Limits {
        authenticated: 8,
        ..Limits::default()
    });
    let greedy: Vec<_> = (0..20).map(|_| connections.add(ip(1))).collect();
    greedy
        .iter()
        .for_each(|p| p.authenticate(Some("greedy".into())));
    assert_eq!(connections.open().authenticated, 4, "half of it");
    let other = connections.add(ip(1));
    other.authenticate(Some("other".into()));
    assert!(other.activity().authenticated);
    drop((greedy, other));
    assert!(connections.open().authenticated_of.is_empty());
}

#[tokio::test(start_paused = true)]
async fn there_is_less_time_in_a_crowd() {
    let limits = Limits::default();
    let connections = connections(4, 4);
    let first = connections.add(ip(1));
    let start = Instant::now();
    first.first_request_overdue().await;
    assert_eq!(start.elapsed(), limits.header_time);
    let _others: Vec<_> = (0..2).map(|_| connections.add(ip(1))).collect();
    let late = connections.add(ip(1));
    let start = Instant::now();
    late.first_request_overdue().await;
    assert_eq!(start.elapsed(), limits.header_time_crowded);
    let authenticated = connections.add(ip(1));
    authenticated.authenticate(None);
    let start = Instant::now();
    authenticated.first_request_overdue().await;
    assert_eq!(start.elapsed(), limits.header_time);
    // Who has asked is not sent away for that.
    drop(late.begin_request());
    let idle_timeout =
        tokio::time::timeout(Duration::from_secs(3600), late.first_request_overdue()).await;
    assert!(idle_timeout.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_request_under_way_is_no_rest() {
    let limits = Limits::default();
    let slot = connections(4, 4).add(ip(1));
    let active = slot.begin_request();
    let idle_timeout = tokio::time::timeout(Duration::from_secs(3600), slot.idle_timeout()).await;
    assert!(idle_timeout.is_err());
    drop(active);
    let start = Instant::now();
    slot.idle_timeout().await;
    assert!(start.elapsed() <= limits.idle_time + Duration::from_millis(2));
}
