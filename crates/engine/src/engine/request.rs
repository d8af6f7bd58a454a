//! Requests: intents that one process submits and a later lease holder executes.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_driver::Package;
use windlass_lifecycle::Scale;
use windlass_model::record::{Event as Happening, EventDraft, PackageRecord};
use windlass_model::request::{RequestRecord, RequestStatus};
use windlass_model::{
    AssemblyName, CommandName, DescriptorName, ElementName, ProcessId, PropertyName, RequestId, State,
    Topology,
};
use windlass_secret::{SecretRef, Sensitive};
use windlass_store::{Batch, Holder, Lease};

use super::ask::{Answer, Arguments, Ask, Desired, Manner};
use super::draft::Draft;
use super::{Engine, Prepared};
use crate::error::EngineError;
use crate::stop::Stop;

/// The format version of a request's content.
const VERSION: u32 = 1;

/// The content of a request, sealed as a whole. It is complete, since the executing process may lack the files
/// of the submitter.
#[derive(Serialize, Deserialize)]
struct Written {
    version: u32,
    /// Whether the intent is executed although other assemblies reference this one.
    force: bool,
    ask: Form,
}

/// The serialized form of an [`Ask`].
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    Up(Box<DesiredForm>),
    Down,
    DownWith(Vec<PackageRecord>),
    Retry {
        assume: Option<Answer>,
    },
    SetState(State),
    ScaleOut(ElementName),
    ScaleIn(ElementName),
    Heal(ElementName),
    Rollback(Option<ProcessId>),
    Call {
        part: ElementName,
        command: CommandName,
        arguments: Arguments,
    },
    AsPlanned {
        ask: Box<Form>,
        plan: Value,
        #[serde(default)]
        changes: Option<Value>,
    },
}

#[derive(Serialize, Deserialize)]
struct DesiredForm {
    topology: Topology,
    descriptor: DescriptorName,
    parameters: BTreeMap<PropertyName, Value>,
    #[serde(with = "exposed")]
    secrets: BTreeMap<SecretRef, Sensitive<String>>,
    packages: Vec<PackageRecord>,
    goal: State,
    adopt: bool,
    replace: BTreeSet<ElementName>,
    target: BTreeSet<ElementName>,
}

/// Serializes secrets in plain text, since the content is sealed as a whole.
mod exposed {
    use std::collections::BTreeMap;

    use serde::{Deserialize as _, Deserializer, Serializer};
    use windlass_secret::{SecretRef, Sensitive};

    pub(super) fn serialize<S: Serializer>(
        secrets: &BTreeMap<SecretRef, Sensitive<String>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(secrets.iter().map(|(name, value)| (name, value.expose())))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<SecretRef, Sensitive<String>>, D::Error> {
        let secrets = BTreeMap::<SecretRef, String>::deserialize(deserializer)?;
        Ok(secrets.into_iter().map(|(name, value)| (name, value.into())).collect())
    }
}

impl Form {
    fn of(ask: &Ask) -> Self {
        match ask {
            Ask::Up(desired) => Self::Up(Box::new(DesiredForm::of(desired))),
            Ask::Down => Self::Down,
            Ask::DownWith(packages) => Self::DownWith(packages.iter().map(Package::to_record).collect()),
            Ask::Retry { assume } => Self::Retry { assume: assume.clone() },
            Ask::SetState(state) => Self::SetState(*state),
            Ask::Scale { cluster, scale: Scale::Out } => Self::ScaleOut(cluster.clone()),
            Ask::Scale { cluster, scale: Scale::In } => Self::ScaleIn(cluster.clone()),
            Ask::Heal(element) => Self::Heal(element.clone()),
            Ask::Rollback(process) => Self::Rollback(*process),
            Ask::Call { part, command, arguments } => {
                Self::Call { part: part.clone(), command: command.clone(), arguments: arguments.clone() }
            }
            Ask::AsPlanned { ask, plan, changes } => {
                Self::AsPlanned { ask: Box::new(Self::of(ask)), plan: plan.clone(), changes: changes.clone() }
            }
        }
    }

    fn ask(self) -> Result<Ask, serde_json::Error> {
        Ok(match self {
            Self::Up(desired) => Ask::Up(Box::new(desired.desired()?)),
            Self::Down => Ask::Down,
            Self::DownWith(packages) => Ask::DownWith(unpack(packages)?),
            Self::Retry { assume } => Ask::Retry { assume },
            Self::SetState(state) => Ask::SetState(state),
            Self::ScaleOut(cluster) => Ask::Scale { cluster, scale: Scale::Out },
            Self::ScaleIn(cluster) => Ask::Scale { cluster, scale: Scale::In },
            Self::Heal(element) => Ask::Heal(element),
            Self::Rollback(process) => Ask::Rollback(process),
            Self::Call { part, command, arguments } => Ask::Call { part, command, arguments },
            Self::AsPlanned { ask, plan, changes } => {
                Ask::AsPlanned { ask: Box::new(ask.ask()?), plan, changes }
            }
        })
    }
}

fn unpack(packages: Vec<PackageRecord>) -> Result<Vec<Package>, serde_json::Error> {
    packages.into_iter().map(Package::from_record).collect()
}

impl DesiredForm {
    fn of(desired: &Desired) -> Self {
        let Desired { topology, descriptor, parameters, secrets, packages, manner } = desired.clone();
        let Manner { goal, adopt, replace, target } = manner;
        let packages = packages.iter().map(Package::to_record).collect();
        Self { topology, descriptor, parameters, secrets, packages, goal, adopt, replace, target }
    }

    fn desired(self) -> Result<Desired, serde_json::Error> {
        let Self { goal, adopt, replace, target, .. } = self;
        Ok(Desired {
            topology: self.topology,
            descriptor: self.descriptor,
            parameters: self.parameters,
            secrets: self.secrets,
            packages: unpack(self.packages)?,
            manner: Manner { goal, adopt, replace, target },
        })
    }
}

impl Engine {
    /// Submits an intent for the present or next holder of the assembly's lease. That holder plans it.
    ///
    /// # Errors
    /// An error of the store.
    pub async fn request(
        &self,
        name: &AssemblyName,
        ask: &Ask,
        by: &Holder,
    ) -> Result<RequestRecord, EngineError> {
        let goal = match ask.bare() {
            Ask::Retry { .. } => self.store.load(name).await?.map(|snapshot| snapshot.assembly.goal),
            _ => None,
        };
        let request = RequestRecord {
            id: RequestId(self.store.reserve_process().await?.0),
            assembly: name.clone(),
            intent: ask.intent(goal.unwrap_or(State::Active)),
            by: by.to_string(),
            created: self.means.clock.now(),
            status: RequestStatus::Pending,
        };
        self.store.submit(&request, write(self.options.force, ask)).await?;
        Ok(request)
    }

    /// Takes the lease for a request and prepares its intent. Records the reason if the request is refused for
    /// good.
    ///
    /// # Errors
    /// The reason why the intent is refused. [`EngineError::RequestEnded`] if another process was faster.
    pub async fn take_up(
        &self,
        request: &RequestRecord,
        holder: &Holder,
        stop: &Stop,
    ) -> Result<Prepared, EngineError> {
        let lease = self.store.lease(&request.assembly, holder).await?;
        match self.take_up_under(&lease, request, stop).await {
            Ok(prepared) => Ok(prepared),
            Err(error) => Err(self.give_back(lease, error).await),
        }
    }

    async fn take_up_under(
        &self,
        lease: &Lease,
        request: &RequestRecord,
        stop: &Stop,
    ) -> Result<Prepared, EngineError> {
        let ended = || EngineError::RequestEnded { name: request.assembly.clone(), request: request.id };
        let Some(asked) = self.store.asked(request.id).await? else { return Err(ended()) };
        let prepared = match read(asked.expose(), request) {
            Ok((force, ask)) => {
                let mut engine = self.clone();
                engine.options.force = force;
                let drafted = engine.prepare_kept(lease, &request.assembly, ask, stop, Some(request)).await;
                drafted.map(|(Draft { world, plan, diff, undone, .. }, process)| Prepared {
                    engine,
                    lease: lease.clone(),
                    world,
                    process,
                    plan,
                    diff,
                    undone,
                })
            }
            Err(error) => Err(error),
        };
        match prepared {
            Err(error) if !error.will_pass() => {
                self.dismiss(lease, request, &error).await?;
                Err(error)
            }
            other => other,
        }
    }

    /// Records the reason why a request is refused.
    async fn dismiss(
        &self,
        lease: &Lease,
        request: &RequestRecord,
        error: &EngineError,
    ) -> Result<(), EngineError> {
        let RequestRecord { id, assembly, intent, .. } = request;
        let (why, is_input) = (error.to_string(), error.is_input());
        let body = Happening::Dismissed { request: *id, intent: intent.clone(), why: Some(why.clone()) };
        let status = RequestStatus::Refused { why, is_input };
        let event =
            EventDraft { at: self.means.clock.now(), assembly: assembly.clone(), process: None, body };
        let batch = Batch::new().end_request(RequestRecord { status, ..request.clone() }).event(event);
        self.store.commit(lease, batch).await?;
        Ok(())
    }
}

fn write(force: bool, ask: &Ask) -> Sensitive<Vec<u8>> {
    let written = Written { version: VERSION, force, ask: Form::of(ask) };
    Sensitive::new(serde_json::to_vec(&written).expect("what is asked is plain data"))
}

fn read(asked: &[u8], request: &RequestRecord) -> Result<(bool, Ask), EngineError> {
    let unreadable = |cause: String| EngineError::RequestUnreadable { request: request.id, cause };
    let written: Written = serde_json::from_slice(asked).map_err(|error| unreadable(error.to_string()))?;
    if written.version != VERSION {
        return Err(unreadable(format!(
            "it has version {}, and this windlass reads {VERSION}",
            written.version
        )));
    }
    let ask = written.ask.ask().map_err(|error| unreadable(error.to_string()))?;
    Ok((written.force, ask))
}
