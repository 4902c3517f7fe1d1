//! Who stays and who goes.

use super::*;
use std::time::Duration;

fn room(strangers: usize, of_address: usize) -> Arc<Room> {
    Room::new(Limits {
        known: 2,
        strangers,
        strangers_of_address: of_address,
        ..Limits::default()
    })
}

fn ip(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

/// Whether somebody else needs the place.
fn is_sent_away(place: &Place) -> bool {
    !place.room.guests().doors.contains_key(&place.id) && !place.conduct().known
}

#[test]
fn the_oldest_stranger_that_asks_for_nothing_goes_first() {
    let room = room(3, 3);
    let places: Vec<_> = (0..3).map(|i| room.enter(ip(i))).collect();
    let _asking = places[0].ask();
    let fourth = room.enter(ip(4));
    let gone: Vec<_> = places.iter().map(|place| is_sent_away(place)).collect();
    assert_eq!(gone, [false, true, false]);
    // A request that is over, body and all, makes it silent again; it came before the others.
    drop(_asking);
    let _fifth = room.enter(ip(5));
    assert!(is_sent_away(&places[0]) && !is_sent_away(&fourth));
    assert_eq!(room.guests().strangers.len(), 3);
}

#[test]
fn somebody_goes_even_if_all_are_asking() {
    let room = room(2, 2);
    let places: Vec<_> = (0..2).map(|i| room.enter(ip(i))).collect();
    let asking: Vec<_> = places.iter().map(Place::ask).collect();
    let _third = room.enter(ip(3));
    assert!(is_sent_away(&places[0]) && !is_sent_away(&places[1]));
    drop(asking);
    drop(places);
    assert_eq!(room.guests().strangers.len(), 1);
}

#[test]
fn an_address_that_takes_up_its_share_displaces_its_own_only() {
    let room = room(100, 2);
    let other = room.enter(ip(1));
    let flood: Vec<_> = (0..50).map(|_| room.enter(ip(2))).collect();
    assert!(!is_sent_away(&other));
    let left = flood.iter().filter(|place| !is_sent_away(place)).count();
    assert_eq!(left, 2);
    drop(flood);
    assert_eq!(room.guests().by_address.len(), 1, "nothing is left of it");
    let network = |host: u16| IpAddr::from([0x2001, 0xdb8, 0, 1, host, 0, 0, 1]);
    let first = room.enter(network(1));
    let _more = [room.enter(network(2)), room.enter(network(3))];
    assert!(is_sent_away(&first));
}

#[test]
fn who_is_known_stays_while_there_is_room() {
    let room = room(2, 2);
    let known: Vec<_> = (0..3).map(|_| room.enter(ip(1))).collect::<Vec<_>>();
    for place in &known {
        place.welcome(None);
        place.welcome(None);
    }
    // The first was sent away before it was welcome.
    assert!(is_sent_away(&known[0]));
    assert_eq!(room.guests().known, 2);
    let late = room.enter(ip(1));
    late.welcome(None);
    assert!(!late.conduct().known, "there is no room");
    let flood: Vec<_> = (0..50).map(|_| room.enter(ip(1))).collect();
    assert!(is_sent_away(&late));
    assert!(!is_sent_away(&known[1]) && !is_sent_away(&known[2]));
    drop(known);
    flood[49].welcome(None);
    assert_eq!(room.guests().known, 1);
}

#[test]
fn nobody_takes_all_the_room_of_the_known() {
    let room = Room::new(Limits {
        known: 8,
        ..Limits::default()
    });
    let greedy: Vec<_> = (0..20).map(|_| room.enter(ip(1))).collect();
    greedy.iter().for_each(|p| p.welcome(Some("greedy".into())));
    assert_eq!(room.guests().known, 4, "half of it");
    let other = room.enter(ip(1));
    other.welcome(Some("other".into()));
    assert!(other.conduct().known);
    drop((greedy, other));
    assert!(room.guests().known_of.is_empty());
}

#[tokio::test(start_paused = true)]
async fn there_is_less_time_in_a_crowd() {
    let limits = Limits::default();
    let room = room(4, 4);
    let first = room.enter(ip(1));
    let start = Instant::now();
    first.never_asks().await;
    assert_eq!(start.elapsed(), limits.header_time);
    let _others: Vec<_> = (0..2).map(|_| room.enter(ip(1))).collect();
    let late = room.enter(ip(1));
    let start = Instant::now();
    late.never_asks().await;
    assert_eq!(start.elapsed(), limits.header_time_crowded);
    let known = room.enter(ip(1));
    known.welcome(None);
    let start = Instant::now();
    known.never_asks().await;
    assert_eq!(start.elapsed(), limits.header_time);
    // Who has asked is not sent away for that.
    drop(late.ask());
    let rests = tokio::time::timeout(Duration::from_secs(3600), late.never_asks()).await;
    assert!(rests.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_request_under_way_is_no_rest() {
    let limits = Limits::default();
    let place = room(4, 4).enter(ip(1));
    let asking = place.ask();
    let rests = tokio::time::timeout(Duration::from_secs(3600), place.rests()).await;
    assert!(rests.is_err());
    drop(asking);
    let start = Instant::now();
    place.rests().await;
    assert!(start.elapsed() <= limits.idle_time + Duration::from_millis(2));
}
