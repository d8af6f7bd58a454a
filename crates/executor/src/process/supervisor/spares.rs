//! Rooms that are made before their job comes.
//!
//! To make a room takes longer than most jobs. Jobs mostly come in series that want the same room, so that from the second
//! of a series on rooms are made ahead: with an empty working folder of their own, which becomes the job's by a rename when the job comes. A
//! room is used once, and one that nobody has come for is closed after a while.
//!
//! Not made ahead is what would be old by then: rooms with volumes, whose folders may have been removed since, and those
//! with the host's network, whose name servers may be others.

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
    process::{
        layout::{JobFolder, StateDir},
        staging::Staging,
        supervisor::{
            Context,
            room::{Room, Site},
        },
    },
    sandbox::plan::{RoomNetwork, RoomPlan},
};

/// The name of the link on its way into a job's folder.
const LINK: &str = "room";

/// How many rooms of one kind are kept or just being made, and how many of all kinds.
const OF_A_KIND: usize = 4;
const ALL: usize = 8;

/// With more jobs than this at a time the processors have enough to do, and rooms made ahead would only be more of it.
const FEW: usize = 2;

/// A series of jobs is over when none has come for this long.
const SERIES: Duration = Duration::from_secs(5);

/// How long it is waited for rooms to be gone when the supervisor goes.
const PATIENCE: Duration = Duration::from_secs(5);

/// The rooms made ahead, and those on their way out.
#[derive(Debug)]
pub(crate) struct Spares {
    state: StateDir,
    /// Where their working folders are, locked: made with the first.
    staging: RefCell<Option<Staging>>,
    rooms: RefCell<Vec<Spare>>,
    series: RefCell<Vec<Series>>,
    /// Told when one was made.
    changed: Notify,
    is_watched: Cell<bool>,
}

/// A room that waits for its job.
#[derive(Debug)]
struct Spare {
    plan: RoomPlan,
    room: Room,
    site: PathBuf,
}

/// Jobs that want the same room.
#[derive(Debug)]
struct Series {
    plan: RoomPlan,
    last: Instant,
    /// How many rooms are being made for it.
    making: usize,
}

impl Spares {
    pub(crate) fn new(state: &StateDir) -> Self {
        Self {
            state: state.clone(),
            staging: RefCell::default(),
            rooms: RefCell::default(),
            series: RefCell::default(),
            changed: Notify::new(),
            is_watched: Cell::new(false),
        }
    }

    /// Takes a room that was made for such a job, and makes its working folder the job's.
    ///
    /// # Errors
    /// The job's files can't be moved there. Then they are neither here nor there.
    pub(crate) fn take(&self, plan: &RoomPlan, folder: &JobFolder) -> io::Result<Option<Room>> {
        while let Some(spare) = self.find(plan) {
            // One that has died meanwhile is not missed.
            if spare.room.is_alive() {
                return spare.give_to(folder).map(Some);
            }
            let _left_for_the_sweep = fs::remove_dir_all(&spare.site);
        }
        Ok(None)
    }

    fn find(&self, plan: &RoomPlan) -> Option<Spare> {
        let mut rooms = self.rooms.borrow_mut();
        let at = rooms.iter().position(|spare| spare.plan == *plan)?;
        Some(rooms.swap_remove(at))
    }

    /// Says that a job of this kind has come. When it is one of a series, a room is made for the next.
    pub(crate) fn expect_more(context: &Rc<Context>, plan: &RoomPlan) {
        let spares = &context.spares;
        if context.jobs.borrow().len() > FEW {
            return;
        }
        if plan.network != RoomNetwork::None || !plan.volumes.is_empty() || !spares.is_wanted(plan) {
            return;
        }
        let (context, plan) = (context.clone(), plan.clone());
        spawn_local(async move {
            let made = context.spares.make(&plan, &context).await;
            context.spares.made(&context, &plan, made.ok());
        });
    }

    /// Counts the job, and the room that is made for the next if one is.
    fn is_wanted(&self, plan: &RoomPlan) -> bool {
        let (now, rooms) = (Instant::now(), self.rooms.borrow());
        let mut all = self.series.borrow_mut();
        all.retain(|series| series.making > 0 || now - series.last < SERIES);
        let there = all.iter().map(|series| series.making).sum::<usize>() + rooms.len();
        let Some(series) = all.iter_mut().find(|series| series.plan == *plan) else {
            all.push(Series { plan: plan.clone(), last: now, making: 0 });
            return false;
        };
        series.last = now;
        let of_this_kind = rooms.iter().filter(|spare| spare.plan == *plan).count() + series.making;
        let wanted = of_this_kind < OF_A_KIND && there < ALL;
        series.making += usize::from(wanted);
        wanted
    }

    async fn make(&self, plan: &RoomPlan, context: &Rc<Context>) -> io::Result<Spare> {
        let site = self.site()?;
        let work = site.join("work");
        for folder in [&site, &work] {
            DirBuilder::new().mode(0o700).create(folder)?;
        }
        // Goes with the working folder into the job's folder: there it tells whose processes are in the room.
        symlink(&site, site.join(LINK))?;
        let made = Room::make(plan, Site { work: &work, mark: &site }, context).await;
        match made {
            Ok(room) => Ok(Spare { plan: plan.clone(), room, site }),
            Err(_the_next_job_tells) => {
                let _left_for_the_sweep = fs::remove_dir_all(&site);
                Err(io::Error::other("no room"))
            }
        }
    }

    fn site(&self) -> io::Result<PathBuf> {
        let mut staging = self.staging.borrow_mut();
        if let Some(staging) = &*staging {
            return Ok(staging.fresh());
        }
        Ok(staging.insert(Staging::open(&self.state).map_err(io::Error::other)?).fresh())
    }

    fn made(&self, context: &Rc<Context>, plan: &RoomPlan, made: Option<Spare>) {
        let mut series = self.series.borrow_mut();
        if let Some(series) = series.iter_mut().find(|series| series.plan == *plan) {
            series.making -= 1;
        }
        drop(series);
        self.changed.notify_one();
        let Some(spare) = made else { return };
        self.rooms.borrow_mut().push(spare);
        if !self.is_watched.replace(true) {
            let context = context.clone();
            spawn_local(async move { context.spares.close_what_is_over().await });
        }
    }

    /// Closes rooms whose series are over, as long as there are rooms.
    async fn close_what_is_over(&self) {
        while !self.rooms.borrow().is_empty() {
            sleep(SERIES / 4).await;
            let over: Vec<Spare> = {
                let series = self.series.borrow();
                let is_over = |spare: &mut Spare| {
                    let of = series.iter().find(|series| series.plan == spare.plan);
                    of.is_none_or(|series| series.last.elapsed() >= SERIES)
                };
                self.rooms.borrow_mut().extract_if(.., is_over).collect()
            };
            for spare in over {
                spare.close().await;
            }
        }
        self.is_watched.set(false);
    }

    /// Closes all rooms, when there are no more jobs.
    pub(crate) async fn close(&self) {
        let all = async {
            loop {
                let rooms = std::mem::take(&mut *self.rooms.borrow_mut());
                let making = self.series.borrow().iter().any(|series| series.making > 0);
                if rooms.is_empty() && !making {
                    return;
                }
                for spare in rooms {
                    spare.close().await;
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

impl Spare {
    /// Moves its working folder into the place of the job's, with all that was put there for the job.
    fn give_to(self, folder: &JobFolder) -> io::Result<Room> {
        let (own, work) = (self.site.join("work"), folder.work());
        // Takes the place of an empty folder only.
        if fs::rename(&own, &work).is_err() {
            for entry in fs::read_dir(&work)? {
                let entry = entry?;
                fs::rename(entry.path(), own.join(entry.file_name()))?;
            }
            fs::rename(&own, &work)?;
        }
        fs::rename(self.site.join(LINK), folder.room())?;
        let _left_for_the_sweep = fs::remove_dir(&self.site);
        Ok(self.room)
    }

    async fn close(self) {
        self.room.close().await;
        let _left_for_the_sweep = fs::remove_dir_all(&self.site);
    }
}
