//! Who asks, and whether they may: authentication, RBAC, impersonation.
