//! The command as users run it: each test has its own folder, and runs the real program in it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod env;
mod normal;
mod pages;
mod postgres;
mod proc;
mod run;
mod small;

mod call;
mod change;
mod containers;
mod cron;
mod details;
mod down;
mod drivers;
mod embedding;
mod existing;
mod failing;
mod fix;
mod formats;
mod graph;
mod help;
mod image;
mod input;
mod interrupt;
mod itself;
mod json;
mod kill;
mod leaks;
mod manifests;
mod many;
mod outdated;
mod progress;
mod project;
mod prune;
mod references;
mod related;
mod requests;
mod resolve;
mod saved;
mod schema;
mod scripts;
mod secrets;
mod spiff;
mod store;
mod transfer;
mod undecided;
mod up;
mod update;
mod variables;
mod watch;
