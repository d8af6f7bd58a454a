//! Intents, the plan runner, recovery, and the host that does the I/O.
