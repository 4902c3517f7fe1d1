//! How the end of a process is told.
//!
//! Upstream: `v1WriteStatusFunc`, `v4WriteStatusFunc` and `codeExitToStatusError`.

use super::channels::Protocol;
use crate::provider::Outcome;
use serde_json::{Map, Value, json};
use stowplan_apimachinery::Status;

/// What is written on the error channel; nothing where silence is success.
pub(super) fn told(protocol: Protocol, outcome: &Outcome) -> Option<Vec<u8>> {
    if let Protocol::Unversioned { .. } = protocol {
        return match outcome {
            Outcome::Exited(0) => None,
            Outcome::Exited(code) => Some(exited(*code).into_bytes()),
            Outcome::Failed(status) => Some(status.message.clone().into_bytes()),
        };
    }
    let mut status = match outcome {
        Outcome::Exited(0) => json!({"status": "Success"}),
        Outcome::Exited(code) => json!({
            "status": "Failure",
            "message": exited(*code),
            "reason": "NonZeroExitCode",
            "details": {"causes": [{"reason": "ExitCode", "message": byte(*code).to_string()}]},
        }),
        Outcome::Failed(status) => failed(status),
    };
    if protocol == Protocol::V5 {
        status["metadata"] = json!({});
    }
    Some(status.to_string().into_bytes())
}

/// Clients take nothing but what fits into a byte.
fn byte(code: i32) -> i32 {
    match code & 0xff {
        // What is not zero stays so.
        0 => 255,
        byte => byte,
    }
}

fn exited(code: i32) -> String {
    let code = byte(code);
    format!("command terminated with non-zero exit code: command terminated with exit code {code}")
}

/// Of a Status that is a failure, what is told on the error channel.
fn failed(status: &Status) -> Value {
    let whole = status.to_json();
    let mut told = Map::new();
    for field in ["status", "message", "reason", "details", "code"] {
        if let Some(value) = whole.get(field) {
            told.insert(field.to_owned(), value.clone());
        }
    }
    Value::Object(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(protocol: Protocol, outcome: &Outcome) -> String {
        String::from_utf8(told(protocol, outcome).unwrap_or_default()).expect("text")
    }

    #[test]
    fn codes_and_failures_are_told_as_each_protocol_tells_them() {
        let v4 = Protocol::V4 { base64: false };
        let old = Protocol::Unversioned { base64: false };
        let done = Outcome::Exited(0);
        assert_eq!(told(old, &done), None);
        assert_eq!(text(v4, &done), r#"{"status":"Success"}"#);
        assert_eq!(
            text(Protocol::V5, &done),
            r#"{"metadata":{},"status":"Success"}"#
        );
        let exited = Outcome::Exited(3);
        let status: Value = serde_json::from_str(&text(Protocol::V5, &exited)).expect("JSON");
        assert_eq!(status["reason"], "NonZeroExitCode");
        assert_eq!(
            status["details"],
            json!({"causes": [{"reason": "ExitCode", "message": "3"}]})
        );
        let message =
            "command terminated with non-zero exit code: command terminated with exit code 3";
        assert_eq!(status["message"], message);
        assert_eq!(text(old, &exited), message);
        let failed = Outcome::Failed(Status::internal("no process"));
        assert_eq!(text(old, &failed), "Internal error occurred: no process");
        let status: Value = serde_json::from_str(&text(v4, &failed)).expect("JSON");
        assert_eq!(status["code"], 500);
        assert_eq!(status["reason"], "InternalError");
    }

    #[test]
    fn a_code_that_is_not_zero_never_becomes_success() {
        for (code, told) in [(256, "255"), (-1, "255"), (137, "137")] {
            let status = text(Protocol::V5, &Outcome::Exited(code));
            let status: Value = serde_json::from_str(&status).expect("JSON");
            assert_eq!(status["details"]["causes"][0]["message"], told);
        }
    }
}
