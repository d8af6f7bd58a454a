//! Tests of the daemon inside an embedding program.

use std::sync::Mutex;

use tokio::sync::mpsc;
use windlass::daemon::{Notice, Watching};
use windlass::engine::Stop;
use windlass::model::record::{Intent, ProcessStatus};
use windlass::{Settings, Windlass};

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
