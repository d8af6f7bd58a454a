//! The input of a simulation, and its execution.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use windlass_driver::{Location, Placement};
use windlass_engine::{Options, Places as _, Stop};
use windlass_model::Timestamp;
use windlass_script::KIND;
use windlass_source::{Diagnostic, Diagnostics};

use super::answers::Answers;
use super::cast::{Cast, CastInput, ManifestFile};
use super::codes;
use super::entropy::Seeded;
use super::events::{SimulationEvent, SimulationView};
use super::host::{Host, HostParts};
use super::machine::{Machine, MachineSettings};
use super::rules::Rules;
use crate::error::Error;
use crate::open::Windlass;

/// The input of a simulation: manifests, answers, times and seed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SimulationInput {
    /// The manifests of applications and of their factories.
    pub manifests: Vec<ManifestFile>,
    /// The folder of the scripts, which run for real. `None` if answers replace all scripts.
    pub scripts: Option<PathBuf>,
    /// The file of answers. If the file has an answer for a run of a script, the answer replaces the run.
    pub answers: Option<PathBuf>,
    /// Parameters of the launches: the values of configuration pins. A pin is a typed input or output of a
    /// manifest. The key is the id under which a manifest exposes the pin. Each value applies to every manifest
    /// that exposes a pin with this id.
    pub parameters: BTreeMap<String, Value>,
    /// The name of the location at which scripts run. `windlass.yaml` declares the locations. `None` means the only
    /// location in `windlass.yaml`. If there is no location or more than one, `None` means this host.
    pub location: Option<String>,
    /// The length of the simulated time.
    pub duration: Duration,
    /// The virtual time at which the simulation begins.
    pub from: Timestamp,
    /// The interval of health checks; `None` for a simulation without health checks.
    pub health: Option<Duration>,
    /// The number of applications that the simulation launches from each application manifest at the beginning.
    pub count: u32,
    /// The seed from which the ids of instances are generated.
    pub seed: u64,
}

impl SimulationInput {
    /// Creates an input with default settings. The defaults are one launched application for each manifest of
    /// an application, one day from 2026-01-05 (a Monday), and a health check each minute.
    pub fn new(manifests: Vec<ManifestFile>) -> Self {
        Self {
            manifests,
            scripts: None,
            answers: None,
            parameters: BTreeMap::new(),
            location: None,
            duration: Duration::from_secs(24 * 60 * 60),
            from: Timestamp::from_millis(1_767_571_200_000),
            health: Some(Duration::from_secs(60)),
            count: 1,
            seed: 1,
        }
    }
}

/// A simulator of applications. It records nothing.
#[derive(Clone, Copy)]
pub struct Simulator<'w> {
    windlass: &'w Windlass,
    stop: &'w Stop,
}

impl<'w> Simulator<'w> {
    /// Creates a simulator with the drivers, locations and runtimes of a project. `stop` ends the simulation.
    pub fn new(windlass: &'w Windlass, stop: &'w Stop) -> Self {
        Self { windlass, stop }
    }

    /// Runs a simulation, and passes its events to `tell` when they happen. Also returns warnings about the
    /// manifests and the file of answers.
    ///
    /// # Errors
    /// Returns [`Error::Input`] with all problems of the manifests and answers. Returns [`Error::NoRuntime`]
    /// if the location has no runtime. Returns
    /// [`EngineError::Stopped`](windlass_engine::EngineError::Stopped) if the stop is triggered.
    pub async fn run(
        &self,
        input: &SimulationInput,
        tell: &mut dyn FnMut(SimulationEvent),
    ) -> Result<(SimulationView, Diagnostics), Error> {
        let location = self.location(input)?;
        let cast_input = CastInput {
            manifests: &input.manifests,
            scripts: input.scripts.as_deref(),
            parameters: &input.parameters,
            location,
        };
        let (cast, mut warnings) = Cast::read(self.windlass, cast_input)?;
        let Answers { actions, rules, warnings: late } = match &input.answers {
            Some(file) => Answers::read(file, &cast, input.duration)?,
            None => Answers::default(),
        };
        warnings.extend(late);
        let until = input.from.plus_millis(i64::try_from(input.duration.as_millis()).unwrap_or(i64::MAX));
        let settings = MachineSettings {
            from: input.from,
            until,
            health: input.health,
            count: input.count,
            poll: Options::default().poll,
            actions,
        };
        let host = self.host(&cast, &rules, input.from).await?;
        let entropy = Box::new(Seeded::new(input.seed));
        let drivers = self.windlass.drivers();
        let mut machine = Machine::new(&cast, drivers, host.parts.driver.clone(), entropy, settings);
        host.run_until(&mut machine, until, tell).await?;
        Ok((machine.summary(), warnings))
    }

    /// Returns the location of the scripts. If no script runs, returns a placeholder.
    fn location(&self, input: &SimulationInput) -> Result<Location, Error> {
        if input.scripts.is_none() && input.location.is_none() {
            return Ok(Location::local("simulation"));
        }
        let placement = Placement { location: input.location.clone(), ..Placement::default() };
        let refused = |why: String| {
            let problem = Diagnostic::error(codes::BAD_LOCATION, why);
            Error::Input(vec![problem.help("`--location` names a location of windlass.yaml")].into())
        };
        self.windlass.places.location(&placement).map_err(refused)
    }

    async fn host<'h>(&self, cast: &'h Cast, rules: &'h Rules, from: Timestamp) -> Result<Host<'h>, Error>
    where
        'w: 'h,
    {
        let driver = self.windlass.drivers().get(&KIND.parse()?).cloned();
        let driver = driver.ok_or_else(|| Error::NoRuntime(format!("there is no driver `{KIND}`")))?;
        let runtime =
            if cast.has_scripts { Some(self.windlass.runtime(&cast.location).await?) } else { None };
        Ok(Host::new(HostParts {
            windlass: self.windlass,
            stop: self.stop,
            cast,
            rules,
            from,
            driver,
            runtime,
        }))
    }
}
