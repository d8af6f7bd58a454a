//! Every store passes the suite.

mod sqlite {
    windlass_store::conformance_tests!(on_disk crate::place::Place::new());
}

mod memory {
    use std::sync::Arc;

    use async_trait::async_trait;
    use windlass_store::Store;
    use windlass_store::testing::conformance::Harness;
    use windlass_store::testing::{CountingEntropy, Graveyard, ManualClock, MemoryStore, samples};

    struct InMemory {
        clock: Arc<ManualClock>,
        graveyard: Arc<Graveyard>,
        store: MemoryStore,
    }

    impl InMemory {
        fn new() -> Self {
            let clock = Arc::new(ManualClock::at(samples::TIME));
            let graveyard = Arc::new(Graveyard::default());
            let store = MemoryStore::new(clock.clone(), &CountingEntropy::default())
                .with_processes(graveyard.clone());
            Self { clock, graveyard, store }
        }
    }

    #[async_trait]
    impl Harness for InMemory {
        async fn open(&self) -> Box<dyn Store> {
            Box::new(self.store.clone())
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
