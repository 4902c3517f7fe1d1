//! Serves jobs: `serve ADDRESS FOLDER [PASSWORD]`.

use std::path::Path;
use std::sync::Arc;
use stowplan_env::System;
use stowplan_jobs_server::log::Folder;
use stowplan_jobs_server::{Password, ServeSettings, Server};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let folder = Folder::open(Path::new(&args[2]))?;
    let settings = ServeSettings {
        password: args.get(3).cloned().map(Password),
        ..ServeSettings::default()
    };
    let server = Server::bind(
        args[1].parse()?,
        Arc::new(folder),
        settings,
        Arc::new(System::new()),
    )?;
    println!("listening on {}", server.address()?);
    server.serve()?;
    Ok(())
}
