//! Prewarmed sandboxes, which are created before their jobs arrive.
//!
//! Creating a sandbox takes longer than most jobs. Jobs mostly come in series with the same sandbox, so
//! sandboxes are prewarmed from the second job of a series on. Each sandbox has an empty working folder of
//! its own, which is later renamed to that of the job. A sandbox is used once, and an unused sandbox is
//! closed after a while.
//!
//! Two kinds of sandboxes are not prewarmed, because they could be outdated when used. Sandboxes with
//! volumes: their folders may have been removed since. Sandboxes with the host's network: its name servers
//! may have changed.

use std::{
    cell::{Cell, RefCell},
    fs::{self, DirBuilder},
    io,
    os::unix::fs::{DirBuilderExt, symlink},
    path::PathBuf,
    rc::Rc,
    time::Duration,
};

use tokio::{
    sync::Notify,
    task::spawn_local,
    time::{Instant, sleep, timeout},
};

use crate::{
    bwrap::plan::{SandboxNetwork, SandboxPlan},
    process::{
        layout::{JobFolder, StateDir},
        staging::Staging,
        supervisor::sandbox::{Sandbox, SandboxFactory, SandboxFolders},
    },
};

/// Name of the link that identifies the processes of a prewarmed sandbox, until the link is moved into the
/// job's folder.
const LINK: &str = "room";

/// Maximum number of sandboxes of one kind, ready or being created, and of all kinds.
const OF_A_KIND: usize = 4;
const ALL: usize = 8;

/// Maximum number of concurrent jobs up to which sandboxes are prewarmed; with more jobs the processors are
/// busy anyway.
const FEW: usize = 2;

/// Time without a new job after which a series is over.
const SERIES: Duration = Duration::from_secs(5);

/// Maximum time to close the sandboxes when the supervisor exits.
const PATIENCE: Duration = Duration::from_secs(5);

/// The prewarmed sandboxes, and the series of jobs for which they are created.
#[derive(Debug)]
pub(crate) struct PrewarmedSandboxes {
    state: StateDir,
    factory: Rc<SandboxFactory>,
    /// Locked staging folder with the working folders of the sandboxes; created with the first sandbox.
    staging: RefCell<Option<Staging>>,
    sandboxes: RefCell<Vec<PrewarmedSandbox>>,
    series: RefCell<Vec<Series>>,
    /// Notified when a sandbox was created.
    changed: Notify,
    is_watched: Cell<bool>,
}

/// A sandbox that waits for its job.
#[derive(Debug)]
struct PrewarmedSandbox {
    plan: SandboxPlan,
    sandbox: Sandbox,
    base: PathBuf,
}

/// Jobs that need the same sandbox.
#[derive(Debug)]
struct Series {
    plan: SandboxPlan,
    last: Instant,
    /// Number of sandboxes being created for the series.
    making: usize,
}

impl PrewarmedSandboxes {
    pub(crate) fn new(state: &StateDir, factory: Rc<SandboxFactory>) -> Self {
        Self {
            state: state.clone(),
            factory,
            staging: RefCell::default(),
            sandboxes: RefCell::default(),
            series: RefCell::default(),
            changed: Notify::new(),
            is_watched: Cell::new(false),
        }
    }

    /// Takes a sandbox that was created for this plan, and makes its working folder that of the job.
    ///
    /// # Errors
    /// When the job's files can't be moved there. Some of them may have been moved before the error.
    pub(crate) fn take(&self, plan: &SandboxPlan, folder: &JobFolder) -> io::Result<Option<Sandbox>> {
        while let Some(prewarmed) = self.find(plan) {
            // A sandbox that has died in the meantime is skipped.
            if prewarmed.sandbox.is_alive() {
                return prewarmed.give_to(folder).map(Some);
            }
            let _left_for_the_sweep = fs::remove_dir_all(&prewarmed.base);
        }
        Ok(None)
    }

    fn find(&self, plan: &SandboxPlan) -> Option<PrewarmedSandbox> {
        let mut sandboxes = self.sandboxes.borrow_mut();
        let at = sandboxes.iter().position(|prewarmed| prewarmed.plan == *plan)?;
        Some(sandboxes.swap_remove(at))
    }

    /// Records that a job of this kind has started, while `running` jobs run. If the job belongs to a series,
    /// a sandbox is created for the next job.
    pub(crate) fn expect_more(self: &Rc<Self>, plan: &SandboxPlan, running: usize) {
        if running > FEW {
            return;
        }
        if plan.network != SandboxNetwork::None || !plan.volumes.is_empty() || !self.is_wanted(plan) {
            return;
        }
        let (prewarmed, plan) = (self.clone(), plan.clone());
        spawn_local(async move {
            let made = prewarmed.make(&plan).await;
            prewarmed.made(&plan, made.ok());
        });
    }

    /// Counts the job, and tells whether a sandbox is to be created for the next job.
    fn is_wanted(&self, plan: &SandboxPlan) -> bool {
        let (now, sandboxes) = (Instant::now(), self.sandboxes.borrow());
        let mut all = self.series.borrow_mut();
        all.retain(|series| series.making > 0 || now - series.last < SERIES);
        let there = all.iter().map(|series| series.making).sum::<usize>() + sandboxes.len();
        let Some(series) = all.iter_mut().find(|series| series.plan == *plan) else {
            all.push(Series { plan: plan.clone(), last: now, making: 0 });
            return false;
        };
        series.last = now;
        let of_this_kind =
            sandboxes.iter().filter(|prewarmed| prewarmed.plan == *plan).count() + series.making;
        let wanted = of_this_kind < OF_A_KIND && there < ALL;
        series.making += usize::from(wanted);
        wanted
    }

    async fn make(&self, plan: &SandboxPlan) -> io::Result<PrewarmedSandbox> {
        let base = self.new_folder()?;
        let work = base.join("work");
        for folder in [&base, &work] {
            DirBuilder::new().mode(0o700).create(folder)?;
        }
        // The link later moves into the job's folder, and there identifies the processes of the sandbox.
        symlink(&base, base.join(LINK))?;
        let made = self.factory.make(plan, SandboxFolders { work: &work, mark: &base }).await;
        match made {
            Ok(sandbox) => Ok(PrewarmedSandbox { plan: plan.clone(), sandbox, base }),
            Err(_the_next_job_tells) => {
                let _left_for_the_sweep = fs::remove_dir_all(&base);
                Err(io::Error::other("no sandbox"))
            }
        }
    }

    fn new_folder(&self) -> io::Result<PathBuf> {
        let mut staging = self.staging.borrow_mut();
        if let Some(staging) = &*staging {
            return Ok(staging.fresh());
        }
        Ok(staging.insert(Staging::open(&self.state).map_err(io::Error::other)?).fresh())
    }

    fn made(self: &Rc<Self>, plan: &SandboxPlan, made: Option<PrewarmedSandbox>) {
        let mut series = self.series.borrow_mut();
        if let Some(series) = series.iter_mut().find(|series| series.plan == *plan) {
            series.making -= 1;
        }
        drop(series);
        self.changed.notify_one();
        let Some(prewarmed) = made else { return };
        self.sandboxes.borrow_mut().push(prewarmed);
        if !self.is_watched.replace(true) {
            let prewarmed = self.clone();
            spawn_local(async move { prewarmed.close_what_is_over().await });
        }
    }

    /// Closes sandboxes of finished series, until no sandboxes are left.
    async fn close_what_is_over(&self) {
        while !self.sandboxes.borrow().is_empty() {
            sleep(SERIES / 4).await;
            let over: Vec<PrewarmedSandbox> = {
                let series = self.series.borrow();
                let is_over = |prewarmed: &mut PrewarmedSandbox| {
                    let of = series.iter().find(|series| series.plan == prewarmed.plan);
                    of.is_none_or(|series| series.last.elapsed() >= SERIES)
                };
                self.sandboxes.borrow_mut().extract_if(.., is_over).collect()
            };
            for prewarmed in over {
                prewarmed.close().await;
            }
        }
        self.is_watched.set(false);
    }

    /// Closes all sandboxes, when no jobs are left.
    pub(crate) async fn close(&self) {
        let all = async {
            loop {
                let sandboxes = std::mem::take(&mut *self.sandboxes.borrow_mut());
                let making = self.series.borrow().iter().any(|series| series.making > 0);
                if sandboxes.is_empty() && !making {
                    return;
                }
                for prewarmed in sandboxes {
                    prewarmed.close().await;
                }
                if making {
                    self.changed.notified().await;
                }
            }
        };
        let _or_they_die_with_us = timeout(PATIENCE, all).await;
        self.staging.take();
    }
}

impl PrewarmedSandbox {
    /// Moves the sandbox's working folder to the place of the job's working folder, with all files that were
    /// placed for the job.
    fn give_to(self, folder: &JobFolder) -> io::Result<Sandbox> {
        let (own, work) = (self.base.join("work"), folder.work());
        // A rename replaces an empty folder only.
        if fs::rename(&own, &work).is_err() {
            for entry in fs::read_dir(&work)? {
                let entry = entry?;
                fs::rename(entry.path(), own.join(entry.file_name()))?;
            }
            fs::rename(&own, &work)?;
        }
        fs::rename(self.base.join(LINK), folder.sandbox_link())?;
        let _left_for_the_sweep = fs::remove_dir(&self.base);
        Ok(self.sandbox)
    }

    async fn close(self) {
        self.sandbox.close().await;
        let _left_for_the_sweep = fs::remove_dir_all(&self.base);
    }
}
