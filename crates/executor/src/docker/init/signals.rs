//! Receives the signals to this program: a request to end the job, or a stop by the container engine.

use std::{sync::mpsc::Sender, thread, time::Duration};

use crate::{
    life::Event,
    sys::{SIGHUP, SIGINT, SIGTERM, SigSet},
};

const FIRST_REALTIME: i32 = 34;
const LAST_REALTIME: i32 = 64;

/// Blocks the signals in this thread and in the threads that it starts, so that [`SigSet::wait`] receives
/// them.
pub(crate) fn block() -> SigSet {
    let set = SigSet::of([SIGHUP, SIGINT, SIGTERM].into_iter().chain(FIRST_REALTIME..=LAST_REALTIME));
    set.block();
    set
}

/// Sends an event for each signal.
pub(crate) fn watch(signals: SigSet, events: Sender<Event>) {
    thread::spawn(move || {
        loop {
            let sent = match signals.wait() - FIRST_REALTIME {
                0 => events.send(Event::Cancel(Duration::ZERO)),
                steps @ 1.. => events.send(Event::Cancel(Duration::from_millis(50 << (steps - 1)))),
                _ => events.send(Event::Stopped),
            };
            if sent.is_err() {
                return;
            }
        }
    });
}
