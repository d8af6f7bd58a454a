//! What the long-running mode does beside watching: what others ask, and what was left unfinished.

use futures::FutureExt as _;
use windlass_engine::{Ask, Ended, Stale};
use windlass_model::AssemblyName;
use windlass_model::record::ProcessRecord;
use windlass_model::request::RequestRecord;

use super::{Daemon, Done, Notice};
use crate::error::Error;

impl<'a> Daemon<'a> {
    /// Takes up what others ask, one intent an assembly, oldest first.
    pub(super) async fn take_up(&mut self) {
        match self.store.requests().await {
            Ok(requests) => requests.into_iter().for_each(|request| self.begin(request)),
            Err(error) => (self.tell)(Notice::Trouble(error.to_string())),
        }
    }

    fn begin(&mut self, request: RequestRecord) {
        if self.stop.soon.is_cancelled() || self.at_work.contains(&request.assembly) {
            return;
        }
        if !self.tried.insert(request.id) {
            return;
        }
        let (assembly, what) = (request.assembly.clone(), request.intent.to_string());
        let (windlass, stop, tell) = (self.windlass, self.stop.clone(), self.tell);
        let engine = windlass.engine(self.store.clone());
        let name = assembly.clone();
        self.put_to_work(assembly, what, async move {
            let prepared = match Box::pin(engine.take_up(&request, &windlass.holder(), &stop)).await {
                // It waits for its turn, or has had it.
                Err(error) if error.will_pass() => return Ok(None),
                prepared => prepared?,
            };
            tell(Notice::TakesUp {
                assembly: name,
                request: request.id,
                what: request.intent.to_string(),
                by: request.by,
            });
            Ok(Some(prepared.run(&stop).await?))
        });
    }

    /// Goes on with what was interrupted while a long-running mode ran it.
    pub(super) async fn go_on(&mut self) {
        let left = match self.store.open_processes().await {
            Ok(left) => left,
            Err(error) => return (self.tell)(Notice::Trouble(error.to_string())),
        };
        for process in left.into_iter().filter(|process| process.unattended) {
            let ProcessRecord { id, assembly, intent, .. } = process;
            let held = !matches!(self.store.holder(&assembly).await, Ok(None));
            if held || self.at_work.contains(&assembly) || self.stop.soon.is_cancelled() {
                continue;
            }
            // Once: what stands against it is told once, and is for a person to see to.
            if self.gone_on_with.insert(id) {
                let what = intent.to_string();
                (self.tell)(Notice::GoesOn { assembly: assembly.clone(), process: id, what: what.clone() });
                self.change(assembly, what, Ask::Retry { assume: None });
            }
        }
    }

    /// Changes an assembly.
    pub(super) fn change(&mut self, assembly: AssemblyName, what: String, ask: Ask) {
        let (windlass, stop, name) = (self.windlass, self.stop.clone(), assembly.clone());
        self.put_to_work(assembly, what, async move {
            let started = windlass.change(&name, ask, &stop).await?;
            started.run(&stop).await.map(Some)
        });
    }

    /// Runs an intent beside all else. It tells how it ended; one that found nothing to do tells nothing.
    fn put_to_work(
        &mut self,
        assembly: AssemblyName,
        what: String,
        intent: impl Future<Output = Result<Option<Ended>, Error>> + Send + 'a,
    ) {
        self.at_work.insert(assembly.clone());
        let (windlass, stop) = (self.windlass, self.stop.clone());
        let carry_out = async move {
            let mut ended = intent.await;
            let mut left = Stale::default();
            while let Ok(Some(before)) = &ended
                && before.goes_on(&left)
            {
                left.clone_from(&before.stale);
                ended = match windlass.change(&assembly, Ask::Retry { assume: None }, &stop).await {
                    Ok(started) => started.run(&stop).await.map(Some),
                    Err(error) => Err(error),
                };
            }
            let notice = match ended {
                Ok(ended) => ended.map(|ended| Notice::Ended {
                    assembly: assembly.clone(),
                    process: ended.process.id,
                    status: ended.process.status,
                }),
                Err(error) => {
                    Some(Notice::Refused { assembly: assembly.clone(), what, why: error.to_string() })
                }
            };
            Done::Intent { assembly, notice }
        };
        self.work.push(carry_out.boxed());
    }
}
