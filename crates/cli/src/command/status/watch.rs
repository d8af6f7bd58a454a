//! `windlass status --watch`: prints the status again after each change.

use std::convert::Infallible;
use std::io::{IsTerminal as _, stdout};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use windlass::changes::Changes;
use windlass::engine::EngineError;
use windlass::{Error, Windlass};

use super::{failed, read, show};
use crate::args::{Format, StatusArgs};
use crate::outage::Outage;
use crate::output::{clear_screen, say};
use crate::{exit, signals};

/// The shortest time between two reads of the status from the store.
const PAUSE: Duration = Duration::from_millis(200);

/// The time after which the status on a terminal is drawn again to update the displayed ages.
const REDRAW: Duration = Duration::from_secs(1);

pub(super) async fn run(windlass: &Windlass, args: &StatusArgs) -> ExitCode {
    let stop = signals::listen_quietly();
    tokio::select! {
        biased;
        () = stop.requested() => exit::interrupted(),
        () = signals::reader_is_gone() => exit::interrupted(),
        watched = watch(windlass, args) => match watched {
            Ok(never) => match never {},
            Err(error) => failed(windlass, args, &error).await,
        },
    }
}

/// Prints the status after each change. On a terminal, also redraws the status each second. If the store fails after the
/// first status, tells the user once, and tries again until the store answers.
///
/// # Errors
/// Fails if the first status can't be read, or if the assembly or the part no longer exists.
async fn watch(windlass: &Windlass, args: &StatusArgs) -> Result<Infallible, Error> {
    let is_drawn = args.print.format == Format::Human && stdout().is_terminal();
    let mut changes = Changes::new(windlass);
    let mut before = String::new();
    let mut outage = Outage::none(windlass);
    loop {
        let begun = Instant::now();
        let view = match read(windlass, args).await {
            Ok(view) => view,
            Err(error) if before.is_empty() || is_gone(&error) => return Err(error),
            Err(error) => {
                outage.failed(&error).await;
                continue;
            }
        };
        outage.ended();
        let now = serde_json::to_string(&view).expect("a status is plain data");
        if is_drawn {
            clear_screen();
            show(windlass, args, &view);
        } else if now != before {
            match args.print.format {
                Format::Json => say!("{now}"),
                Format::Human => {
                    if !before.is_empty() {
                        say!();
                    }
                    show(windlass, args, &view);
                }
            }
        }
        before = now;
        // After a slow read, the next read is delayed, to limit the load of the store.
        tokio::time::sleep(PAUSE.max(begun.elapsed() * 10)).await;
        if is_drawn {
            let _redrawn_anyway = tokio::time::timeout(REDRAW, changes.next()).await;
        } else if changes.next().await.is_err() {
            // The next read of the status reports the failure of the store.
            tokio::time::sleep(REDRAW).await;
        }
    }
}

/// Tells whether the error means that the assembly or the part does not exist. Any other error is a failure of the
/// store. Such a failure may be temporary.
fn is_gone(error: &Error) -> bool {
    matches!(error, Error::Engine(EngineError::Unknown { .. }) | Error::NoPart { .. })
}
