//! Bad input: the protocol's own error, no panic, and nobody else notices.

use crate::tools::{Served, settings};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use stowplan_base::Rng;
use stowplan_jobs_server::{Client, Reply, ServeSettings};

#[test]
fn noise_does_no_harm() {
    let served = Served::new(None);
    let mut rng = Rng::new(7);
    let verbs = [
        "PUSH", "PUSHB", "FETCH", "ACK", "FAIL", "BEAT", "INFO", "QUEUE", "MUTATE", "BATCH",
        "TRACK", "CRON", "STOWPLAN", "FLUSH", "", "push",
    ];
    let parts = [
        "{",
        "}",
        "[",
        "]",
        "\"jid\"",
        ":",
        ",",
        "\"12345678\"",
        "null",
        "1e999",
        "\"\\ud800\"",
        "NEW",
        "SET",
        "GET",
        "PAUSE",
        "*",
        " ",
        "\"job\"",
        "-1",
        "{\"cmd\":\"kill\",\"target\":\"dead\"}",
        "\u{1}",
        "é",
        "\"op\"",
        "\"list\"",
        "{\"op\":\"list\"}",
        "[[[[",
        "\"at\":\"9999-12-31T23:59:59Z\"",
    ];
    let mut client = served.client(Some("noise"));
    for _ in 0..5_000 {
        let mut line = verbs[rng.below(verbs.len())].to_owned();
        for _ in 0..rng.below(8) {
            line.push(' ');
            line.push_str(parts[rng.below(parts.len())]);
        }
        if line.starts_with("FETCH") {
            continue;
        }
        client.call(&line).unwrap();
    }
    let answer = client.call("PUSH {").unwrap();
    assert!(matches!(answer, Reply::Error(text) if text.starts_with("ERR invalid JSON")));
}

#[test]
fn a_line_without_end_and_a_client_that_does_not_read_are_bounded() {
    let served = Served::on(
        Arc::new(crate::disk::Memory::default()),
        ServeSettings {
            line_max: 1 << 20,
            ..settings()
        },
    );
    let mut endless = served.client(None);
    let written = (0..64).try_for_each(|_| endless.call_raw(&[b'x'; 1 << 16]));
    let closed = written.is_err() || endless.call("INFO").is_err();
    assert!(closed, "a line of 4 MiB");
    let mut greedy = served.client(None);
    greedy
        .call(&format!(
            r#"PUSH {{"jid":"12345678","jobtype":"T","args":["{}"]}}"#,
            "x".repeat(100_000)
        ))
        .unwrap();
    for _ in 0..1_000 {
        greedy.call_raw(b"INFO\r\n").unwrap();
    }
    // Others are served meanwhile.
    assert!(served.client(None).ask("INFO").is_ok());
}

#[test]
fn a_thousand_connections_come_and_go() {
    let served = Served::new(None);
    let mut clients: Vec<Client> = (0..1_000)
        .map(|n| served.client(Some(&format!("w{n}"))))
        .collect();
    let info = clients[0].ask("INFO").unwrap();
    assert_eq!(info["faktory"]["tasks"]["Workers"]["size"], 1_000);
    for client in &mut clients {
        client.call_raw(b"FETCH nothing\r\n").unwrap();
    }
    drop(clients);
    let mut client = served.client(None);
    while client.ask("INFO").unwrap()["faktory"]["tasks"]["Workers"]["size"] != 0 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // None of those who left in a FETCH gets the job.
    client
        .call(r#"PUSH {"jid":"12345678","jobtype":"T","args":[],"queue":"nothing"}"#)
        .unwrap();
    assert_eq!(client.ask("FETCH nothing").unwrap()["jid"], "12345678");
}

#[test]
fn commands_may_come_in_one_piece_or_in_many() {
    let served = Served::new(None);
    let mut socket = TcpStream::connect(served.address).unwrap();
    let mut all = b"HELLO {\"v\":2}\r\n".to_vec();
    for n in 0..200 {
        let push = format!(
            "PUSH {{\"jid\":\"pipelined-{n}\",\"jobtype\":\"T\",\"args\":[],\"queue\":\"q\"}}\n"
        );
        all.extend_from_slice(push.as_bytes());
        all.extend_from_slice(b"FETCH q\r\n");
    }
    let mut rng = Rng::new(3);
    let mut rest = &all[..];
    while !rest.is_empty() {
        let (part, later) = rest.split_at((1 + rng.below(3_000)).min(rest.len()));
        socket.write_all(part).unwrap();
        rest = later;
    }
    socket.write_all(b"END\n").unwrap();
    let mut heard = String::new();
    socket.read_to_string(&mut heard).unwrap();
    assert_eq!(heard.matches("+OK").count(), 201);
    let places: Vec<_> = (0..200)
        .map(|n| heard.find(&format!("\"pipelined-{n}\"")).unwrap())
        .collect();
    assert!(places.is_sorted());
}

#[test]
fn a_name_with_ends_of_lines_makes_no_answer_of_its_own() {
    let served = Served::new(None);
    let mut client = served.client(None);
    let push =
        r#"PUSH {"jid":"1234567\r\n+OK\r\n","jobtype":"T","args":[],"custom":{"unique_for":60}}"#;
    client.call(push).unwrap();
    let second = client.call(push).unwrap();
    assert!(matches!(second, Reply::Error(text) if text.starts_with("NOTUNIQUE")));
    assert!(client.ask("INFO").unwrap()["faktory"].is_object());
}

#[test]
fn a_pushb_of_too_many_jobs_is_refused_as_a_whole() {
    let served = Served::new(None);
    let mut client = served.client(None);
    let jobs = vec!["{}"; 100_001].join(",");
    let answer = client.call(&format!("PUSHB [{jobs}]")).unwrap();
    assert_eq!(
        answer,
        Reply::Error("ERR PUSHB takes at most 100000 jobs".to_owned())
    );
}

/// What comes after a FETCH that waits is kept, and its lines are not moved one by one.
#[test]
fn hundreds_of_thousands_of_commands_wait_behind_a_fetch() {
    let served = Served::new(None);
    let mut waiting = served.client(None);
    waiting.call_raw(b"FETCH nothing\r\n").unwrap();
    let lines = 400_000;
    waiting.call_raw(&b"QUEUE\n".repeat(lines)).unwrap();
    let push = r#"PUSH {"jid":"12345678","jobtype":"T","args":[],"queue":"nothing"}"#;
    served.client(None).call(push).unwrap();
    let began = std::time::Instant::now();
    for n in 0..=lines {
        let answer = waiting.hear().unwrap();
        assert_eq!(matches!(answer, Reply::Error(_)), n > 0);
    }
    // The time grows with the number of lines, not with its square.
    assert!(began.elapsed().as_secs() < 30);
}
