//! Receives the signals to this program. A real-time signal is a request to end the job. SIGHUP, SIGINT or SIGTERM
//! means that the container engine stops the container.

use std::{sync::mpsc::Sender, thread, time::Duration};

use crate::{
    life::Event,
    sys::{SIGHUP, SIGINT, SIGTERM, SigSet},
};

const FIRST_REALTIME: i32 = 34;
const LAST_REALTIME: i32 = 64;

/// Blocks SIGHUP, SIGINT, SIGTERM and the real-time signals in this thread, and in all threads that this thread starts
/// later. Returns the set of these signals. A blocked signal stays pending until [`SigSet::wait`] receives it.
pub(crate) fn block() -> SigSet {
    let set = SigSet::of([SIGHUP, SIGINT, SIGTERM].into_iter().chain(FIRST_REALTIME..=LAST_REALTIME));
    set.block();
    set
}

/// Starts a thread that waits for `signals`, and sends one event for each received signal. A real-time signal becomes
/// [`Event::Cancel`]. Any other signal becomes [`Event::Stopped`].
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
