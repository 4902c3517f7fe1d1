//! What queues and tenants are told.

use super::*;

impl Machine {
    fn tell(&mut self, out: &mut Out, line: u32, change: impl FnOnce(&mut Line)) {
        let told = &self.lines[line as usize];
        let mut after = Line::new(&told.name);
        (after.named, after.paused) = (told.named, told.paused);
        (after.draining, after.running_max) = (told.draining, told.running_max);
        change(&mut after);
        let name = after.name.clone();
        let record = Record::Queue {
            name: &name,
            named: after.named,
            paused: after.paused,
            draining: after.draining,
            running_max: after.running_max,
        };
        self.emit(out, &record);
    }

    /// The queues of these names; `*` is all that are there now. Unknown ones are left out.
    fn named(&self, names: &[&str]) -> Vec<u32> {
        if names.contains(&"*") {
            let all = self.lines.iter().enumerate().filter(|(_, line)| line.named);
            return all.map(|(at, _)| at as u32).collect();
        }
        let known = names
            .iter()
            .filter_map(|name| self.line_by_name.get(*name).copied());
        known
            .filter(|line| self.lines[*line as usize].named)
            .collect()
    }

    /// Their jobs wait until they are resumed.
    pub fn pause(&mut self, out: &mut Out, names: &[&str]) -> usize {
        let lines = self.named(names);
        for line in &lines {
            self.tell(out, *line, |line| line.paused = true);
        }
        lines.len()
    }

    /// Their jobs go on, and they take new ones.
    pub fn resume(&mut self, out: &mut Out, now: Time, names: &[&str]) -> usize {
        let lines = self.named(names);
        for line in &lines {
            self.tell(out, *line, |line| {
                (line.paused, line.draining) = (false, false)
            });
            self.serve(out, now, *line);
        }
        lines.len()
    }

    /// They take no new jobs; those that are there go on.
    pub fn drain(&mut self, out: &mut Out, names: &[&str]) -> usize {
        let lines = self.named(names);
        for line in &lines {
            self.tell(out, *line, |line| line.draining = true);
        }
        lines.len()
    }

    /// So many of their jobs may run at once; 0 is any number.
    pub fn limit_queue(&mut self, out: &mut Out, now: Time, name: &str, running_max: u32) {
        let line = self.line(name);
        self.tell(out, line, |line| {
            (line.running_max, line.named) = (running_max, true)
        });
        self.serve(out, now, line);
    }

    /// So much may a tenant take of each queue.
    pub fn limit_tenant(&mut self, out: &mut Out, now: Time, name: &str, limits: Limits) {
        let record = Record::Tenant {
            name,
            weight: limits.weight.max(1),
            running_max: limits.running_max,
            rate_milli: (limits.rate.clamp(0.0, 1e12) * 1e3) as u64,
            burst: limits.burst,
        };
        self.emit(out, &record);
        let tenant = self.tenants.intern(name).number();
        let limits = self.limits_of(tenant);
        for line in 0..self.lines.len() {
            self.lines[line].limit(tenant, limits, now);
            self.serve(out, now, line as u32);
        }
    }

    /// They are gone with all that waits in them; what runs goes on.
    pub fn remove_queues(&mut self, out: &mut Out, now: Time, names: &[&str]) {
        for line in self.named(names) {
            self.tell(out, line, |line| {
                (line.named, line.paused, line.draining) = (false, false, false);
            });
            for slot in self.lines[line as usize].empty() {
                let id = self.jobs.at(slot).id;
                self.remove(out, now, slot, id);
            }
        }
    }

    /// Everything is gone.
    pub fn flush(&mut self, out: &mut Out) {
        self.emit(out, &Record::Flush);
    }
}
