//! The host, which runs state machines.
//!
//! A [`Machine`] takes the time and an input, and returns outputs: commands, timers, and its end. It never waits,
//! and reads no clock. So a test can try any order of inputs, on virtual time. The [`Host`] keeps the timers,
//! observes the [`Stop`], and gives each command to a [`Dispatcher`]. The dispatcher turns the command into work,
//! which the host awaits.
//!
//! ```
//! # use std::sync::Arc;
//! # use std::time::Duration;
//! # use windlass_engine::Stop;
//! # use windlass_engine::host::{Dispatcher, Host, Incoming, Input, Machine, Output, Work};
//! # use windlass_model::Timestamp;
//! # use windlass_model::clock::SystemClock;
//! /// A machine that counts down to zero.
//! struct Countdown(u32);
//!
//! impl Machine for Countdown {
//!     type Event = ();
//!     type Command = String;
//!     type Timer = ();
//!
//!     fn on(&mut self, now: Timestamp, input: Input<Self>) -> Vec<Output<Self>> {
//!         match input {
//!             Input::Begin => {}
//!             Input::Due(()) => self.0 -= 1,
//!             Input::Event(()) | Input::Cancel => return vec![Output::Finished],
//!         }
//!         let said = Output::Command(self.0.to_string());
//!         let next = match self.0 {
//!             0 => Output::Finished,
//!             _ => Output::Wake { timer: (), at: now.plus_millis(10) },
//!         };
//!         vec![said, next]
//!     }
//! }
//!
//! #[derive(Default)]
//! struct Speaker(Vec<String>);
//!
//! impl Dispatcher<Countdown> for Speaker {
//!     fn dispatch(&mut self, command: String) -> Option<Work<()>> {
//!         self.0.push(command);
//!         None
//!     }
//!
//!     async fn incoming(&mut self) -> Incoming<()> {
//!         std::future::pending().await
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let host = Host::new(Arc::new(SystemClock), Stop::default());
//! let mut speaker = Speaker::default();
//! host.run(&mut Countdown(3), &mut speaker, std::future::pending()).await?;
//! assert_eq!(speaker.0, ["3", "2", "1", "0"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod timers;

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;

use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use windlass_driver::Stop;
use windlass_model::{Clock, Timestamp};
use windlass_store::StoreError;

use self::timers::Timers;

/// A pure state machine: it never waits, reads no clock and performs no I/O.
pub trait Machine {
    /// An event for this state machine: the result of a command, or a message from outside the [`Host`].
    type Event;
    /// A command, which the [`Dispatcher`] executes.
    type Command;
    /// The identity of a timer.
    type Timer: Clone + Ord;

    /// Handles an input at the time `now`. Returns the outputs in the order in which the host must carry them out.
    fn on(&mut self, now: Timestamp, input: Input<Self>) -> Vec<Output<Self>>;
}

/// A message from the [`Host`] to a [`Machine`].
pub enum Input<M: Machine + ?Sized> {
    /// The first input of a run. The machine begins its work.
    Begin,
    /// The result of a command, or a message from outside the host.
    Event(M::Event),
    /// The time of a timer has come. After a stop, the waiting timers are due at once. A timer that the machine starts
    /// after the stop is also due at once.
    Due(M::Timer),
    /// A stop is requested. If the stop was requested before the run, the machine gets this input in place of
    /// [`Input::Begin`].
    Cancel,
}

/// A request of a [`Machine`], which the [`Host`] carries out.
pub enum Output<M: Machine + ?Sized> {
    /// Passes a command to the [`Dispatcher`].
    Command(M::Command),
    /// Starts a timer, or changes the time of a timer that runs.
    Wake {
        /// The identity of the timer. The machine gets this value back in [`Input::Due`] when the timer is due.
        timer: M::Timer,
        /// The time at which the timer is due.
        at: Timestamp,
    },
    /// Ends the run as soon as the work of all commands has ended.
    Finished,
}

/// The work of a command, which the host awaits. The work may end with an event for the machine.
pub type Work<E> = Pin<Box<dyn Future<Output = Result<Option<E>, StoreError>> + Send>>;

/// A message from outside the host.
pub enum Incoming<E> {
    /// An event for the machine.
    Event(E),
    /// Work that the host awaits, although it belongs to no command. For example, the work waits until a record is
    /// durable.
    Work(Work<E>),
}

/// Executes the commands of a machine.
pub trait Dispatcher<M: Machine>: Send {
    /// Begins a command, and returns its work for the host to await; `None` if the command is already
    /// completely executed.
    fn dispatch(&mut self, command: M::Command) -> Option<Work<M::Event>>;

    /// Waits for the next message from outside the host. The host drops the returned future if another event
    /// comes first. The drop must not lose a message.
    fn incoming(&mut self) -> impl Future<Output = Incoming<M::Event>> + Send;

    /// Waits until the dispatcher can take the commands that the machine returns for the next input. For example, the
    /// dispatcher waits until the store has room for one more batch of records. The default implementation does not
    /// wait.
    ///
    /// The host calls this function before each input of a run, except the first.
    fn ready(&self) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// Runs [state machines](Machine): passes inputs to a machine, and carries out the outputs of the machine.
#[derive(Clone)]
pub struct Host {
    clock: Arc<dyn Clock>,
    stop: Stop,
}

impl Host {
    /// Creates a host, which runs state machines ([`Machine`]). The machines get the time of `clock`, and are
    /// cancelled when `stop` is requested.
    pub fn new(clock: Arc<dyn Clock>, stop: Stop) -> Self {
        Self { clock, stop }
    }

    /// Runs a machine until the machine has finished and no work is left. The future `lost` resolves when a lease
    /// is lost. The run ends earlier if `lost` resolves, or if the work of a command fails.
    ///
    /// # Errors
    /// The error of `lost`, or the error of the failed work. Work fails only if the store can't write a batch of
    /// records. After a failed batch, and also without the lease, the store refuses all further batches. So the
    /// host ends the run at once, and drops all work that still runs.
    pub async fn run<M: Machine>(
        &self,
        machine: &mut M,
        dispatcher: &mut impl Dispatcher<M>,
        lost: impl Future<Output = StoreError>,
    ) -> Result<(), StoreError> {
        let mut running =
            Running { dispatcher, work: FuturesUnordered::new(), timers: Timers::default(), finished: false };
        let mut lost = pin!(lost);
        // After a stop, the machine must not begin anything.
        let mut is_cancelled = self.stop.is_requested();
        let first = if is_cancelled { Input::Cancel } else { Input::Begin };
        running.execute(self.clock.now(), machine.on(self.clock.now(), first));
        while !(running.finished && running.work.is_empty()) {
            let input = tokio::select! {
                biased;
                () = self.stop.requested(), if !is_cancelled => None,
                // The next three futures are rarely ready. They are polled before the running work. If the work
                // were polled first, some work might be ready at each poll, and these futures would never be
                // polled.
                lost = &mut lost => return Err(lost),
                incoming = running.dispatcher.incoming() => running.receive(incoming),
                timer = running.timers.next() => Some(Input::Due(timer)),
                Some(done) = running.work.next() => match done {
                    Ok(event) => event.map(Input::Event),
                    Err(error) => return Err(running.root_cause(error)),
                },
            };
            // A stop may be requested while the branches above are polled, and may then end a job at once. So the machine
            // is cancelled before it gets the end of the job.
            let cancel = (!is_cancelled && self.stop.is_requested()).then_some(Input::Cancel);
            if cancel.is_some() {
                is_cancelled = true;
                running.timers.hurry();
            }
            for input in cancel.into_iter().chain(input) {
                // One input creates at most one batch of records, so the next input must wait until the store has
                // room for one more batch. If the store has no room for a long time, the leases are lost during
                // this wait.
                tokio::select! {
                    () = running.dispatcher.ready() => {}
                    lost = &mut lost => return Err(lost),
                }
                running.execute(self.clock.now(), machine.on(self.clock.now(), input));
            }
        }
        while let Some(Incoming::Work(work)) = running.dispatcher.incoming().now_or_never() {
            running.work.push(work);
        }
        while let Some(done) = running.work.next().await {
            done?;
        }
        Ok(())
    }
}

struct Running<'a, M: Machine, D> {
    dispatcher: &'a mut D,
    work: FuturesUnordered<Work<M::Event>>,
    timers: Timers<M::Timer>,
    finished: bool,
}

impl<M: Machine, D: Dispatcher<M>> Running<'_, M, D> {
    fn execute(&mut self, now: Timestamp, outputs: Vec<Output<M>>) {
        for output in outputs {
            match output {
                Output::Command(command) => self.work.extend(self.dispatcher.dispatch(command)),
                Output::Wake { timer, at } => self.timers.start(timer, now, at),
                Output::Finished => self.finished = true,
            }
        }
    }

    fn receive(&mut self, incoming: Incoming<M::Event>) -> Option<Input<M>> {
        match incoming {
            Incoming::Event(event) => Some(Input::Event(event)),
            Incoming::Work(work) => {
                self.work.push(work);
                None
            }
        }
    }

    /// Returns the error of the batch that the store could not write.
    ///
    /// After the failed batch, the store refuses each further batch with `StoreError::AfterFailure`. If `error` is
    /// such a refusal, the function searches the results of all other work that has ended. One of these results is
    /// the error of the failed batch, because the store answers batches in order. Any other `error` is returned
    /// unchanged.
    fn root_cause(&mut self, error: StoreError) -> StoreError {
        if !matches!(error, StoreError::AfterFailure { .. }) {
            return error;
        }
        while let Some(Some(done)) = self.work.next().now_or_never() {
            match done {
                Err(StoreError::AfterFailure { .. }) | Ok(_) => {}
                Err(cause) => return cause,
            }
        }
        error
    }
}

#[cfg(test)]
mod tests;
