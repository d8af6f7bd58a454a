//! Handling of Ctrl-C: first no new work is started, then running work is stopped.

use std::time::Duration;

use crate::output::tell;
use tokio::signal::unix::{SignalKind, signal};
use windlass::engine::Stop;

/// Listens for SIGINT and SIGTERM from now on. The first signal lets running jobs end for `grace`. A second
/// one, or the end of the grace period, stops them.
pub(crate) fn listen(grace: Duration) -> Stop {
    listen_and(grace, move |stop| {
        // Cancel before printing, so that nothing starts after the message.
        stop.soon.cancel();
        match grace.as_secs() {
            0 => tell!("\nstopping"),
            seconds => {
                tell!("\nstopping: running jobs have {seconds} s to end; interrupt again to stop them now");
            }
        }
    })
}

/// Listens as [`listen`] does, for a command that may be idle. The command itself reports what it waits for.
pub(crate) fn listen_idle(grace: Duration) -> Stop {
    listen_and(grace, |stop| {
        // Print before cancelling, so that the command's own report follows.
        tell!("\nstopping");
        stop.soon.cancel();
    })
}

fn listen_and(grace: Duration, begin: impl Fn(&Stop) + Send + 'static) -> Stop {
    let stop = Stop::default();
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return stop;
    };
    let told = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        begin(&told);
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = tokio::time::sleep(grace) => {}
        }
        told.now.cancel();
    });
    stop
}
