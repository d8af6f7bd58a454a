//! Ctrl-C: first nothing new is started, then what runs is stopped.

use std::time::Duration;

use crate::output::tell;
use tokio::signal::unix::{SignalKind, signal};
use windlass::engine::Stop;

/// Listens for SIGINT and SIGTERM from now on. The first lets running jobs end for `grace`; the second, or the end of
/// the grace, stops them.
pub(crate) fn listen(grace: Duration) -> Stop {
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
        match grace.as_secs() {
            0 => tell!("\nstopping"),
            seconds => tell!(
                "\nstopping: what runs has {seconds} s to end by itself; interrupt again to stop it now"
            ),
        }
        told.soon.cancel();
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = tokio::time::sleep(grace) => {}
        }
        told.now.cancel();
    });
    stop
}
