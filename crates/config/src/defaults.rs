//! Defaulting beyond what an absent field stands for. Upstream's `apis/config/v1/defaults.go`.

use super::{ClientConnection, Duration, KubeSchedulerConfiguration, LeaderElection, Profile};

impl KubeSchedulerConfiguration {
    /// Fills in what is empty or zero but must not be.
    pub(super) fn set_defaults(&mut self) {
        if self.profiles.is_empty() {
            self.profiles.push(Profile::default());
        }
        // With several profiles each must have a name of its own: validation sees to it.
        if let [profile] = &mut self.profiles[..] {
            profile
                .scheduler_name
                .get_or_insert_with(|| "default-scheduler".to_owned());
        }
        for profile in &mut self.profiles {
            profile.set_queue_sort();
        }
        self.leader_election.set_defaults();
        self.client_connection.set_defaults();
        self.enable_contention_profiling
            .get_or_insert(self.enable_profiling);
    }
}

impl LeaderElection {
    fn set_defaults(&mut self) {
        let defaults = Self::default();
        let span = |value: &mut Duration, default| {
            if *value == Duration::ZERO {
                *value = default;
            }
        };
        span(&mut self.lease_duration, defaults.lease_duration);
        span(&mut self.renew_deadline, defaults.renew_deadline);
        span(&mut self.retry_period, defaults.retry_period);
        fill(&mut self.resource_lock, defaults.resource_lock);
        fill(&mut self.resource_name, defaults.resource_name);
        fill(&mut self.resource_namespace, defaults.resource_namespace);
    }
}

impl ClientConnection {
    fn set_defaults(&mut self) {
        let defaults = Self::default();
        fill(&mut self.content_type, defaults.content_type);
        if self.qps == 0.0 {
            self.qps = defaults.qps;
        }
        if self.burst == 0 {
            self.burst = defaults.burst;
        }
    }
}

fn fill(value: &mut String, default: String) {
    if value.is_empty() {
        *value = default;
    }
}
