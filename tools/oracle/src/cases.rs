//! Reading case files.

use anyhow::{Context, Result};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// The cases of a `.jsonl` or `.jsonl.zst` file, one by one.
pub fn read(path: &Path) -> Result<impl Iterator<Item = Result<Value>>> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let reader: Box<dyn Read> = if path.extension().is_some_and(|ext| ext == "zst") {
        let decoder = ruzstd::decoding::StreamingDecoder::new(file)
            .with_context(|| format!("{}: not a zstd file", path.display()))?;
        Box::new(decoder)
    } else {
        Box::new(file)
    };
    let name = path.display().to_string();
    Ok(BufReader::new(reader)
        .lines()
        .enumerate()
        .map(move |(i, line)| {
            let at = || format!("{name}, line {}", i + 1);
            let line = line.with_context(at)?;
            serde_json::from_str(&line).with_context(at)
        }))
}
