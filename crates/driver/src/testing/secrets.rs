//! Cases for secret values.

use serde_json::json;
use windlass_executor::Job;
use windlass_model::instance::{InstanceView, LogEntry};
use windlass_model::resolve::Resolved;

use super::calls::apply;
use super::{Subject, titles};
use crate::masking::texts;
use crate::{Call, Failure, Report};

/// Minimum length in bytes of a text that windlass masks.
const SHORTEST: usize = 4;

/// The value of a secret property that the cases add to each call.
const SECRET: &str = "conf0rmance-s3cret";

/// The jobs of a call contain no secret of the call, except in stdin and in the input files.
pub async fn not_in_jobs(subject: &Subject) {
    for call in calls(subject) {
        let trial = subject.trial();
        subject.perform_one(&call, &trial).await.ok();
        let observing = subject.trial();
        subject.observe(std::slice::from_ref(&call), &observing).await;
        for (name, job) in trial.ended().0.iter().chain(&observing.ended().0) {
            let record = public_parts(job);
            assert_clean(&record, &call.secrets(), &format!("the job `{name}` of {}", title(&call)));
        }
    }
}

/// No log entry and no failure contains a secret of the call or a secret that the call publishes.
pub async fn not_in_reports(subject: &Subject) {
    for call in calls(subject) {
        let trial = subject.trial();
        let answer = subject.perform_one(&call, &trial).await;
        let secrets = [call.secrets(), trial.log().hidden.clone()].concat();
        let place = format!("the answer of {}", title(&call));
        match &answer {
            Ok(report) => assert_clean(&logged(&report.log), &secrets, &place),
            Err(failure) => assert_clean(&failed(failure), &secrets, &place),
        }
        for (_, checkpoint) in &trial.log().checkpoints {
            assert_clean(&logged(&checkpoint.log), &secrets, &format!("a checkpoint of {}", title(&call)));
        }
        let observing = subject.trial();
        for seen in subject.observe(std::slice::from_ref(&call), &observing).await {
            let secrets = [call.secrets(), observing.log().hidden.clone()].concat();
            let text = seen.map_or_else(
                |failure| failed(&failure),
                |seen| format!("{} {:?}", logged(&seen.report.log), seen.observation),
            );
            assert_clean(&text, &secrets, &format!("the observation of {}", title(&call)));
        }
    }
}

/// A driver [hides](crate::Context::hide) the value of a sensitive property before it publishes the value.
pub async fn published_ones_are_hidden(subject: &Subject) {
    for call in &subject.calls {
        let trial = subject.trial();
        let answer = subject.perform_one(call, &trial).await;
        let log = trial.log();
        for ((_, checkpoint), hidden) in log.checkpoints.iter().zip(&log.hidden_before) {
            assert_hidden(call, checkpoint, &log.hidden[..*hidden]);
        }
        if let Ok(report) = &answer {
            assert_hidden(call, report, &log.hidden);
        }
    }
}

/// Returns the calls of the subject. Each call has an additional secret property.
fn calls(subject: &Subject) -> impl Iterator<Item = Call> {
    let secret = Resolved { value: json!(SECRET), sensitive: true };
    subject.calls.iter().map(move |call| {
        let mut call = call.clone();
        call.properties.insert("conformance-secret".parse().expect("a name"), secret.clone());
        call
    })
}

fn assert_hidden(call: &Call, report: &Report, hidden: &[String]) {
    let mut after = call.clone();
    apply(&mut after, report);
    for property in &call.sensitive {
        let published = InstanceView::new(&after.document).output(property.as_str()).map(texts);
        for text in published.into_iter().flatten().filter(|text| text.len() >= SHORTEST) {
            let known = hidden.contains(&text) || call.secrets().contains(&text);
            assert!(known, "{} publishes the sensitive property `{property}` without hiding it", title(call));
        }
    }
}

/// Returns the parts of a job that people and other programs can see.
fn public_parts(job: &Job) -> String {
    // The record of a job contains only the length of each input.
    serde_json::to_string(job).expect("a job can be written as a record")
}

fn logged(log: &[LogEntry]) -> String {
    let entry = |entry: &LogEntry| {
        let data = entry.data.iter().flat_map(|data| [vec![data.to_string()], texts(data)].concat());
        std::iter::once(entry.message.clone()).chain(data).collect::<Vec<_>>().join("\n")
    };
    log.iter().map(entry).collect::<Vec<_>>().join("\n")
}

fn failed(failure: &Failure) -> String {
    format!("{}\n{}", failure.message, failure.detail.as_deref().unwrap_or_default())
}

fn assert_clean(text: &str, secrets: &[String], place: &str) {
    let found = secrets.iter().any(|secret| secret.len() >= SHORTEST && text.contains(secret.as_str()));
    assert!(!found, "a secret is in {place}: {text}");
}

fn title(call: &Call) -> String {
    titles(std::slice::from_ref(call))
}
