//! The queue of requests: intents that one program submits, and that another program executes later under the
//! lease of the assembly.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windlass_driver::{Package, Stop};
use windlass_model::record::{
    ApplicationIntent, Event as Happening, EventDraft, Intent, LaunchedFrom, ProcessRecord,
};
use windlass_model::request::{RequestRecord, RequestStatus};
use windlass_model::{AssemblyName, DescriptorName, ElementName, PropertyName, RequestId, Topology};
use windlass_secret::{SecretRef, Sensitive};
use windlass_store::{Batch, Holder, Lease};

use super::condition::Condition;
use super::consent::Consent;
use super::core::Engine;
use super::draft::Draft;
use super::fingerprint::PlanFingerprint;
use super::prepare::application_intent;
use super::prepared::Prepared;
use super::request::{Answer, Arguments, Desired, Request, Selection, UpOptions};
use crate::error::EngineError;
use crate::keeper::Renewal;

/// The format version of a request's content.
const VERSION: u32 = 2;

/// The content of a queued request. The store encrypts (*seals*) the content as a whole. The content includes all
/// inputs, because the program that executes the request may not have the files of the program that submitted the
/// request.
#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    /// Whether the intent is executed even if it removes something that other assemblies reference (see
    /// [`Options::force`](super::Options::force)).
    force: bool,
    #[serde(with = "RequestContent")]
    request: Request,
}

/// The serialized form of a [`Request`] in a [`Content`]. It contains secrets in plain text, but the store encrypts
/// the whole `Content`. Only `Content` uses this form. [`Request`] itself implements no serialization, so its secrets
/// can't be written elsewhere by mistake.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Request")]
struct RequestContent {
    intent: Intent,
    #[serde(default, with = "desired", skip_serializing_if = "Option::is_none")]
    desired: Option<Box<Desired>>,
    #[serde(default, with = "packages", skip_serializing_if = "Vec::is_empty")]
    packages: Vec<Arc<Package>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<Answer>,
    #[serde(default, skip_serializing_if = "Arguments::is_empty")]
    arguments: Arguments,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expected: Option<PlanFingerprint>,
    /// The user's permission to remove or replace installed parts. If a stored request has no such field, the
    /// permission is [`Consent::Any`]. Requests of earlier releases never have this field, because no plan needed
    /// consent at that time.
    #[serde(default, skip_serializing_if = "Consent::is_any")]
    consent: Consent,
    /// Always `false`: requests in the queue are not created by [`Request::resuming`].
    #[serde(skip)]
    resumes: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refresh: Option<Duration>,
    #[serde(default, skip_serializing_if = "Selection::is_all")]
    selection: Selection,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    observed: Option<BTreeMap<ElementName, Condition>>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Desired")]
struct DesiredContent {
    topology: Topology,
    descriptor: DescriptorName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<AssemblyName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    application: Option<LaunchedFrom>,
    parameters: BTreeMap<PropertyName, Value>,
    #[serde(with = "exposed")]
    secrets: BTreeMap<SecretRef, Sensitive<String>>,
    #[serde(with = "packages")]
    packages: Vec<Arc<Package>>,
    options: UpOptions,
}

/// Serializes an optional [`Desired`].
mod desired {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Desired, DesiredContent};

    #[derive(Serialize)]
    struct Borrowed<'a>(#[serde(with = "DesiredContent")] &'a Desired);

    #[derive(Deserialize)]
    struct Owned(#[serde(with = "DesiredContent")] Desired);

    #[expect(clippy::ref_option, reason = "the signature that serde calls")]
    pub(super) fn serialize<S: Serializer>(
        desired: &Option<Box<Desired>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        desired.as_deref().map(Borrowed).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Box<Desired>>, D::Error> {
        Ok(Option::<Owned>::deserialize(deserializer)?.map(|Owned(desired)| Box::new(desired)))
    }
}

/// Serializes packages as the records that the store keeps.
mod packages {
    use std::sync::Arc;

    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};
    use windlass_driver::Package;
    use windlass_model::record::PackageRecord;

    pub(super) fn serialize<S: Serializer>(
        packages: &[Arc<Package>],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(packages.iter().map(|package| package.to_record()))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Arc<Package>>, D::Error> {
        let records = Vec::<PackageRecord>::deserialize(deserializer)?;
        records
            .into_iter()
            .map(|record| Package::from_record(record).map(Arc::new))
            .collect::<Result<_, _>>()
            .map_err(D::Error::custom)
    }
}

/// Serializes secrets in plain text. This is safe, because the store encrypts the whole `Content` of a queued request.
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

impl Engine {
    /// Submits an intent as a request. Another program later executes the intent, and makes the plan then. Several
    /// requests for the same assembly may be open.
    ///
    /// If the consent of the request is not `Consent::Any`, this function also makes a plan now, to find out whether
    /// consent is missing. It makes no plan while a process is changing the assembly.
    ///
    /// # Errors
    /// [`EngineError::NeedsConsent`], or an error of the store.
    pub async fn request(
        &self,
        name: &AssemblyName,
        request: impl Into<Request>,
        by: &Holder,
    ) -> Result<RequestRecord, EngineError> {
        let request = request.into();
        let record = self.request_record(name, &request, by).await?;
        self.store.submit(&record, sealed(self.options.force, request)).await?;
        Ok(record)
    }

    /// Submits a request that creates an assembly, as [`request`](Self::request) does, and reserves the name of the
    /// assembly. Returns `None` if an assembly or another open request has the name, or if a program that holds the
    /// lease of the name may be creating an assembly.
    ///
    /// # Errors
    /// [`EngineError::NeedsConsent`], or an error of the store.
    pub async fn request_new(
        &self,
        name: &AssemblyName,
        request: Request,
        by: &Holder,
    ) -> Result<Option<RequestRecord>, EngineError> {
        let record = self.request_record(name, &request, by).await?;
        let is_new = self.store.submit_new(&record, sealed(self.options.force, request)).await?;
        Ok(is_new.then_some(record))
    }

    /// Returns the record of a new request, unless the request lacks consent.
    async fn request_record(
        &self,
        name: &AssemblyName,
        request: &Request,
        by: &Holder,
    ) -> Result<RequestRecord, EngineError> {
        Box::pin(self.refuse_request_without_consent(name, request)).await?;
        let application = match self.store.assembly(name).await? {
            Some(assembly) => application_intent(&assembly, &request.intent),
            None => request
                .desired
                .as_ref()
                .and_then(|desired| desired.application.as_ref())
                .map(|_| ApplicationIntent::Launch),
        };
        Ok(RequestRecord {
            id: RequestId(self.store.reserve_process().await?.0),
            assembly: name.clone(),
            intent: request.intent.clone(),
            application,
            by: by.to_string(),
            created: self.env.clock.now(),
            status: RequestStatus::Pending,
        })
    }

    /// Makes a plan from the present records, and refuses the request if the plan needs a consent that the request
    /// does not give. All other problems are reported when the request is executed, because the records may have
    /// changed by then.
    ///
    /// If a process is changing the assembly now, the present records describe a state in between. A plan from these
    /// records may replace parts that the later plan does not replace. So the consent is then checked only when the
    /// request is executed.
    async fn refuse_request_without_consent(
        &self,
        name: &AssemblyName,
        request: &Request,
    ) -> Result<(), EngineError> {
        if request.consent.is_any() {
            return Ok(());
        }
        if self.store.open_processes().await?.iter().any(|process| process.assembly == *name) {
            return Ok(());
        }
        // The consent is compared with the plan from the present records, so no health checks are made here.
        match self.drafted(name, request.clone().refreshed(None)).await {
            Ok(draft) => draft.refuse_without_consent(),
            Err(_) => Ok(()),
        }
    }

    /// Takes the lease for a request and prepares its intent. If the request is refused permanently, records
    /// the reason.
    ///
    /// # Errors
    /// The reason why the intent is refused. [`EngineError::RequestEnded`] if the request has already ended.
    pub async fn take_up(
        &self,
        request: &RequestRecord,
        holder: &Holder,
        stop: &Stop,
    ) -> Result<Prepared, EngineError> {
        let lease = self.store.lease(&request.assembly, holder).await?;
        let mut renewal = Renewal::start(self.store.clone(), lease.clone());
        match renewal.keeping(self.take_up_under(&lease, request, stop)).await {
            Ok((engine, draft, process)) => Ok(Prepared::new(engine, renewal, draft, process)),
            Err(error) => {
                renewal.release().await;
                Err(error)
            }
        }
    }

    async fn take_up_under(
        &self,
        lease: &Lease,
        request: &RequestRecord,
        stop: &Stop,
    ) -> Result<(Engine, Draft, ProcessRecord), EngineError> {
        let ended = || EngineError::RequestEnded { name: request.assembly.clone(), request: request.id };
        let Some(asked) = self.store.asked(request.id).await? else { return Err(ended()) };
        let prepared = match read(asked.expose(), request.id) {
            Ok(Content { force, request: content, .. }) => {
                let mut engine = self.clone();
                engine.options.force = force;
                let drafted =
                    Box::pin(engine.prepare_under(lease, &request.assembly, content, stop, Some(request)));
                drafted.await.map(|(draft, process)| (engine, draft, process))
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
        let RequestRecord { id, assembly, intent, application, .. } = request;
        let (why, is_input) = (error.to_string(), error.is_input());
        let (intent, application) = (intent.clone(), *application);
        let body = Happening::Dismissed { request: *id, intent, application, why: Some(why.clone()) };
        let status = RequestStatus::Refused { why, is_input };
        let event = EventDraft { at: self.env.clock.now(), assembly: assembly.clone(), process: None, body };
        let batch = Batch::new().end_request(RequestRecord { status, ..request.clone() }).event(event);
        self.store.commit(lease, batch).await?;
        Ok(())
    }
}

fn sealed(force: bool, request: Request) -> Sensitive<Vec<u8>> {
    let content = Content { version: VERSION, force, request };
    Sensitive::new(serde_json::to_vec(&content).expect("a request is plain data"))
}

fn read(content: &[u8], request: RequestId) -> Result<Content, EngineError> {
    let unreadable = |cause: String| EngineError::RequestUnreadable { request, cause };
    let mut content: Value =
        serde_json::from_slice(content).map_err(|error| unreadable(error.to_string()))?;
    if content["version"] == 1 {
        content = from_version_1(content);
    }
    if content["version"] != VERSION {
        let version = &content["version"];
        return Err(unreadable(format!("it has version {version}, and this windlass reads {VERSION}")));
    }
    serde_json::from_value(content).map_err(|error| unreadable(error.to_string()))
}

/// Converts the content of a request from version 1 of the format to the present version. In version 1, the inputs
/// were a part of the intent. In the present version, the request contains the intent and the inputs separately.
fn from_version_1(mut content: Value) -> Value {
    let request = request_from_version_1(content["ask"].take());
    json!({ "version": VERSION, "force": content["force"], "request": request })
}

fn request_from_version_1(ask: Value) -> Value {
    let Value::Object(mut entries) = ask else { return json!({ "intent": ask }) };
    let Some((name, mut inputs)) =
        entries.iter_mut().next().map(|(name, inputs)| (name.clone(), inputs.take()))
    else {
        return Value::Null;
    };
    match name.as_str() {
        "up" => {
            let mut options = serde_json::Map::new();
            for option in ["goal", "adopt", "replace", "target"] {
                options.insert(option.to_owned(), inputs[option].take());
            }
            let intent = if options["adopt"] == true { "adopt" } else { "up" };
            inputs["options"] = Value::Object(options);
            json!({ "intent": intent, "desired": inputs })
        }
        "down-with" => json!({ "intent": "down", "packages": inputs }),
        "retry" => json!({ "intent": "retry", "answer": inputs["assume"] }),
        "rollback" if inputs.is_null() => json!({ "intent": { "rollback": 0 } }),
        "call" => {
            let arguments = inputs["arguments"].take();
            let intent = json!({ "part": inputs["part"], "command": inputs["command"] });
            json!({ "intent": { "call": intent }, "arguments": arguments })
        }
        "as-planned" => {
            let mut request = request_from_version_1(inputs["ask"].take());
            request["expected"] = json!({ "plan": inputs["plan"], "changes": inputs["changes"] });
            request
        }
        _ => json!({ "intent": { name: inputs } }),
    }
}

#[cfg(test)]
mod tests {
    use windlass_model::State;
    use windlass_model::record::Assumption;

    use super::*;
    use crate::engine::request::Argument;

    fn desired() -> Desired {
        let topology = Topology::new("t".parse().unwrap(), Vec::new(), Vec::new());
        Desired {
            topology,
            descriptor: "assembly::t::1.0".parse().unwrap(),
            owner: None,
            application: None,
            parameters: BTreeMap::new(),
            secrets: BTreeMap::new(),
            packages: Vec::new(),
            options: UpOptions { adopt: true, goal: State::Inactive, ..UpOptions::default() },
        }
    }

    fn v1(ask: &Value) -> Request {
        let content = json!({ "version": 1, "force": true, "ask": ask });
        let read = read(content.to_string().as_bytes(), RequestId(1)).unwrap();
        assert!(read.force, "{ask}");
        read.request
    }

    #[test]
    fn content_of_version_1_is_read() {
        let mut up = json!({
            "topology": desired().topology, "descriptor": "assembly::t::1.0", "parameters": {}, "secrets": {},
            "packages": [], "goal": "Inactive", "adopt": true, "replace": [], "target": [],
        });
        let request = v1(&json!({ "up": up }));
        let read = request.desired.unwrap();
        assert_eq!((request.intent, read.topology, read.options), {
            let Desired { topology, options, .. } = desired();
            (Intent::Adopt, topology, options)
        });
        up["adopt"] = false.into();
        assert_eq!(v1(&json!({ "up": up })).intent, Intent::Up);
        for (ask, intent) in [
            (json!("down"), Intent::Down),
            (json!({ "down-with": [] }), Intent::Down),
            (json!({ "set-state": "Inactive" }), Intent::SetState(State::Inactive)),
            (json!({ "scale-out": "t__web" }), Intent::ScaleOut("t__web".parse().unwrap())),
            (json!({ "heal": "t__web" }), Intent::Heal("t__web".parse().unwrap())),
            (json!({ "rollback": null }), Intent::Rollback(None)),
            (json!({ "rollback": 3 }), Intent::Rollback(Some(windlass_model::ProcessId(3)))),
        ] {
            assert_eq!(v1(&ask).intent, intent);
        }
        let retry = v1(&json!({ "retry": { "assume": { "what": "done", "of": [] } } }));
        assert_eq!((retry.intent, retry.answer), (Intent::Retry, Some(Answer::of_all(Assumption::Done))));
        assert_eq!(v1(&json!({ "retry": { "assume": null } })).answer, None);
        let argument = json!({ "value": 1, "sensitive": true });
        let call =
            v1(&json!({ "call": { "part": "t__web", "command": "Backup", "arguments": { "n": argument } } }));
        let arguments =
            Arguments([("n".parse().unwrap(), Argument { value: json!(1), sensitive: true })].into());
        assert_eq!(call.arguments, arguments);
        let planned = v1(&json!({ "as-planned": { "ask": "down", "plan": [1], "changes": null } }));
        assert_eq!(planned.expected, Some(PlanFingerprint::of(&[1], None::<&Value>)));
    }

    #[test]
    fn content_is_read_as_it_was_written() {
        let fingerprint = PlanFingerprint::of(&[1], Some(&[2]));
        let request = Request::up(desired()).as_planned(fingerprint.clone());
        for consent in [Consent::Any, Consent::Plan(fingerprint), Consent::None] {
            let request = request.clone().with_consent(consent).refreshed(Some(Duration::from_secs(30)));
            let content = sealed(true, request.clone());
            let read = read(content.expose(), RequestId(1)).unwrap();
            assert_eq!(format!("{:?}", read.request), format!("{request:?}"));
        }
    }
}
