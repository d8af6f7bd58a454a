//! `windlass run` and `windlass metric`.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;
use windlass::daemon::socket::{MetricSocket, push};
use windlass::daemon::{self, Notice, Watching};
use windlass::model::instance::Status;
use windlass::model::record::ProcessStatus;
use windlass::model::{AssemblyName, Timestamp};

use super::{fail, grace, open, plural};
use crate::args::{Format, MetricArgs, MetricCommand, WatchArgs};
use crate::failure::fault;
use crate::output::{BAD, DIM, GOOD, ODD, brief, continued, one_line, say, styled, tell};
use crate::{codes, exit, signals};

/// Maximum number of received metric readings that the daemon has not processed yet.
const QUEUE: usize = 1024;

pub(crate) async fn run(args: WatchArgs) -> ExitCode {
    let windlass = match open(None, Some(&args.run), "run") {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let health = (args.health > 0).then(|| Duration::from_secs(args.health.into()));
    let watching = Watching { health, ..Watching::default() };
    if let Err(error) = daemon::make_state(&windlass).await {
        return fail(&error);
    }
    let mut socket = match MetricSocket::open(daemon::metric_socket(windlass.project())).await {
        Ok(socket) => socket,
        Err(error) => return fail(&error),
    };
    let human = args.run.print.format == Format::Human;
    if human {
        say!("listening for metrics at {}", socket.path().display());
    }
    let stop = signals::listen_idle(grace(&args.run));
    let seconds = args.run.grace;
    let (sender, samples) = mpsc::channel(QUEUE);
    let tell_it = |notice: Notice| print(&notice, windlass.now(), human, seconds);
    let watched = daemon::watch(&windlass, &watching, samples, &tell_it, &stop);
    let ended = tokio::select! {
        ended = watched => ended,
        broken = socket.serve(sender) => broken,
    };
    let code = match ended {
        // Without an error, the daemon ends only after a request to stop.
        Ok(()) => exit::DONE,
        Err(error) => fail(&error),
    };
    match windlass.close().await {
        Ok(()) => code,
        Err(error) => fail(&error),
    }
}

fn print(notice: &Notice, now: Timestamp, human: bool, grace: u32) {
    if !human {
        let (assembly, text) = match notice {
            Notice::Watches { assembly, metrics } => (Some(assembly), metrics.join(", ")),
            Notice::Acts { assembly, what, because } => (Some(assembly), format!("{what}: {because}")),
            Notice::RequestBegins { assembly, request, what, by } => {
                (Some(assembly), format!("{request} {what}: requested by {by}"))
            }
            Notice::ProcessResumes { assembly, process, what } => {
                (Some(assembly), format!("{process} {what}"))
            }
            Notice::Omits { assembly, process, changes, command } => {
                (Some(assembly), format!("{process} {changes}: `{command}`"))
            }
            Notice::GivesUp { assembly, part, times, because } => {
                (Some(assembly), format!("heal {part}: {because}; {times} heals did not repair it"))
            }
            Notice::Unwell { assembly, part, seen } => (Some(assembly), format!("{part}: {seen}")),
            Notice::Well { assembly, part } => (Some(assembly), part.clone()),
            Notice::CheckFails { assembly, what, why } => (Some(assembly), format!("{what}: {why}")),
            Notice::CheckWorks { assembly, what } => (Some(assembly), (*what).to_owned()),
            Notice::StatusChanged { assembly, status } => (Some(assembly), described(status)),
            Notice::Adopted { assembly, factory, natural_id } => {
                (Some(assembly), format!("{natural_id} of {factory}"))
            }
            Notice::Destroyed { assembly } => (Some(assembly), String::new()),
            Notice::Refused { assembly, what, why } => (Some(assembly), format!("{what}: {why}")),
            Notice::Ended { assembly, process, status } => (Some(assembly), format!("{process} {status}")),
            Notice::Interrupted { assembly, process } => (Some(assembly), process.to_string()),
            Notice::Stopping { busy } => (None, list(busy)),
            Notice::Trouble(trouble) => (None, trouble.clone()),
            Notice::Back { store } => (None, format!("{store} is back")),
            Notice::ProjectRead => (None, String::new()),
            Notice::ProjectRefused { why } => (None, why.clone()),
            _ => return,
        };
        say!(
            "{}",
            json!({"version": 1, "at": now.exactly().to_string(), "event": notice.event(), "assembly": assembly, "text": text})
        );
        return;
    }
    let at = styled(DIM, now);
    match notice {
        Notice::Watches { assembly, metrics } => {
            say!("{at} {assembly}: watching {}", some_of(metrics));
        }
        Notice::Acts { assembly, what, because } => {
            say!("{at} {assembly}: {} because {because}", styled(ODD, what));
        }
        Notice::RequestBegins { assembly, request, what, by } => {
            say!("{at} {assembly}: {} ({request}), requested by {by}", styled(ODD, what));
        }
        Notice::ProcessResumes { assembly, process, what } => {
            say!("{at} {assembly}: resumes {process} {}, which was interrupted", styled(ODD, what));
        }
        Notice::Omits { assembly, process, changes, command } => say!(
            "{at} {assembly}: {process} {} that nobody has agreed to: {changes}; to agree to them, run `{command}`",
            styled(ODD, "omits changes")
        ),
        Notice::GivesUp { assembly, part, times, because } => {
            say!(
                "{at} {assembly}: {} {part}: {because}, and {times} heals did not repair it; policies heal it again after its health \
                 check succeeds, or after a change such as `windlass heal {assembly} {part}`",
                styled(BAD, "no more heals of")
            );
        }
        Notice::Unwell { assembly, part, seen } => say!(
            "{at} {assembly}: {} {seen}; no policy heals it; repair it with `windlass heal {assembly} {part}`",
            styled(BAD, format!("{part}:"))
        ),
        Notice::Well { assembly, part } => {
            say!("{at} {assembly}: {} it is healthy again", styled(GOOD, format!("{part}:")));
        }
        Notice::CheckFails { assembly, what, why } => {
            say!("{at} {assembly}: {} {}", styled(BAD, format!("the {what} fails:")), continued(why));
        }
        Notice::CheckWorks { assembly, what } => {
            say!("{at} {assembly}: {}", styled(GOOD, format!("the {what} works again")));
        }
        Notice::StatusChanged { assembly, status } => {
            let style = if status.failed { BAD } else { GOOD };
            let message = status.message.as_deref().filter(|message| !message.trim().is_empty());
            let message = message.map(|message| format!(": {}", brief(message))).unwrap_or_default();
            say!("{at} {assembly}: {}", styled(style, format!("{}{message}", status.word())));
        }
        Notice::Adopted { assembly, factory, natural_id } => {
            say!(
                "{at} {assembly}: {} {}, which {factory} has found",
                styled(GOOD, "adopts"),
                one_line(natural_id)
            );
        }
        Notice::Destroyed { assembly } => {
            say!("{at} {assembly}: its scripts say that it is {}", styled(ODD, "destroyed"));
        }
        Notice::Refused { assembly, what, why } => {
            say!("{at} {assembly}: {} {what}: {}", styled(BAD, "not done:"), continued(why));
        }
        Notice::Ended { assembly, process, status } => {
            let style = if *status == ProcessStatus::Completed { GOOD } else { BAD };
            say!("{at} {assembly}: {process} {}", styled(style, status));
        }
        Notice::Interrupted { assembly, process } => say!(
            "{at} {assembly}: {process} {}; the next `windlass run` resumes it",
            styled(ODD, "is interrupted")
        ),
        Notice::Stopping { busy } => {
            tell!("{now} the jobs of {} have {grace} s to end; interrupt again to stop them now", list(busy));
        }
        Notice::Trouble(trouble) => tell!("{now} {trouble}; windlass tries again"),
        Notice::Back { store } => tell!("{now} {store} is back"),
        Notice::ProjectRead => say!("{at} `windlass.yaml` has changed; the next scripts use the new content"),
        Notice::ProjectRefused { why } => tell!(
            "{now} `windlass.yaml` has changed, and can't be used; its old content still applies: {}",
            continued(why)
        ),
        _ => {}
    }
}

/// Formats a status: one word such as `active` or `failed`, and then the message of the status.
fn described(status: &Status) -> String {
    match &status.message {
        Some(message) => format!("{}: {message}", status.word()),
        None => status.word().to_owned(),
    }
}

/// Lists the first metrics, and the number of the remaining metrics.
fn some_of(metrics: &[String]) -> String {
    const SHOWN: usize = 3;
    let names = metrics.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match metrics.len().saturating_sub(SHOWN) {
        0 => names,
        more => format!("{names} and {}", plural(more, "more metric")),
    }
}

fn list(names: &[AssemblyName]) -> String {
    names.iter().map(AssemblyName::as_str).collect::<Vec<_>>().join(", ")
}

pub(crate) async fn metric(args: MetricArgs) -> ExitCode {
    let MetricCommand::Push { metric, reading } = args.command;
    let windlass = match open(None, None, "metric") {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let message = match (reading.as_str(), reading.parse::<f64>()) {
        (_, Ok(load)) => json!({"metricId": metric, "load": load}),
        ("OK" | "BROKEN", _) => json!({"metricId": metric, "integrity": reading}),
        _ => {
            fault!(
                codes::COMMAND_LINE,
                "a reading is a load from 0 to 100, or `OK` or `BROKEN`, not `{reading}`"
            );
            return exit::wrong_input();
        }
    };
    match push(&daemon::metric_socket(windlass.project()), &message).await {
        Ok(note) => {
            if let Some(note) = note {
                tell!("note: {note}");
            }
            exit::DONE
        }
        Err(error) => fail(&error),
    }
}
