//! Conversations that a real Faktory 1.10.0 had, word for word: lines are sent, and the answers are the same but
//! for times. `<jid1>` and the like stand for names that differ from run to run.

use crate::tools::Served;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use stowplan_jobs_server::{Client, Reply};

/// A time of now as `<time>`.
fn without_times(value: &mut Value) {
    match value {
        Value::Object(members) => members.values_mut().for_each(without_times),
        Value::Array(elements) => elements.iter_mut().for_each(without_times),
        Value::String(text)
            if text.len() > 19 && text.as_bytes()[10] == b'T' && &text[..4] > "2025" =>
        {
            *text = "<time>".to_owned();
        }
        _ => {}
    }
}

fn shown(reply: Reply) -> String {
    match reply {
        Reply::Simple(text) => format!("+{text}"),
        Reply::Error(text) => format!("-{text}"),
        Reply::Bulk(None) => "$-1".to_owned(),
        Reply::Bulk(Some(bytes)) => match serde_json::from_slice::<Value>(&bytes) {
            Ok(mut value) => {
                without_times(&mut value);
                format!("${value}")
            }
            Err(_) => format!("${}", String::from_utf8_lossy(&bytes)),
        },
    }
}

fn same(expected: &str, found: &str) -> bool {
    if let Some(start) = expected.strip_suffix('…') {
        return found.starts_with(start);
    }
    let json = |text: &str| serde_json::from_str::<Value>(text.strip_prefix('$')?).ok();
    match (json(expected), json(found)) {
        (Some(expected), Some(found)) => expected == found,
        _ => expected == found,
    }
}

fn converse(text: &str, run: usize, served: &Served) -> Result<(), String> {
    let mut text = text.to_owned();
    for n in 1..10 {
        for (kind, letter) in [("jid", "j"), ("queue", "q"), ("type", "T"), ("wid", "w")] {
            text = text.replace(&format!("<{kind}{n}>"), &format!("{letter}{run:05}x{n:05}"));
        }
    }
    let mut clients: BTreeMap<String, Client> = BTreeMap::new();
    let mut said = None;
    for line in text.lines() {
        let at = line.find(['<', '>']).ok_or("neither said nor heard")?;
        let (who, what) = (&line[..at], &line[at + 2..]);
        if line.as_bytes()[at] == b'>' {
            let client = clients.entry(who.to_owned());
            let wid = who.starts_with('w').then(|| format!("{who}-{run}"));
            let client = client.or_insert_with(|| served.client(wid.as_deref()));
            said = Some(shown(
                client
                    .call(what)
                    .map_err(|error| format!("{what}: {error}"))?,
            ));
            continue;
        }
        let found = said.take().ok_or("heard what was not said")?;
        if !same(what, &found) {
            return Err(format!("expected {what}\nfound    {found}"));
        }
    }
    Ok(())
}

#[test]
fn answers_are_those_of_a_real_faktory() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/conversations");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() >= 25);
    let served = Served::new(None);
    for (run, file) in files.iter().enumerate() {
        let text = std::fs::read_to_string(file).unwrap();
        if let Err(problem) = converse(&text, run, &served) {
            panic!("{}:\n{problem}", file.display());
        }
    }
}

#[test]
fn a_password_is_asked_for() {
    let served = Served::new(Some("secret"));
    let address = served.address.to_string();
    assert!(Client::connect(&address, Some("secret"), None).is_ok());
    let refused = Client::connect(&address, Some("Secret"), None)
        .err()
        .unwrap();
    assert_eq!(refused.to_string(), "ERR Invalid password");
}

#[test]
fn what_faktory_sells_is_here() {
    let served = Served::new(None);
    let mut c = served.client(None);
    let mut w = served.client(Some("worker-1"));
    let job = |jid: &str, custom: &str| {
        format!(r#"PUSH {{"jid":"{jid}","jobtype":"T","args":[1],"queue":"q","custom":{custom}}}"#)
    };
    let ok = Reply::Simple("OK".to_owned());
    // Unique jobs: until they succeeded.
    assert_eq!(
        c.call(&job("unique-01", r#"{"unique_for":60}"#)).unwrap(),
        ok
    );
    let clash = c.call(&job("unique-02", r#"{"unique_for":60}"#)).unwrap();
    assert_eq!(
        clash,
        Reply::Error("NOTUNIQUE Job not unique: unique-01 is queued".to_owned())
    );
    w.call("FETCH q").unwrap();
    w.call(r#"ACK {"jid":"unique-01"}"#).unwrap();
    assert_eq!(
        c.call(&job("unique-03", r#"{"unique_for":60}"#)).unwrap(),
        ok
    );
    c.call("QUEUE REMOVE q").unwrap();
    // Expiring jobs are not run.
    assert_eq!(
        c.call(&job(
            "expired-1",
            r#"{"expires_at":"2020-01-01T00:00:00Z"}"#
        ))
        .unwrap(),
        ok
    );
    assert_eq!(w.call("FETCH q").unwrap(), Reply::Bulk(None));
    // Progress.
    assert_eq!(c.call(&job("tracked-1", r#"{"track":1}"#)).unwrap(), ok);
    w.call("FETCH q").unwrap();
    assert_eq!(
        w.call(r#"TRACK SET {"jid":"tracked-1","percent":40,"desc":"on it"}"#)
            .unwrap(),
        ok
    );
    let told = c.ask("TRACK GET tracked-1").unwrap();
    assert_eq!(
        (&told["percent"], &told["state"], &told["desc"]),
        (&40.into(), &"working".into(), &"on it".into())
    );
    w.call(r#"ACK {"jid":"tracked-1"}"#).unwrap();
    assert_eq!(c.ask("TRACK GET tracked-1").unwrap()["state"], "success");
    // Batches.
    let new = r#"BATCH NEW {"description":"d","success":{"jid":"callback-1","jobtype":"C","args":[],"queue":"q"}}"#;
    let Reply::Bulk(Some(bid)) = c.call(new).unwrap() else {
        panic!("no batch")
    };
    let bid = String::from_utf8(bid).unwrap();
    assert_eq!(
        c.call(&job("batched-1", &format!(r#"{{"bid":"{bid}"}}"#)))
            .unwrap(),
        ok
    );
    assert_eq!(c.call(&format!("BATCH COMMIT {bid}")).unwrap(), ok);
    for jid in ["batched-1", "callback-1"] {
        assert_eq!(w.ask("FETCH q").unwrap()["jid"], *jid);
        w.call(&format!(r#"ACK {{"jid":"{jid}"}}"#)).unwrap();
    }
    let status = c.ask(&format!("BATCH STATUS {bid}")).unwrap();
    assert_eq!(
        (&status["pending"], &status["success_st"]),
        (&0.into(), &"2".into())
    );
    // Periodic entries.
    let entry = r#"CRON SET {"name":"e","schedule":"@every 1s","job":{"jobtype":"P","args":[7],"queue":"p"}}"#;
    assert_eq!(c.call(entry).unwrap(), ok);
    let launched = w.ask("FETCH p").unwrap();
    assert_eq!(
        (&launched["jobtype"], &launched["args"]),
        (&"P".into(), &serde_json::json!([7]))
    );
    assert_eq!(c.call("CRON REMOVE e").unwrap(), ok);
}

#[test]
fn errors_are_kept_grouped_and_redriven() {
    let served = Served::new(None);
    let mut c = served.client(None);
    let mut w = served.client(Some("worker-1"));
    for n in 0..6 {
        let push = format!(
            r#"PUSH {{"jid":"failing-{n}","jobtype":"T","args":[],"queue":"q","retry":-1}}"#
        );
        c.call(&push).unwrap();
        w.ask("FETCH q").unwrap();
        let kind = ["Timeout", "Timeout", "Boom"][n % 3];
        let fail = format!(
            r#"FAIL {{"jid":"failing-{n}","errtype":"{kind}","message":"after {n} s","backtrace":["a"]}}"#
        );
        w.call(&fail).unwrap();
    }
    let errors = c.ask(r#"STOWPLAN {"op":"errors"}"#).unwrap();
    assert_eq!(
        (&errors[0]["jobs"], &errors[0]["errtype"]),
        (&4.into(), &"Timeout".into())
    );
    assert_eq!(errors[1]["jobs"], 2);
    let fingerprint = errors[0]["fingerprint"].as_str().unwrap();
    let dry =
        format!(r#"STOWPLAN {{"op":"redrive","fingerprint":"{fingerprint}","dry_run":true}}"#);
    assert_eq!(c.ask(&dry).unwrap()["jobs"], 4);
    let now = format!(r#"STOWPLAN {{"op":"redrive","fingerprint":"{fingerprint}"}}"#);
    assert_eq!(c.ask(&now).unwrap()["jobs"], 4);
    let again = w.ask("FETCH q").unwrap();
    assert_eq!(again["failure"]["message"], "after 0 s");
    let shown = c
        .ask(r#"STOWPLAN {"op":"show","jid":"failing-0"}"#)
        .unwrap();
    assert_eq!(
        (&shown[0]["state"], &shown[0]["errors"][0]["errtype"]),
        (&"working".into(), &"Timeout".into())
    );
    // MUTATE finds what is left by a pattern over the job.
    let left = c.call(
        r#"MUTATE {"cmd":"discard","target":"dead","filter":{"regexp":"*\"errtype\":\"Boom\"*"}}"#,
    );
    assert_eq!(left.unwrap(), Reply::Simple("OK".to_owned()));
    assert_eq!(c.ask("INFO").unwrap()["faktory"]["sets"]["dead"], 0);
}
