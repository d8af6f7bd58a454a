//! Every store passes the conformance suite.

mod sqlite {
    windlass_store::conformance_tests!(on_disk crate::place::Place::new());
}

mod memory {
    use std::sync::Arc;
    use std::time::Duration;

    use async_trait::async_trait;
    use windlass_model::AssemblyName;
    use windlass_store::Store;
    use windlass_store::testing::conformance::Harness;
    use windlass_store::testing::{
        CountingEntropy, Graveyard, ManualClock, MemoryStore, SkewedClock, samples,
    };

    struct InMemory {
        clock: Arc<ManualClock>,
        time: Arc<ManualClock>,
        graveyard: Arc<Graveyard>,
        store: MemoryStore,
    }

    impl InMemory {
        fn new() -> Self {
            let clock = Arc::new(ManualClock::at(samples::TIME));
            let graveyard = Arc::new(Graveyard::default());
            let time = Arc::new(ManualClock::at(samples::TIME));
            let store = MemoryStore::new(time.clone(), &CountingEntropy::default())
                .with_clock(clock.clone())
                .with_processes(graveyard.clone());
            Self { clock, time, graveyard, store }
        }
    }

    #[async_trait]
    impl Harness for InMemory {
        async fn open(&self) -> Box<dyn Store> {
            Box::new(self.store.clone())
        }

        async fn open_askew(&self, millis: i64) -> Box<dyn Store> {
            let clock = Arc::new(SkewedClock::new(self.clock.clone(), millis));
            Box::new(self.store.clone().with_clock(clock))
        }

        async fn advance(&self, by: Duration) {
            self.clock.advance(by);
            self.time.advance(by);
        }

        async fn sabotage(&self, scope: &AssemblyName) {
            self.store.sabotage(scope.clone());
        }

        fn clock(&self) -> &ManualClock {
            &self.clock
        }

        fn graveyard(&self) -> &Graveyard {
            &self.graveyard
        }
    }

    windlass_store::conformance_tests!(InMemory::new());
}
