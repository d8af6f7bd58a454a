//! Tests of the public API.

mod redactor;
mod reference;
mod sealing;
mod sensitive;
