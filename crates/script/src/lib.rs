//! The driver `script`, which runs scripts. There are two styles of scripts: full scripts read and print YAML
//! documents, and plain scripts read and write files.
//!
//! A script is any program: shell, Python, a binary. A person who can write a script can make windlass manage a new
//! type of resource. A script of the full [style](Style) reads its input document on stdin, performs the action, and
//! prints the changes on stdout. The stderr of a full script is for messages.
//!
//! # A package
//!
//! ```text
//! resource.yaml                              lifecycle: {Install: {}, Start: {}, Uninstall: {}}
//!                                            operations: {Join: {}}
//!                                            default-driver: {script: {properties: {effect: repeatable}}}
//! Lifecycle/script/scripts/Install.sh        or launch.*
//! Lifecycle/script/scripts/Start.sh
//! Lifecycle/script/scripts/Uninstall.sh      or destroy.*
//! Lifecycle/script/scripts/Join.sh
//! Lifecycle/script/lib/…                     whatever the scripts share
//! ```
//!
//! A script serves the action whose name is the script's file name without extension. If an action has no such
//! script, the script with the name of the action's [`Role`] serves the action. A script runs in a copy of
//! `Lifecycle/script`. A script needs its executable bit, and a first line that names its interpreter. The method
//! [`check`](windlass_driver::Driver::check) reports violations of these rules before any script runs.
//!
//! # Input and output
//!
//! | role | reads, in addition to `configuration: {location.<name>: …}` | prints |
//! |---|---|---|
//! | launch | `launch: {<instance id>: {configuration: {properties.<name>: …}}}` | `instances: {<natural id>: {instanceId: <instance id>}}` |
//! | step | `instances: {<natural id>: {configuration: …}}`, `transition: <name>` | updates |
//! | reconfigure | `instances: {<natural id>: {configuration: …}}` | updates |
//! | health check | `instances: {<natural id>: {configuration: …}, …}` | the status of each instance |
//! | destroy | `instances: {<natural id>: {configuration: …}}` | a status with all flags false |
//! | command | `instances: {<natural id>: {configuration: …, commands: {<command id>: {operations: {<operation>: {<argument>: …}}}}}}` | updates, results at `$pushAll: {commands.<command id>: […]}` |
//! | discover | | `instances: {<natural id>: …}` |
//!
//! Updates have the form described in [`windlass_model::instance`]. In this form, a *signal* is a named value that an
//! instance reports, and an *interface* is a named group of signals. The signals of the interface `properties` are
//! the output properties of the instance. If a script prints nothing, nothing changes. Only a launch must print
//! something.
//!
//! The call has succeeded if the script exits with code 0, its output is valid, and the reported status is
//! not `failed`. While the status is `converging`, the engine polls the health check.
//!
//! # Plain scripts
//!
//! The driver property `style: plain` selects this style.
//!
//! | variable | path |
//! |---|---|
//! | `WINDLASS_IN` | a folder with a file for each property, and `properties.json` with all of them |
//! | `WINDLASS_ARGUMENTS` | a folder with a file for each argument, and `arguments.json` with all of them |
//! | `WINDLASS_LOCATION` | a folder with a file for each location property, and `location.json` with all of them |
//! | `WINDLASS_ID_FILE` | a file with the id of the instance; a launch may write another id to the file |
//! | `WINDLASS_OUT` | a folder for output properties: `address` with a text, `address.json` with JSON |
//! | `WINDLASS_METRICS` | a folder for metrics, with files as in `WINDLASS_OUT` |
//!
//! The exit code of a script has these meanings:
//!
//! | exit code | health check | discover | any other script |
//! |---|---|---|---|
//! | 0 | the instance is active | success | success |
//! | 75 | the instance is still converging | failure | the instance is still converging |
//! | 104 | the instance no longer exists | failure | failure |
//! | another code from 1 to 125 | the instance is not active | failure | failure |
//! | above 125 | failure | failure | failure |
//!
//! The script `discover` prints one JSON object on each line, with the entry `id` and the properties of an
//! instance.
//!
//! # An example
//!
//! ```
//! use std::sync::Arc;
//! use windlass_driver::{Binding, Bindings, Call, Driver, Location, Package};
//! use windlass_model::{Action, Transition, record::PackageFile, resolve::Resolved};
//! use windlass_script::Script;
//! # use serde_json::json;
//! # use windlass_driver::{Context, Failure, JobFailure, Report};
//! # use windlass_executor::{Captured, End, Job, Outcome};
//! # /// Answers as `Install.sh` would, without running it.
//! # struct Rehearsal;
//! # #[async_trait::async_trait]
//! # impl Context for Rehearsal {
//! #     async fn job(&self, name: &str, job: Job) -> Result<Outcome, JobFailure> {
//! #         assert_eq!((name, job.program.as_str()), ("launch", "scripts/Install.sh"));
//! #         assert_eq!(job.stdin.expose(), b"configuration: {}\nlaunch:\n  web42:\n    configuration:\n      properties.port: \"8080\"\n");
//! #         let mut outcome = Outcome::new(End::Exited(0), windlass_executor::Timestamp::from_millis(0));
//! #         outcome.stdout = Captured::whole(*b"instances:\n  i-7:\n    instanceId: web42\n    interfaces: {properties: {signals: {url: http://203.0.113.1:8080}}}\n");
//! #         Ok(outcome)
//! #     }
//! #     async fn checkpoint(&self, _: usize, _: Report) -> Result<(), Failure> { Ok(()) }
//! #     fn hide(&self, _: &[String]) {}
//! #     fn cancelled(&self) -> bool { false }
//! #     fn now(&self) -> windlass_model::Timestamp { windlass_model::Timestamp::default() }
//! # }
//!
//! let install = PackageFile {
//!     path: "Lifecycle/script/scripts/Install.sh".into(),
//!     executable: true,
//!     content: b"#!/bin/sh
//! cat <<ANSWER
//! instances:
//!   i-7:
//!     instanceId: $(sed -n '/^launch:$/{n;s/ *\\(.*\\):$/\\1/p;}')
//!     interfaces: {properties: {signals: {url: http://203.0.113.1:8080}}}
//! ANSWER
//! ".into(),
//! };
//! let script = Binding { driver: "script".parse()?, infrastructure: vec!["*".into()], properties: [].into() };
//! let bindings = Bindings {
//!     transitions: [(Transition::Install, vec![])].into(),
//!     default: vec![script.clone()],
//!     ..Bindings::default()
//! };
//! let package = Package::new("resource::web::1.0".parse()?, bindings, vec![install]);
//! assert_eq!(Script::default().check(&package), []);
//!
//! let call = Call {
//!     id: "st1-p1-s1-c1".parse()?,
//!     instance: "web42".parse()?,
//!     element: "shop__web".parse()?,
//!     action: Action::Transition(Transition::Install),
//!     properties: [("port".parse()?, Resolved::plain("8080"))].into(),
//!     package: Arc::new(package),
//!     binding: script,
//!     location: Arc::new(Location::local("here")),
//! #   sensitive: [].into(), attempt: 1, natural: None, document: json!({}), configuration: [].into(), arguments: [].into(), pair: None, open_commands: [].into(), question: Default::default(), private: Default::default(),
//!     // …
//! };
//! # let context = Rehearsal;
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let report = Script::default().perform(&context, &[call]).await.remove(0)?;
//! assert_eq!(report.natural.as_deref(), Some("i-7"));
//! assert_eq!(report.updates["interfaces"]["properties"]["signals"]["url"], "http://203.0.113.1:8080");
//! # Ok::<(), Failure>(())
//! # }).map_err(|failure| failure.to_string())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules, in data-flow order
//!
//! | module | content |
//! |---|---|
//! | `role`, `style` | the role and the style of a script: [`Role`], [`Style`] |
//! | `scripts` | the mapping from actions to script files |
//! | `binding` | the bindings of a package for this driver: [`KIND`] |
//! | `settings` | the driver properties, such as `timeout` and `style`; default timeouts |
//! | `check` | checks of a package |
//! | `keys`, `input` | the keys of documents; the input document of a script |
//! | `request` | the reading of an input document: [`Request`] |
//! | `job` | the job that runs a script |
//! | `output` | the output document of a script: [`Output`] |
//! | `natural` | the rules for ids that scripts choose for instances |
//! | `published` | the secrets in the output |
//! | `answer`, `status` | the answer for the instance of a call |
//! | `verdict`, `observe`, `discover` | the result of a call, an observation, and a search |
//! | `failure` | failures, without secrets |
//! | `plain` | the input and output of plain scripts |
//! | `driver` | the driver itself: [`Script`] |
//! | `replay` | interpretation of outputs without running jobs: [`replay()`], [`observed()`], [`observed_all()`] |
//! | `single` | a package of one script, to run it by hand: [`single_script`] |
//! | `application` | the package of an application, from its manifest: [`application_package`] |
//! | [`schema`] | JSON Schemas of the documents |
//! | [`codes`] | the codes of the driver's diagnostics |

mod answer;
mod application;
mod binding;
mod check;
pub mod codes;
mod discover;
mod driver;
mod failure;
mod input;
mod interpreter;
mod job;
mod keys;
mod natural;
mod observe;
mod output;
mod plain;
mod published;
mod replay;
mod request;
mod role;
pub mod schema;
mod scripts;
mod settings;
mod single;
mod status;
mod style;
mod verdict;

pub use application::{application_package, is_other_script};
pub use binding::KIND;
pub use driver::Script;
pub use output::{Output, Said};
pub use replay::{ParsedOutput, observed, observed_all, replay};
pub use request::{LaunchKey, Request, Requested, RequestedCommand, RequestedInstance, Values};
pub use role::Role;
pub use single::single_script;
pub use style::Style;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
