//! Flags of long-running commands for logs and traces.

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use stowplan_scheduler::server::Collector;
use stowplan_telemetry::{LogFormat, Logs};

/// What is logged, and where traces go.
#[derive(Args, Debug, Default)]
pub(crate) struct TelemetryArgs {
    /// How much to log on standard error: 4 and more for debugging, 6 and more for everything.
    #[arg(short = 'v', long = "v", default_value_t = 0, value_name = "LEVEL")]
    verbosity: u8,

    /// The format of the log.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    logging_format: LoggingFormat,

    /// Send a trace of each scheduling attempt and binding to this OpenTelemetry collector, by OTLP
    /// over HTTP or HTTPS, for example http://localhost:4318 [default: OTEL_EXPORTER_OTLP_ENDPOINT,
    /// else none].
    #[arg(long, value_name = "URL")]
    otlp_endpoint: Option<http::Uri>,

    /// The CA of the collector's certificate, in PEM [default: OTEL_EXPORTER_OTLP_CERTIFICATE, else
    /// the CAs that the system trusts].
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    otlp_certificate: Option<PathBuf>,
}

/// How lines of the log look.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum LoggingFormat {
    /// For people.
    #[default]
    Text,
    /// For machines.
    Json,
}

impl TelemetryArgs {
    /// Starts logging.
    pub(crate) fn begin(&self) {
        let format = match self.logging_format {
            LoggingFormat::Text => LogFormat::Text,
            LoggingFormat::Json => LogFormat::Json,
        };
        Logs::new(format, self.verbosity).install();
    }

    /// Where traces go, by the command line or the environment.
    pub(crate) fn collector(&self) -> Result<Option<Collector>> {
        let Some(url) = self.endpoint()? else {
            return Ok(None);
        };
        let variable = std::env::var_os("OTEL_EXPORTER_OTLP_CERTIFICATE");
        let variable = variable.filter(|file| !file.is_empty()).map(PathBuf::from);
        let file = self.otlp_certificate.clone().or(variable);
        let told = |file: &PathBuf| format!("--otlp-certificate: cannot read {}", file.display());
        let read = |file: PathBuf| std::fs::read_to_string(&file).with_context(|| told(&file));
        let ca_pem = file.map(read).transpose()?;
        Ok(Some(Collector { url, ca_pem }))
    }

    fn endpoint(&self) -> Result<Option<http::Uri>> {
        const VARIABLE: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
        let fits = |url: &http::Uri| {
            matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some()
        };
        let wanted = "traces can be sent to a URL that begins with http:// or https:// only";
        match (&self.otlp_endpoint, std::env::var(VARIABLE)) {
            (Some(url), _) if fits(url) => Ok(Some(url.clone())),
            (Some(url), _) => bail!("{wanted}, not to {url}"),
            // What was set for all programs alike is no reason not to start.
            (None, Ok(text)) if !text.is_empty() => {
                let url = text.parse().ok().filter(fits);
                if url.is_none() {
                    let what = format!("no traces are sent: {wanted}; {VARIABLE} is {text:?}");
                    crate::output::warn(what);
                }
                Ok(url)
            }
            (None, _) => Ok(None),
        }
    }
}
