//! Tests rootless Podman: the service of a user who has subordinate ids for the users of containers.

use std::{fs, path::PathBuf, sync::LazyLock};

use tokio::sync::OnceCell;
use windlass_executor::{
    Capability, Limits, Runtime, RuntimeError,
    docker::{Engine, EngineKind},
};

use crate::attempts::{OF_PODMAN, are_held};

use super::{
    place::{IMAGE, Place, TURNS, options, sh},
    podman::{Who, check_on, connected, start},
};

/// User of the service. Tests create no users; `.ci/run` does.
const USER: &str = "windlass-test";

static SERVICE: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| start(&user()?));

/// Returns the user of the service, or the reason why there is no suitable user.
fn user() -> Result<Who, String> {
    let missing = || {
        Err(format!(
            "there is no user `{USER}` with subordinate numbers: apt-get install uidmap, useradd {USER}"
        ))
    };
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let begins = format!("{USER}:");
    let passwd = read("/etc/passwd");
    let line = passwd.lines().find(|line| line.starts_with(&begins));
    let uid = line.and_then(|line| line.split(':').nth(2)?.parse().ok());
    let has_numbers = ["/etc/subuid", "/etc/subgid"]
        .iter()
        .all(|file| read(file).lines().any(|line| line.starts_with(&begins)));
    let mapper = std::path::Path::new("/usr/bin/newuidmap");
    match uid {
        Some(uid) if has_numbers && mapper.exists() => Ok(Who::User(USER.to_owned(), uid)),
        _ => missing(),
    }
}

async fn rootless(test: &str) -> Option<Engine> {
    static LOADED: OnceCell<()> = OnceCell::const_new();
    connected(test, &SERVICE, &LOADED).await
}

async fn check(case: &str, run: impl AsyncFnOnce(&windlass_executor::testing::Subject)) {
    let Some(engine) = rootless(case).await else { return };
    check_on(engine, case, run).await;
}

mod suite {
    use super::check;

    // Cases that may differ where containers have other users than their host.
    windlass_executor::conformance_tests! { check;
        ends { signalled missing_command timeout_ends_all_processes unsupported_is_refused }
        files { files_are_placed outputs_are_brought_back volumes_outlive_jobs }
        life { submitted_twice_runs_once found_at_each_stage cancelled_while_running }
        streams { echo stderr_apart }
    }
}

#[tokio::test]
async fn no_attack_of_a_job_leaves_its_container() {
    let Some(engine) = rootless("no_attack_of_a_job_leaves_its_container").await else { return };
    let _turn = TURNS.acquire().await.unwrap();
    let place = Place::with(engine, options()).await;
    let name = format!("attempts-{}", place.runtime.client()).parse().unwrap();
    are_held(&*place.runtime, &name, &sh("true").image(IMAGE), &OF_PODMAN).await;
    place.runtime.close().await;
}

#[tokio::test]
async fn it_is_known_for_what_it_cant() {
    let Some(engine) = rootless("it_is_known_for_what_it_cant").await else { return };
    let description = engine.describe().await.unwrap();
    assert_eq!(description.kind, EngineKind::Podman);
    assert!(description.rootless && description.tested, "{description:?}");
    if description.cgroup != "1" {
        return;
    }
    // The engine would accept the limit and not enforce it.
    assert!(!description.capabilities.contains(&Capability::MemoryLimit));
    let _turn = TURNS.acquire().await.unwrap();
    let place = Place::with(engine, options()).await;
    let mut limits = Limits::default();
    limits.memory_bytes = Some(64 << 20);
    let job = sh("true").image(IMAGE).limits(limits);
    let refused = place.runtime.submit(&"limited".parse().unwrap(), &job).await;
    assert!(matches!(refused, Err(RuntimeError::Unsupported { .. })), "{refused:?}");
    place.runtime.close().await;
}
