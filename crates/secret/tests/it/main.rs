//! What a stranger can rely on, seen from outside.

mod redactor;
mod reference;
mod sealing;
mod sensitive;
