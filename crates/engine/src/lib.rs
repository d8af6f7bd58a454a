//! Executes intents on assemblies. A crash loses no recorded progress.
//!
//! An [`Intent`](windlass_model::record::Intent) is a request to change one assembly, such as `up`, `scale` or
//! `down`. The [`Engine`] takes the lease of the assembly. An earlier process may have left *open calls*: calls
//! whose end is not recorded, for example because windlass was killed. The engine *settles* each open
//! call: it repeats the call, so that the end of the call is recorded. Then the engine lets the planner make a
//! plan, and executes the plan. Every change is durable in the store before the engine reports the change. If
//! the same intent is repeated after a crash, the engine finds the jobs of each open call, and continues from
//! the records.
//!
//! ```text
//! Request ─▶ Engine::prepare ─▶ Prepared { plan } ─▶ run ─▶ Ended
//!              │ lease, settle, plan                   │
//!              ▼                                       ▼
//!            store ◀── commit ── host ◀─ commands ─ machine   (pure: on(now, event) → commands)
//!                                 │                     ▲
//!                                 └─ perform, observe ──┘ events
//! ```
//!
//! The engine uses the traits `Driver`, `Store` and [`Places`]. It contains no driver, no SQL and no rule of
//! the lifecycle. The crate `windlass` connects the engine with drivers, stores and the planner. Most programs
//! use the crate `windlass`.
//!
//! # Example
//!
//! An assembly with one component, whose driver does nothing, comes up:
//!
//! ```
//! # use std::collections::BTreeMap;
//! # use std::sync::Arc;
//! # use windlass_driver::noop::Noop;
//! # use windlass_driver::{Binding, Bindings, Location, Package, Placement, Registry};
//! # use windlass_engine::{Desired, Engine, EngineEnv, JobSlots, Options, Places, Request, Stop, UpOptions};
//! # use windlass_executor::Runtime;
//! # use windlass_model::assembly::{Element, ElementKind, Topology};
//! # use windlass_model::clock::SystemClock;
//! # use windlass_model::{State, Transition};
//! # use windlass_store::Holder;
//! # use windlass_store::testing::{CountingEntropy, MemoryStore};
//! /// The locations of the example: every name means this machine. No job runs, so no runtime is needed.
//! struct ThisMachine;
//!
//! #[async_trait::async_trait]
//! impl Places for ThisMachine {
//!     fn location(&self, placement: &Placement) -> Result<Location, String> {
//!         Ok(Location::local(placement.location.as_deref().unwrap_or("here")))
//!     }
//!
//!     fn check(&self, _: &Location) -> Result<(), String> {
//!         Ok(())
//!     }
//!
//!     async fn runtime(&self, _: &Location) -> Result<Arc<dyn Runtime>, String> {
//!         Err("there is no runtime".to_owned())
//!     }
//!
//!     async fn runtimes(&self) -> Result<Vec<Arc<dyn Runtime>>, String> {
//!         Ok(Vec::new())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let element = |name: &str, kind, descriptor: &str| -> Result<Element, Box<dyn std::error::Error>> {
//! #     Ok(Element {
//! #         name: name.parse()?,
//! #         kind,
//! #         parent: None,
//! #         component: None,
//! #         index: None,
//! #         key: None,
//! #         descriptor: descriptor.parse()?,
//! #         properties: Default::default(),
//! #         transitions: Default::default(),
//! #         operations: Default::default(),
//! #         metrics: Default::default(),
//! #         cluster: None,
//! #         referent: None,
//! #         origin: None,
//! #         protected: false,
//! #         on_package_change: None,
//! #         update: None,
//! #     })
//! # };
//! # let root = element("shop", ElementKind::Assembly, "assembly::shop::1.0")?;
//! # let mut part = element("shop__db", ElementKind::Resource, "resource::db::1.0")?;
//! # part.parent = Some("shop".parse()?);
//! # part.component = Some("db".parse()?);
//! # part.transitions = [Transition::Install, Transition::Start].into();
//! # let binding = Binding {
//! #     driver: "noop".parse()?,
//! #     infrastructure: vec!["*".to_owned()],
//! #     properties: BTreeMap::new(),
//! # };
//! # let bindings = Bindings {
//! #     transitions: [Transition::Install, Transition::Start].map(|transition| (transition, Vec::new())).into(),
//! #     default: vec![binding],
//! #     ..Bindings::default()
//! # };
//! # let package = Package::new("resource::db::1.0".parse()?, bindings, Vec::new());
//! # let desired = Desired {
//! #     topology: Topology::new("shop".parse()?, vec![root, part], Vec::new()),
//! #     descriptor: "assembly::shop::1.0".parse()?,
//! #     owner: None,
//! #     application: None,
//! #     parameters: BTreeMap::new(),
//! #     secrets: BTreeMap::new(),
//! #     packages: vec![package.into()],
//! #     options: UpOptions::default(),
//! # };
//! # let (clock, entropy) = (Arc::new(SystemClock), Arc::new(CountingEntropy::seeded(1)));
//! let env = EngineEnv {
//!     drivers: Registry::new().with(Noop),
//!     places: Arc::new(ThisMachine),
//!     slots: JobSlots::default(),
//!     clock: clock.clone(),
//!     entropy: entropy.clone(),
//!     home: "this machine".to_owned(),
//! };
//! let store = Arc::new(MemoryStore::new(clock, &*entropy));
//! let engine = Engine { store, env, options: Options::default() };
//!
//! let stop = Stop::default();
//! let holder = Holder::current("example");
//! let prepared = engine.prepare(&"shop".parse()?, Request::up(desired), &holder, &stop).await?;
//! let steps: Vec<String> = prepared.plan().work().map(|(_, work)| work.to_string()).collect();
//! assert_eq!(steps, ["db Install", "db Start", "db (Inactive)"]);
//! let ended = prepared.run(&stop).await?;
//! assert_eq!(ended.reached, State::Active);
//! # Ok(())
//! # }
//! ```
//!
//! # Modules
//!
//! The modules, in the recommended reading order. A *pair* in this table is a relationship between two nodes.
//!
//! | module | content |
//! |---|---|
//! | [`error`], [`codes`] | errors of intents, and their codes |
//! | [`places`], `slots` | the locations of a project, and the limits of concurrent jobs at locations |
//! | `world` | an assembly in memory: its topologies and states, and its secrets, instances, pairs and packages |
//! | `values` | computes values from a world: properties, inputs of calls, and outputs |
//! | `applied_inputs`, `outdated_inputs` | the recorded inputs of each pair; the outdated inputs of parts and pairs |
//! | `current` | the present state of an assembly, as input of the planner |
//! | `sealing` | finds secrets in values, masks them, and replaces them by markers |
//! | `report` | applies reports of drivers to a world, and encrypts the secrets in the reports |
//! | `package_diffs` | the files that differ between the installed and the desired package of a part |
//! | `command_arguments`, `commands` | the sealed arguments of commands; the records of commands, with their results |
//! | `runner` | decides which steps of a plan may start |
//! | [`call_outcome`] | the outcome of a call, computed from the report of its driver |
//! | [`check_failure`], [`halving`] | the recorded failure of a health check; the bad elements of a failed batch |
//! | `recordings`, `recorder` | keep the input and output of some jobs of applications, for the authors of scripts |
//! | `exported` | the instances of exported applications |
//! | `kinship` | finds the other factories of the same manifest |
//! | `parameters` | the parameters of an assembly, with the values of its secrets |
//! | `claim` | claims the natural ids of applications in the store |
//! | `journal` | the records of jobs, before and after they run |
//! | `panic` | converts faults of drivers, such as panics, to failures |
//! | [`host`] | runs a machine: keeps its timers, awaits the work of its commands, and reacts to a stop |
//! | `machine`, `dispatch` | the machine that executes a plan; its commands, such as commits and calls of drivers |
//! | `keeper` | the renewal of leases, and the requests in the store to stop a process |
//! | [`monitor`] | decides when policies start intents, from the samples of metrics and the time |
//! | [`schedule`], `scheduler` | start the repeated duties of a daemon when they are due |
//! | [`engine`] | the functions for programs: prepare, run and preview intents, check health, and more |

mod applied_inputs;
pub mod call_outcome;
pub mod check_failure;
mod claim;
pub mod codes;
mod command_arguments;
mod commands;
mod current;
mod dispatch;
pub mod engine;
pub mod error;
mod exported;
pub mod halving;
pub mod host;
mod journal;
mod keeper;
mod kinship;
mod machine;
pub mod monitor;
mod outdated_inputs;
mod package_diffs;
mod panic;
mod parameters;
pub mod places;
mod recorder;
pub mod recordings;
mod report;
mod runner;
pub mod schedule;
mod scheduler;
mod sealing;
mod slots;
mod values;
mod work_time;
mod world;

pub use claim::claimed;
pub use commands::{KEPT_COMMANDS, command};
pub use engine::{
    Absence, Answer, Argument, Arguments, BaseVersion, Bundle, CheckEnd, Checked, Condition, Consent,
    Desired, DestructivePlan, DiscoveryQuery, DutyTurn, Ended, Engine, EngineEnv, FactoryDuty, ForgottenPart,
    ForgottenRecords, FoundRecorder, HandOver, Offer, OmittedChanges, Options, PlanFingerprint, Prepared,
    Preview, Pruned, PublishedOutputs, RecordedSecrets, Request, Resumed, Seen, Selection, Turn, TurnTime,
    UpOptions, Upkeep, calls_of, check, check_under, conditions, demanding_rollback, fingerprint, inventory,
    is_destroyed, may_demand_rollback, monitor_of, offer, outputs, resume, take_turn,
};
pub use error::{EngineError, Lack, Loss, MovedTo, NameUse, ProtectedPart, Unplaced};
pub use exported::{ExportedInstance, exported_instances};
pub use kinship::{Kinship, kinship};
pub use machine::Tally;
pub use outdated_inputs::OutdatedInputs;
pub use parameters::parameters_of;
pub use places::Places;
pub use scheduler::Scheduler;
pub use slots::JobSlots;
pub use windlass_driver::Stop;
