//! The file that tells kubectl where the server is and who the user is.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A kubeconfig for the user `admin` with a bearer token, the CA inline.
pub fn kubeconfig(server: &str, ca_pem: &str, token: &str) -> String {
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: stowplan
  cluster:
    server: {server}
    certificate-authority-data: {ca}
users:
- name: stowplan-admin
  user:
    token: {token}
contexts:
- name: stowplan
  context:
    cluster: stowplan
    user: stowplan-admin
current-context: stowplan
preferences: {{}}
",
        ca = STANDARD.encode(ca_pem)
    )
}

#[cfg(test)]
mod tests {
    use super::kubeconfig;

    #[test]
    fn names_the_server_and_the_token() {
        let file = kubeconfig("https://127.0.0.1:6443", "CA", "t0ken");
        assert!(file.contains("server: https://127.0.0.1:6443\n"));
        assert!(file.contains("certificate-authority-data: Q0E=\n"));
        assert!(file.contains("token: t0ken\n"));
    }
}
