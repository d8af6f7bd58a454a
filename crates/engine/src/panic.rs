//! Panics of drivers, which must not end the process.

use std::any::Any;

use windlass_model::record::{Failure, FailureKind};

/// Converts the panic of a driver to a failure.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it did not say why");
    let message = format!("its driver panicked: {text}; please report this as a bug of the driver");
    Failure::new(FailureKind::Protocol, message)
}
