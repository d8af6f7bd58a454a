//! Work of the daemon other than monitoring: executing requests, and resuming interrupted processes.

use windlass_engine::{Ended, EngineError, Request, Resumed, demanding_rollback, is_destroyed, resume};
use windlass_model::AssemblyName;
use windlass_model::record::{Intent, ProcessRecord};
use windlass_model::request::RequestRecord;

use crate::input::REFRESH_TIMEOUT;

use super::work::{Context, Message};
use super::{Daemon, Notice};

impl Daemon<'_> {
    /// Begins the queued requests, oldest first. At most one intent runs on each assembly.
    pub(super) async fn take_up(&mut self) {
        let requests = self.store.requests().await;
        self.awaited.clear();
        for request in self.answered(requests).into_iter().flatten() {
            self.begin(request);
        }
        self.begin_waiting().await;
    }

    fn begin(&mut self, request: RequestRecord) {
        if self.stop.is_requested() || self.busy.contains(&request.assembly) {
            return;
        }
        // A discovery or a health check is running for the factory, and holds the factory's lease. The request
        // waits until this task ends. The next such task of the factory begins after the request.
        if self.discovering.contains(&request.assembly) || self.checking.contains(&request.assembly) {
            self.awaited.insert(request.assembly);
            return;
        }
        if !self.tried.insert(request.id) {
            return;
        }
        let (assembly, what) = (request.assembly.clone(), request.title());
        let context = self.work.context.clone();
        self.put_to_work(assembly, what, async move { taken_up(&context, request).await });
    }

    /// Resumes processes that were interrupted while a daemon executed them. Also begins the rollbacks that failed
    /// processes of daemons demand.
    pub(super) async fn go_on(&mut self) {
        let left = self.store.open_processes().await;
        let mut left = self.answered(left).unwrap_or_default();
        for assembly in self.failed_changes.clone() {
            let demanding = demanding_rollback(&*self.store, &assembly).await;
            left.extend(self.answered(demanding).flatten());
        }
        for process in left.into_iter().filter(|process| process.unattended) {
            let held = !matches!(self.store.holder(&process.assembly).await, Ok(None));
            if held || self.busy.contains(&process.assembly) || self.stop.is_requested() {
                continue;
            }
            // Each process is resumed only once. If it is refused or interrupted again, the user must solve its
            // problem.
            if self.resumed.insert(process.id) {
                let (context, assembly) = (self.work.context.clone(), process.assembly.clone());
                let what = process.follow_up.as_ref().map_or_else(|| process.title(), Intent::to_string);
                self.put_to_work(assembly, what, async move { resumed(&context, process).await });
            }
        }
    }

    /// Starts a task that executes the `intent` of a policy on an assembly. `what` describes the intent in notices, for example `scale
    /// out B`.
    pub(super) fn change(&mut self, assembly: AssemblyName, what: String, intent: Intent) {
        let (context, name) = (self.work.context.clone(), assembly.clone());
        let request = Request::of_policy(intent, REFRESH_TIMEOUT);
        self.put_to_work(assembly, what, async move { context.carry_out(&name, request).await.map(Some) });
    }

    /// Starts a task that removes the records of an application whose instance no longer exists. Before the task runs,
    /// a new application may get the same name. The task does not remove an application that has an instance.
    pub(super) fn remove_destroyed(&mut self, application: AssemblyName) {
        let (context, name) = (self.work.context.clone(), application.clone());
        let removed = async move {
            let found = context.engine.store.load_sealed(&name).await?;
            if !found.is_some_and(|found| is_destroyed(&found)) {
                return Ok(None);
            }
            // No instance of the application exists, so its removal runs no script.
            context.carry_out(&name, Intent::Down).await.map(Some)
        };
        self.put_to_work(application, "remove what is destroyed".to_owned(), removed);
    }

    /// Runs the future `intent`, which changes `assembly`, in a new task. Until the task ends, the daemon ignores
    /// incoming values of the metrics of `assembly`.
    fn put_to_work(
        &mut self,
        assembly: AssemblyName,
        what: String,
        intent: impl Future<Output = Result<Option<Ended>, EngineError>> + Send + 'static,
    ) {
        self.busy.insert(assembly.clone());
        self.roster.pause(&assembly);
        self.work.intent(assembly, what, intent);
    }
}

/// Resumes an interrupted process, or begins the rollback that a failed process demands. Returns `None` if nothing is
/// left to do, or if the process can't be resumed now. In the second case, the daemon tries again later.
async fn resumed(context: &Context, interrupted: ProcessRecord) -> Result<Option<Ended>, EngineError> {
    let (process, assembly) = (interrupted.id, interrupted.assembly.clone());
    let resumed = resume(&context.engine, &interrupted, REFRESH_TIMEOUT, &context.holder, &context.stop);
    let prepared = match Box::pin(resumed).await {
        Err(error) if error.will_pass() => {
            context.send(Message::NotResumed { assembly, process, why: error }).await;
            return Ok(None);
        }
        // Another program has begun the rollback.
        Ok(Resumed::Ended(_)) if interrupted.follow_up.is_some() => return Ok(None),
        Ok(Resumed::Ended(ended)) => {
            context.tell(Notice::Ended { assembly, process, status: ended.status }).await;
            return Ok(None);
        }
        Ok(Resumed::Continued(prepared)) => prepared,
        Ok(_) => return Ok(None),
        Err(error) => return Err(error),
    };
    let notice = match &interrupted.follow_up {
        Some(rollback) => {
            let (what, because) = (rollback.to_string(), format!("{process} has failed"));
            Notice::Acts { assembly, what, because }
        }
        None => Notice::ProcessResumes { assembly, process, what: interrupted.title() },
    };
    context.tell(notice).await;
    context.tell_omitted(&prepared).await;
    prepared.run(&context.stop).await.map(Some)
}

/// Begins a request and executes its process. Returns `None` if the request has to wait or has already ended.
async fn taken_up(context: &Context, request: RequestRecord) -> Result<Option<Ended>, EngineError> {
    let prepared = match Box::pin(context.engine.take_up(&request, &context.holder, &context.stop)).await {
        Err(error) if error.will_pass() => return Ok(None),
        prepared => prepared?,
    };
    let what = request.title();
    let RequestRecord { id, assembly, intent, by, .. } = request;
    if intent == Intent::Down {
        context.note_removal(&assembly).await;
    }
    context.tell(Notice::RequestBegins { assembly, request: id, what, by }).await;
    prepared.run(&context.stop).await.map(Some)
}
