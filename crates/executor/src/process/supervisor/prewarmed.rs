//! Prewarmed sandboxes, which are created before their jobs arrive.
//!
//! Creating a sandbox takes longer than most jobs. Jobs mostly come in series that need equal sandboxes, so
//! sandboxes are prewarmed from the second job of a series on. Each sandbox has an empty working folder,
//! which is later moved into the folder of its job. A sandbox is used once. Unused sandboxes are closed some
//! seconds after the last job of their series.
//!
//! Sandboxes with volumes and sandboxes on the host's network are not prewarmed, because they could be outdated when a
//! job needs them. The folder of a volume may be removed in the meantime, and the host's name servers may change.

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

/// Name of a symbolic link in the folder of a prewarmed sandbox. The link points to this folder itself.
///
/// The variable `WINDLASS_JOB` of each process in the sandbox contains the path of the sandbox's folder. When a job
/// gets the sandbox, windlass moves the link into the job's folder. The link still contains the path of the sandbox's
/// folder. So windlass reads the path from the link, and finds the processes of the job by this path.
const LINK: &str = "room";

/// Maximum number of prewarmed sandboxes with the same [`SandboxPlan`], including sandboxes that are being
/// created.
const OF_A_KIND: usize = 4;

/// Maximum number of all prewarmed sandboxes, including sandboxes that are being created.
const ALL: usize = 8;

/// Maximum number of running jobs at which a new sandbox is prewarmed. If more jobs run, prewarming would take
/// processor time from them.
const FEW: usize = 2;

/// Maximum time between the starts of two consecutive jobs of a [`Series`].
const SERIES: Duration = Duration::from_secs(5);

/// Maximum time for the supervisor to close all prewarmed sandboxes before it exits.
const PATIENCE: Duration = Duration::from_secs(5);

/// The prewarmed sandboxes, and each [`Series`] of jobs that need equal sandboxes. A prewarmed sandbox is for the
/// next job of its series.
#[derive(Debug)]
pub(crate) struct PrewarmedSandboxes {
    state: StateDir,
    factory: Rc<SandboxFactory>,
    /// Locked staging folder with the working folders of the sandboxes. It is created together with the first
    /// sandbox.
    staging: RefCell<Option<Staging>>,
    sandboxes: RefCell<Vec<PrewarmedSandbox>>,
    series: RefCell<Vec<Series>>,
    /// Notified when a sandbox was created, or its creation has failed.
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

/// A series of jobs that need equal sandboxes. Each job starts soon after the previous one.
#[derive(Debug)]
struct Series {
    plan: SandboxPlan,
    /// Start of the last job.
    last: Instant,
    /// Number of sandboxes that are being created for the series.
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

    /// Takes a sandbox that was created for this plan, and moves its working folder into the job's folder.
    /// Returns `None` if no such sandbox is ready.
    ///
    /// # Errors
    /// When the files can't be moved. Some of them may have been moved before the error.
    pub(crate) fn take(&self, plan: &SandboxPlan, folder: &JobFolder) -> io::Result<Option<Sandbox>> {
        while let Some(prewarmed) = self.find(plan) {
            // A sandbox whose first process has died is skipped.
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

    /// Records that a job with the plan `plan` has started. If a job with the same plan started shortly before, the
    /// function may start to create a sandbox for the next job with this plan. `running` is the number of running jobs.
    /// If more than [`FEW`] jobs run, or if the plan has volumes or a network, the function does nothing.
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

    /// Records that a job with this plan has started, and tells whether to create a sandbox for the next job with
    /// the same plan. The result is `false` for the first job of a [`Series`], and if there are already
    /// [`OF_A_KIND`] sandboxes with this plan or [`ALL`] sandboxes in total.
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
        // The link is later moved into the job's folder, and there identifies the processes of the sandbox.
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

    /// Closes the prewarmed sandboxes of each [`Series`] that is over. A series is over when the time [`SERIES`]
    /// has passed since the start of its last job. The function repeats this until no prewarmed sandbox is left.
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

    /// Closes all prewarmed sandboxes. The supervisor calls this function before it exits, when no job is
    /// left.
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
    /// Gives the sandbox to the job with the folder `folder`. The sandbox's working folder replaces the job's working
    /// folder. If the job's working folder contains files, the function first moves these files into the sandbox's
    /// working folder.
    fn give_to(self, folder: &JobFolder) -> io::Result<Sandbox> {
        let (own, work) = (self.base.join("work"), folder.work());
        // A rename can replace only an empty folder. So files of the job are first moved into the sandbox's
        // folder.
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
