//! A process is killed while it commits, and another continues.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use windlass_model::Seq;
use windlass_store::testing::samples::{self, message};
use windlass_store::{Holder, Processes, SqliteStore, Store, StoreError, SystemProcesses, SystemUptime};

use crate::place::Place;

const KILLS: u64 = 25;

struct Victim {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Victim {
    fn start(folder: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-store-victim"));
        let mut child = command.arg("commit").arg(folder).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads the number of the next durable batch; `None` once the process is dead and everything was read.
    fn acknowledged(&mut self) -> Option<u32> {
        self.lines.next().map(|line| line.unwrap().parse().unwrap())
    }

    /// Kills the process after `count` acknowledgements. Returns the last number that it acknowledged.
    fn kill_after(mut self, count: u64) -> u32 {
        let mut last = 0;
        for _ in 0..count {
            last = self.acknowledged().expect("it runs until it is killed");
        }
        self.child.kill().unwrap();
        while let Some(later) = self.acknowledged() {
            last = later;
        }
        self.child.wait().unwrap();
        last
    }
}

/// A program that commits batches is killed. The store must contain every acknowledged batch. The store may contain
/// later batches too, but each stored batch must be complete. No batch before a stored batch may be missing.
#[tokio::test]
async fn nothing_acknowledged_is_lost_and_nothing_is_half_there() {
    let place = Place::new();
    let folder = place.path().parent().unwrap().to_owned();
    let mut random: u64 = 0x2545_f491_4f6c_dd1d;
    for kill in 1..=KILLS {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(kill);
        let acknowledged = Victim::start(&folder).kill_after(1 + (random >> 33) % 40);

        let store = place.store();
        let snapshot = store.load(&samples::name("h_bta")).await.unwrap().unwrap();
        let there = snapshot.elements.values().next().unwrap().progress;
        assert!(
            there >= acknowledged,
            "batch {acknowledged} was acknowledged, {there} is the last one there"
        );
        assert_eq!(snapshot.instances.values().next().unwrap().revision, u64::from(there));
        let events = store.events(Seq::START, usize::MAX).await.unwrap();
        let told: Vec<u32> = events.iter().map(|event| message(&event.draft).parse().unwrap()).collect();
        assert_eq!(told, (1..=there).collect::<Vec<_>>());
    }
}

/// The kernel distinguishes living from dead processes, including zombies.
#[tokio::test]
async fn a_killed_process_is_dead_and_a_running_one_is_not() {
    let place = Place::new();
    let mut victim = Victim::start(place.path().parent().unwrap());
    victim.acknowledged();
    // The victim uses the clocks of this machine.
    let options = place.options().uptime(Arc::new(SystemUptime));
    let store = SqliteStore::open(place.path(), options).unwrap();
    let error = store.lease(&samples::name("h_bta"), &samples::holder(1)).await.unwrap_err();
    let StoreError::Held { by: holder, .. } = error else { panic!("{error}") };
    assert!(!SystemProcesses.is_dead(&holder));
    assert!(
        SystemProcesses.is_dead(&Holder { started: holder.started + 1, ..(*holder).clone() }),
        "a reused pid"
    );
    let elsewhere = Holder { realm: "elsewhere".into(), started: 1, ..(*holder).clone() };
    assert!(!SystemProcesses.is_dead(&elsewhere), "nothing is known of another machine");

    victim.child.kill().unwrap();
    let pid = Pid::from_child(&victim.child);
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    assert!(SystemProcesses.is_dead(&holder), "its parent has not asked for it yet");
    victim.child.wait().unwrap();
    assert!(SystemProcesses.is_dead(&holder));
}
