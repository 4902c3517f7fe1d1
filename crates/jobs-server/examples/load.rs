//! Loads a job server: `load ADDRESS push|work|both CONNECTIONS JOBS [BATCH] [PIPELINE]`.

use stowplan_jobs_server::bench::{Load, LoadSettings, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let number = |at: usize, or: u64| args.get(at).map_or(Ok(or), |text| text.parse());
    let settings = LoadSettings {
        load: match &*args[2] {
            "push" => Load::Push,
            "work" => Load::Work,
            _ => Load::Both,
        },
        connections: number(3, 64)? as usize,
        jobs: number(4, 100_000)?,
        batch: number(5, 1)?,
        pipeline: number(6, 1)? as usize,
        bytes: 10,
        queue: "bench".to_owned(),
        password: None,
    };
    let result = run(args[1].parse()?, &settings)?;
    let rate = result.pushed.max(result.worked) as f64 / result.took.as_secs_f64();
    println!(
        "{} {} connections: {rate:.0} jobs/s {result:?}",
        args[2], settings.connections
    );
    Ok(())
}
