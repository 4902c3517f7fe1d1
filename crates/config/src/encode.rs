//! The configuration in use, for those who ask the running scheduler (`/configz`).

use super::KubeSchedulerConfiguration;
use serde_json::{Value, json};

impl KubeSchedulerConfiguration {
    /// The configuration as a `kubescheduler.config.k8s.io/v1` object, without what is not set.
    pub fn to_json(&self) -> Value {
        let mut object = json!({
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
        });
        if let (Value::Object(object), Ok(Value::Object(mut fields))) =
            (&mut object, serde_json::to_value(self))
        {
            fields.values_mut().for_each(prune);
            object.extend(fields.into_iter().filter(|(_, value)| !is_unset(value)));
        }
        object
    }
}

/// Takes out what is not set, at any depth.
fn prune(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(prune);
            fields.retain(|_, value| !is_unset(value));
        }
        Value::Array(items) => items.iter_mut().for_each(prune),
        _ => {}
    }
}

fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::KubeSchedulerConfiguration;
    use crate::tests::load;
    use serde_json::json;

    #[test]
    fn what_is_in_use_is_told_and_can_be_read_again() {
        let text = "leaderElection: {leaseDuration: 30s}\n\
                    profiles: [{schedulerName: a, plugins: {score: {disabled: [{name: '*'}]}}, \
                    pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: 7}}]}]";
        let config = load(text).unwrap();
        let told = config.to_json();
        assert_eq!(told["kind"], "KubeSchedulerConfiguration");
        assert_eq!(told["leaderElection"]["leaseDuration"], "30s");
        assert_eq!(told["podMaxBackoffSeconds"], 10);
        let score = json!({"disabled": [{"name": "*", "weight": 0}]});
        assert_eq!(told["profiles"][0]["plugins"], json!({ "score": score }));
        let args = &told["profiles"][0]["pluginConfig"];
        let of_ours = args.as_array().unwrap().iter();
        let of_ours = of_ours.filter(|entry| entry["name"] == "VolumeBinding");
        let args: Vec<_> = of_ours.map(|entry| &entry["args"]).collect();
        assert_eq!(args, [&json!({"bindTimeoutSeconds": 7})]);
        let again = KubeSchedulerConfiguration::from_text(&told.to_string()).unwrap();
        assert_eq!(again.to_json(), told);
    }
}
