//! Steps, waits with reasons, barriers, cycles and the critical path.
