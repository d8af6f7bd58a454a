//! Tests of the daemon inside an embedding program.

use std::sync::Mutex;

use tokio::sync::mpsc;
use windlass::daemon::{Notice, Watching};
use windlass::engine::Stop;
use windlass::model::record::{Intent, ProcessStatus};
use windlass::{Settings, Windlass};

use crate::echo::Echo;
use crate::shop::{Shop, shop};

/// A request waits until a daemon executes it. The submitter of the request follows the process to its end.
#[tokio::test]
async fn a_request_is_executed_by_the_daemon() {
    let project = Shop::new();
    project.up().await.unwrap().run(&Stop::default()).await.unwrap();
    let pending = project.windlass.ask(&shop(), Intent::Down).await.unwrap();
    let request = pending.request().id;

    let daemon = Windlass::open(Settings::new(project.path()).command("daemon").serving(true)).unwrap();
    let (watching, stop, told) = (Watching::default(), Stop::default(), Mutex::new(Vec::new()));
    let tell = |notice| told.lock().unwrap().push(notice);
    let (_samples, received) = mpsc::channel(1);
    let watched = windlass::daemon::watch(&daemon, &watching, received, &tell, &stop);
    let asked = async {
        let started = pending.begun(&Stop::default()).await.unwrap();
        assert!(!started.runs_here());
        let ended = started.run(&Stop::default()).await.unwrap();
        stop.request();
        ended
    };
    let (watched, ended) = tokio::join!(watched, asked);
    watched.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert!(project.windlass.is_removed(&shop()).await.unwrap());
    let told = told.into_inner().unwrap();
    let is_taken =
        |notice: &&Notice| matches!(notice, Notice::RequestBegins { request: of, .. } if *of == request);
    assert_eq!(told.iter().filter(is_taken).count(), 1, "{told:?}");
}

/// A daemon ends after a failed change that demands a rollback, and before the rollback begins. The next daemon must
/// begin the rollback, and must do so only once.
#[tokio::test]
async fn the_next_daemon_begins_a_demanded_rollback() {
    let described = |size: &str| {
        format!(
            "name: assembly::shop::1.0
composition:
  web:
    type: resource::part::1.0
    cluster: {{initial-quantity: 2}}
    update: {{on-failure: rollback}}
    properties: {{size: {{value: {size}}}}}
"
        )
    };
    let echo = Echo::default();
    let project = Shop::driven_by("echo: {}", |settings| settings.driver(echo.clone()).serving(true));
    project.describe(&described("small"));
    let first = project.up().await.unwrap().run(&Stop::default()).await.unwrap().process.id;
    project.describe(&described("large"));
    echo.fail(true);
    let failed = project.up().await.unwrap().run(&Stop::default()).await.unwrap();
    assert!(failed.needs_rollback(), "{:?}", failed.process);
    echo.fail(false);

    let (watching, stop, told) = (Watching::default(), Stop::default(), Mutex::new(Vec::new()));
    let tell = |notice| {
        if matches!(notice, Notice::Ended { .. }) {
            stop.request();
        }
        told.lock().unwrap().push(notice);
    };
    let (_samples, received) = mpsc::channel(1);
    windlass::daemon::watch(&project.windlass, &watching, received, &tell, &stop).await.unwrap();
    let told = told.into_inner().unwrap();
    let begins = told.iter().filter_map(|notice| match notice {
        Notice::Acts { what, because, .. } => Some((what.clone(), because.clone())),
        _ => None,
    });
    let expected = (format!("rollback to {first}"), format!("{} has failed", failed.process.id));
    assert_eq!(begins.collect::<Vec<_>>(), [expected], "{told:?}");
    let ended = |notice: &Notice| matches!(notice, Notice::Ended { status: ProcessStatus::Completed, .. });
    assert!(told.iter().any(ended), "{told:?}");
}
