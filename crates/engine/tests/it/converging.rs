//! A user has cancelled a process while an instance was still changing. Its call stays open, but no process was
//! interrupted.

#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::time::Duration;

use tokio::time::sleep;
use windlass_engine::{Absence, CheckEnd, Consent, EngineError, Request, Selection, Stop, check};
use windlass_model::record::{Effect, Intent, ProcessStatus};
use windlass_model::rename::Renaming;
use windlass_store::Batch;

use crate::support::puppet::Act;
use crate::support::{Rig, Sketch, assembly_name, element};

/// Executes a request, and cancels it after five seconds.
async fn cancelled(rig: &Rig, request: impl Into<Request>) {
    let stop = Stop::default();
    let (ended, ()) = tokio::join!(rig.ask_until("t", request.into(), &stop), async {
        sleep(Duration::from_secs(5)).await;
        stop.request();
    });
    assert_eq!(ended.unwrap().process.status, ProcessStatus::Cancelled);
}

/// A user has begun a `down` by mistake, and has cancelled it during the first Stop. Commands that need an unchanging
/// assembly must not advise `windlass retry`, because a retry continues the `down`. The retry itself must ask for
/// consent. With an `up`, the assembly stays, and the commands succeed.
#[tokio::test(start_paused = true)]
async fn a_cancelled_removal_is_not_to_be_resumed() {
    let rig = Rig::new(Effect::Once);
    let sketch = Sketch::new(&["a", "b"]).relate("a", "b");
    rig.up(sketch.desired()).await.unwrap();
    for part in ["a Stop", "b Stop"] {
        rig.strings.act(part, Act::Converge(12));
    }
    cancelled(&rig, Intent::Down).await;

    let (engine, holder) = rig.engine();
    let (name, upkeep) = (assembly_name("t"), engine.upkeep());
    let renaming = Renaming { from: name.clone(), to: assembly_name("u") };
    let part = element("t__a");
    let refusals = [
        upkeep.hand_over(&name, &holder).await.map(drop),
        upkeep.can_hand_over(&name).await,
        upkeep.rename(&renaming, Batch::new(), &holder, &Stop::default()).await.map(drop),
        upkeep.forget(&name, None, &holder).await.map(drop),
        upkeep.forgettable(&name, Some(&part)).await.map(drop),
    ];
    for refusal in refusals {
        let refusal = refusal.unwrap_err();
        assert!(matches!(refusal, EngineError::Converging { .. }), "{refusal}");
        assert!(!refusal.to_string().contains("retry"), "{refusal}");
    }
    let retry = Request::from(Intent::Retry).with_consent(Consent::None);
    let refused = rig.ask("t", retry).await.map(|ended| ended.process.status);
    assert!(matches!(refused, Err(EngineError::NeedsConsent(_))), "{refused:?}");

    assert_eq!(rig.up(sketch.desired()).await.unwrap().process.status, ProcessStatus::Completed);
    upkeep.hand_over(&name, &holder).await.unwrap().abandon().await;
}

/// An instance is converging, and a `down` of the other parts leaves it so. The list of the omitted changes must name the
/// removal of its part.
#[tokio::test(start_paused = true)]
async fn an_omitted_removal_is_shown_as_a_removal() {
    for call in ["a Install", "a Stop", "a Uninstall"] {
        let rig = Rig::new(Effect::Once);
        let up = Request::up(Sketch::new(&["a", "b"]).desired());
        if call != "a Install" {
            rig.ask("t", up.clone()).await.unwrap();
        }
        rig.strings.act(call, Act::Converge(100));
        cancelled(&rig, if call == "a Install" { up } else { Intent::Down.into() }).await;
        let (engine, holder) = rig.engine();
        let only = Selection { except: [element("t__a")].into(), ..Selection::default() };
        let down = Request::from(Intent::Down).limited_to(only);
        let prepared = engine.prepare(&assembly_name("t"), down, &holder, &Stop::default()).await.unwrap();
        let shown = prepared.undone().to_string();
        assert!(shown.contains("- a removed"), "{call}: {shown}");
    }
}

/// A health check of a part whose removal is converging must not claim that the outcome of a call is unknown.
#[tokio::test(start_paused = true)]
async fn a_converging_call_is_no_unknown_outcome() {
    let rig = Rig::new(Effect::Once);
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    rig.strings.act("a Uninstall", Act::Converge(100));
    cancelled(&rig, Intent::Down).await;
    let (engine, holder) = rig.engine();
    let name = assembly_name("t");
    let checked = check(&engine, std::slice::from_ref(&name), Absence::Doubted, &holder, &Stop::default())
        .await
        .unwrap();
    let CheckEnd::Dropped(why) = &checked[0].end else { panic!("{:?}", checked[0].end) };
    assert_eq!(
        why,
        "a change of its instance has not ended, and the next command waits for it; `windlass status t` shows the call"
    );
}
