//! Records, leases, events, secrets and pinned packages, durable.
