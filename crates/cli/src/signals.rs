//! Ctrl-C: first nothing new is started, then what runs is stopped.

use std::time::Duration;

use crate::output::tell;
use tokio::signal::unix::{SignalKind, signal};
use windlass::engine::Stop;

/// Listens for SIGINT and SIGTERM from now on. The first lets running jobs end for `grace`; the second, or the end of
/// the grace, stops them.
pub(crate) fn listen(grace: Duration) -> Stop {
    listen_and(grace, move |stop| {
        // First it is so, and then it is said: nothing begins after the word.
        stop.soon.cancel();
        match grace.as_secs() {
            0 => tell!("\nstopping"),
            seconds => {
                tell!(
                    "\nstopping: what runs has {seconds} s to end by itself; interrupt again to stop it now"
                );
            }
        }
    })
}

/// Listens as [`listen`] does, for a command that may be idle: it says itself what it waits for.
pub(crate) fn listen_idle(grace: Duration) -> Stop {
    listen_and(grace, |stop| {
        // What it waits for is said after the word.
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
