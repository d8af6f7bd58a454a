//! The store from outside: the suite that every store passes, and what only files can go through.

mod conformance;
mod damage;
mod full;
mod kill;
mod model;
mod place;
mod wipe;
