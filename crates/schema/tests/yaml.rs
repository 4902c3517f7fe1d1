//! YAML is read and written as upstream reads and writes it.

use serde_json::Value;
use std::io::Read;
use stowplan_schema::yaml;

fn fixtures() -> Vec<Value> {
    let compressed = include_bytes!("generated/yaml.jsonl.zst");
    let mut text = String::new();
    ruzstd::decoding::StreamingDecoder::new(&compressed[..])
        .expect("zstd")
        .read_to_string(&mut text)
        .expect("text");
    let read = |line| serde_json::from_str(line).expect("JSON");
    text.lines().map(read).collect()
}

fn read(fixture: &Value) -> Result<(), String> {
    let text = fixture["text"].as_str().unwrap_or_default();
    match (yaml::to_json(text.as_bytes()), fixture["error"].as_str()) {
        (Ok(converted), None) => {
            let made: Value = serde_json::from_slice(&converted.json).expect("JSON");
            if made != fixture["json"] {
                return Err(format!("{text:?}\nmade {made}\nnot  {}", fixture["json"]));
            }
            let strict = fixture["strict"].as_str().unwrap_or_default();
            match converted.problems.concat() == strict {
                true => Ok(()),
                false => Err(format!("{text:?}\n{:?}\n{strict:?}", converted.problems)),
            }
        }
        (Err(error), Some(expected)) if error == expected => Ok(()),
        (Err(error), expected) => Err(format!("{text:?}\nmade {error:?}\nnot  {expected:?}")),
        (Ok(made), Some(expected)) => Err(format!(
            "{text:?}\nmade {}\nnot  {expected:?}",
            String::from_utf8_lossy(&made.json)
        )),
    }
}

#[test]
fn texts_are_read() {
    // A key that merges is written like any other, and so not read back.
    let merges = |f: &&Value| f["written"] == true && f["text"].to_string().contains("<<");
    let wrong: Vec<String> = fixtures()
        .iter()
        .filter(|f| !merges(f))
        .filter_map(|f| read(f).err())
        .collect();
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), wrong.len());
}

#[test]
fn values_are_written() {
    let written = fixtures().into_iter().filter(|f| f["written"] == true);
    let wrong: Vec<String> = written
        .filter(|f| f["text"] != yaml::from_json(&f["json"]).as_str())
        .map(|f| {
            let text = f["text"].as_str().unwrap_or_default();
            let made = yaml::from_json(&f["json"]);
            format!("{}\nmade\n{made}\nnot\n{text}", f["json"])
        })
        .collect();
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), wrong.len());
}
