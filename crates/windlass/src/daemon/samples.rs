//! Conversion of health checks to samples for policies.

use std::collections::BTreeMap;

use windlass_engine::monitor::{Reading, Sample};
use windlass_engine::{Seen, check_failure};
use windlass_model::ElementName;
use windlass_model::policy::MetricKind;
use windlass_model::record::{Failure, FailureKind};
use windlass_model::resolve::text_of;

use super::message;
use super::roster::{Read, Reads};
use crate::view::plan::DriftView;

/// The result of a health check.
pub(super) struct Looked {
    /// The samples for policies. In place of a sample with an invalid value, the list contains the error.
    pub(super) samples: Vec<Result<Sample, String>>,
    /// The states of the parts that no policy heals.
    pub(super) others: Vec<DriftView>,
    /// The failure of the check of each part; `None` if the check has succeeded. Parts without a clear result are left out.
    pub(super) checks: Vec<(ElementName, Option<Failure>)>,
    /// A text about the parts that could not be checked. It contains the name of the first such part, the reason
    /// why the check of this part could not run, and the number of further such parts. `None` if all checks ran.
    pub(super) unseen: Option<String>,
}

/// Converts the results of health checks to samples of the metrics that policies read. The field
/// [`others`](Looked::others) of the returned value contains the states of the parts that no policy heals.
pub(super) fn measured(seen: &[Seen], reads: &Reads) -> Looked {
    let found = seen.iter().filter_map(|seen| Some((seen, reads.get(&seen.element)?)));
    let samples = found.flat_map(|(seen, read)| samples(seen, read)).collect();
    let others = seen.iter().filter(|seen| !is_healed(&seen.element, reads));
    let checks = seen.iter().filter_map(check).collect();
    Looked { samples, others: others.map(DriftView::new).collect(), checks, unseen: unseen(seen) }
}

/// Returns the failure of the check of a part, or `None` in its place if the check has succeeded. If the check has no
/// clear result, there is no pair.
fn check(seen: &Seen) -> Option<(ElementName, Option<Failure>)> {
    let failed = || check_failure::of(&Failure::new(FailureKind::Failed, DriftView::new(seen).seen));
    let failure = (!seen.is_well()?).then(failed);
    Some((seen.element.clone(), failure))
}

/// Describes the parts that could not be checked. The text contains the name of the first such part, the reason why
/// the check of this part could not run, and the number of further such parts. Returns `None` if all checks ran.
fn unseen(seen: &[Seen]) -> Option<String> {
    let mut unseen = seen.iter().filter(|seen| seen.is_unseen());
    let first = unseen.next()?;
    let failure = first.sight.as_ref().err()?;
    Some(match unseen.count() {
        0 => format!("{}: {failure}", first.element.local()),
        more => format!("{} and {more} more: {failure}", first.element.local()),
    })
}

/// Tells whether a policy heals a part. Such a policy reads a metric of the kind [`MetricKind::Integrity`] from the
/// part.
fn is_healed(element: &ElementName, metrics: &Reads) -> bool {
    let mut read = metrics.get(element).into_iter().flat_map(BTreeMap::values);
    read.any(|read| matches!(read.kind, MetricKind::Integrity))
}

/// Returns the samples of a part's metrics from a health check of the part. `read` lists the metrics that policies
/// read, by name. The health check can report the value of a metric as a signal of the interface `metrics`.
///
/// A metric of the kind [`MetricKind::Integrity`] states whether the part works. Three rules apply to this metric only:
///
/// - If the check finds that the part is not well, the value is BROKEN, even if the signal of the metric is OK.
/// - If the check could not run, the sample is [`Reading::Unseen`].
/// - If the check finds that the part is well, and the metric has no signal, the value is OK.
fn samples(seen: &Seen, read: &BTreeMap<String, Read>) -> Vec<Result<Sample, String>> {
    let reading = |name: &str, kind: &MetricKind| {
        let said = seen.metrics.get(name).filter(|said| !said.is_null()).map(text_of);
        Some(match (kind, said) {
            (MetricKind::Integrity, _) if seen.is_well() == Some(false) => Ok(Reading::Integrity(false)),
            (MetricKind::Integrity, _) if seen.is_unseen() => Ok(Reading::Unseen),
            (MetricKind::Integrity, Some(said)) => message::integrity(&said),
            (MetricKind::Integrity, None) => Ok(Reading::Integrity(seen.is_well()?)),
            (_, Some(said)) => message::load(&said),
            (_, None) => return None,
        })
    };
    let of_metric = |(name, Read { kind, id }): (&String, &Read)| {
        let wrong = |wrong| format!("`{id}` by its health check: {wrong}");
        Some(reading(name, kind)?.map(|reading| Sample { id: id.clone(), reading }).map_err(wrong))
    };
    read.iter().filter_map(of_metric).collect()
}
