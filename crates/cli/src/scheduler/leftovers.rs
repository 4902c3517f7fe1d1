//! Flags of kube-scheduler that few people set: one counts, the others change nothing here.

use clap::Args;
use stowplan_config::Duration;

/// The rest of kube-scheduler's flags, as far as a command line may have them.
#[derive(Args, Debug, Default)]
pub(crate) struct Leftovers {
    /// How long a pod that fits nowhere waits before it is tried again although nothing happened
    /// [default: 5m].
    #[arg(long, value_name = "DURATION")]
    pub(crate) pod_max_in_unschedulable_pods_duration: Option<Duration>,

    #[command(flatten)]
    without_effect: WithoutEffect,
}

impl Leftovers {
    /// How long a pod that fits nowhere waits at most.
    pub(crate) fn unschedulable_max(&self) -> Option<std::time::Duration> {
        let nanos = self.pod_max_in_unschedulable_pods_duration?.as_nanos();
        Some(std::time::Duration::from_nanos(
            u64::try_from(nanos).unwrap_or(0),
        ))
    }
}

/// Where the help lists what is put aside.
const ASIDE: &str = "Accepted without effect";

/// Read, so that a command line that has them is understood, and put aside.
#[derive(Args, Debug, Default)]
struct WithoutEffect {
    /// There is no profiling.
    #[arg(
        long,
        help_heading = ASIDE,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_name = "BOOL"
    )]
    contention_profiling: Option<bool>,

    /// Requests are JSON.
    #[arg(long, help_heading = ASIDE, value_name = "TYPE")]
    kube_api_content_type: Option<String>,

    /// Reviews are kept for 10s.
    #[arg(long, help_heading = ASIDE, value_name = "DURATION")]
    authentication_token_webhook_cache_ttl: Option<Duration>,

    /// Reviews are kept for 10s.
    #[arg(long, help_heading = ASIDE, value_name = "DURATION")]
    authorization_webhook_cache_authorized_ttl: Option<Duration>,

    /// Reviews are kept for 10s.
    #[arg(long, help_heading = ASIDE, value_name = "DURATION")]
    authorization_webhook_cache_unauthorized_ttl: Option<Duration>,

    /// The address can always be shared.
    #[arg(
        long,
        help_heading = ASIDE,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_name = "BOOL"
    )]
    permit_address_sharing: Option<bool>,

    /// The secure port has a limit of its own.
    #[arg(long, help_heading = ASIDE, value_name = "NUMBER")]
    http2_max_streams_per_connection: Option<u32>,

    /// Lines are written immediately.
    #[arg(long, help_heading = ASIDE, value_name = "DURATION")]
    log_flush_frequency: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use crate::args::{Cli, Command};
    use clap::{CommandFactory, Parser};
    use std::time::Duration;

    #[test]
    fn flags_that_few_people_set_are_understood() {
        let line = [
            "stowplan",
            "scheduler",
            "--pod-max-in-unschedulable-pods-duration=1m30s",
            "--contention-profiling=false",
            "--kube-api-content-type=application/json",
            "--authentication-token-webhook-cache-ttl=20s",
            "--authorization-webhook-cache-authorized-ttl=20s",
            "--authorization-webhook-cache-unauthorized-ttl=20s",
            "--permit-address-sharing",
            "--http2-max-streams-per-connection=100",
            "--log-flush-frequency=5s",
        ];
        let Command::Scheduler(args) = Cli::try_parse_from(line).unwrap().command else {
            panic!("another command");
        };
        let span = args.leftovers.unschedulable_max();
        assert_eq!(span, Some(Duration::from_secs(90)));
    }

    #[test]
    fn only_what_has_no_effect_is_listed_so() {
        let command = Cli::command();
        let scheduler = command.find_subcommand("scheduler").unwrap();
        let aside = scheduler
            .get_arguments()
            .filter(|arg| arg.get_help_heading().is_some());
        let aside: Vec<_> = aside.filter_map(|arg| arg.get_long()).collect();
        assert_eq!(aside.len(), 8, "{aside:?}");
        assert!(!aside.iter().any(|flag| flag.starts_with("leader-elect")));
    }
}
