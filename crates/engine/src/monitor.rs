//! The monitor of the policies of an assembly. It takes samples and the time, and returns demands. It has no
//! clock and no I/O.
//!
//! A policy reads one metric. Each sample is *good* or a *breach*. A policy fires after `smoothing` consecutive
//! breaches. A good sample resets the count. A publication period without a sample counts as a missing sample.
//!
//! | policy | breach | good | missing sample |
//! |---|---|---|---|
//! | heal | integrity `BROKEN` | `OK` | a breach |
//! | scale | load above `scaleOut_threshold`, or below `scaleIn_threshold` | any other load | neutral |
//!
//! A scale policy counts the breaches of its two thresholds separately. A missing sample that is neutral
//! changes no count. A value equal to a threshold is not a breach. A policy that has fired starts to count from
//! zero. The daemon drops all samples while an intent runs on the assembly, since the intent changes the
//! measured values. A reading of the wrong kind, such as a load for an integrity metric, is ignored.
//!
//! [`Heals`] counts, for each element, the heals since the last recovery of the element. If this number is
//! [`MOST_HEALS`], policies do not heal the element any more. An element has recovered after `smoothing` consecutive
//! good samples.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use windlass_lifecycle::Scale;
use windlass_model::policy::{DEFAULT_PERIOD, MetricSource, Policy, PolicyKind, metric_id};
use windlass_model::record::ElementRecord;
use windlass_model::resolve::{Answer, Lookup, Resolver, text_of};
use windlass_model::template::Template;
use windlass_model::{ElementName, Timestamp, Topology, Transition};

/// The maximum number of promotions between a metric and its source. An assembly *promotes* a metric of a part: the
/// assembly publishes the metric as its own.
const DEEPEST: usize = 64;

/// A sample of a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The id of the metric: `<element>.<metric>`.
    pub id: String,
    /// The value that was measured.
    pub reading: Reading,
}

/// A value that was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Reading {
    /// Whether the element works.
    Integrity(bool),
    /// The load in percent.
    Load(f64),
    /// No value, because the measurement failed. A policy counts such a sample neither as good nor as a breach. The
    /// sample has arrived, so it does not count as missing either.
    Unseen,
}

/// A change that a policy demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    /// The action that the policy demands.
    pub act: Act,
    /// The reason, as a sentence fragment, for example `A.integrity was broken 3 times in a row`.
    pub because: String,
}

/// The use of a sample by the policies of an assembly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleUse {
    /// A policy reads the metric of the sample, and takes the sample into account.
    Counted,
    /// A policy reads the metric of the sample, but expects another kind of value. The text describes the expected
    /// kind.
    OtherSort(&'static str),
    /// No policy reads the metric of the sample.
    Unread,
}

/// An action that a policy demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Stops and starts the named resource.
    Heal(ElementName),
    /// Scales the named cluster.
    Scale(ElementName, Scale),
}

/// The maximum number of heals of an element since its last recovery. After this number, policies do not heal the
/// element any more. A heal stops and starts the element. Without this limit, a healthy element without samples would
/// be restarted again and again, because a missing sample is a breach.
pub const MOST_HEALS: u32 = 3;

/// The number of heals of each element since its last recovery. A heal stops and starts the element. The element has
/// recovered when its metrics then stay good; see [`Monitor::well`].
///
/// The records of the elements in the store contain these numbers. So the numbers survive a restart of the daemon.
#[derive(Debug, Clone, Default)]
pub struct Heals(BTreeMap<ElementName, u32>);

impl Heals {
    /// Reads the number of heals of each element from the records of the elements.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a ElementRecord>) -> Self {
        let tried = records.into_iter().filter(|record| record.heals > 0);
        Self(tried.map(|record| (record.name.clone(), record.heals)).collect())
    }

    /// Tells whether an element has not recovered after [`MOST_HEALS`] heals in a row. Policies do not heal such an
    /// element any more.
    pub fn is_left_alone(&self, part: &ElementName) -> bool {
        self.0.get(part).is_some_and(|tried| *tried >= MOST_HEALS)
    }

    /// Tells whether an element was healed and does not count as recovered yet. It counts as recovered when its metrics
    /// have stayed good for a while; see [`Monitor::well`].
    pub fn is_tried(&self, part: &ElementName) -> bool {
        self.0.contains_key(part)
    }

    /// Resets the count of an element that has recovered.
    pub fn well(&mut self, part: &ElementName) {
        self.0.remove(part);
    }
}

/// Evaluates the policies of one assembly. A policy demands that an element is healed or scaled, depending on a metric.
#[derive(Debug, Default)]
pub struct Monitor {
    rules: Vec<Rule>,
}

/// A policy with all its values resolved.
#[derive(Debug)]
struct Rule {
    /// The ids of the metrics that the policy reads: a single id, or one id for each node of a group.
    sources: BTreeSet<String>,
    /// The name of the metric in messages.
    label: String,
    limits: Limits,
    target: ElementName,
    /// The period in which the next sample is expected, in milliseconds: the declared period, or the interval of the
    /// health checks that produce the samples. `None` means that samples may arrive at any
    /// time, and that no sample counts as missing.
    period: Option<i64>,
    /// The time at which the next sample will count as missing; `None` if the rule has no `period`.
    due: Option<Timestamp>,
    /// The last reading of each source. When all sources have a reading, the readings are counted as one sample, and
    /// this map is cleared.
    ///
    /// For example, a policy that scales a group counts the average of the loads of the group's nodes as one sample.
    readings: BTreeMap<String, Reading>,
    /// The number of consecutive breaches so far. For a scale policy, a breach is a sample above the upper threshold.
    /// For a heal policy, a breach is a missing sample, or a sample that reports a broken element.
    high: u32,
    /// The number of consecutive samples so far that were below the lower threshold of a scale policy. For a heal
    /// policy, the number stays 0.
    low: u32,
    /// The number of missing samples among the consecutive breaches that the field `high` counts. A heal policy counts
    /// a missing sample as a breach. For a scale policy, the number stays 0.
    missing: u32,
    /// The number of consecutive samples without a breach; `None` before the first sample is counted.
    well: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
enum Limits {
    Heal { smoothing: u32 },
    Scale { above: f64, below: f64, smooth_out: u32, smooth_in: u32 },
}

impl Monitor {
    /// Creates a monitor that watches the policies of an assembly from `now` on. `checks` is the interval of the health
    /// checks of the assembly; `None` means that there are no health checks.
    ///
    /// A health check produces a sample of the integrity of each part that declares Integrity. So a sample of such a
    /// metric is missing at the earliest when a health check was due.
    pub fn new(topology: &Topology, lookup: &dyn Lookup, checks: Option<Duration>, now: Timestamp) -> Self {
        let mut resolver = Resolver::new(topology, lookup);
        let rules = topology.policies().iter().filter_map(|policy| {
            let mut rule = Rule::new(policy, topology, &mut resolver)?;
            rule.expect_checks(topology, checks);
            rule.wait(now);
            Some(rule)
        });
        Self { rules: rules.collect() }
    }

    /// Tells whether the assembly has no policies to watch.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns the ids of all metrics that policies read.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().flat_map(|rule| &rule.sources).map(String::as_str)
    }

    /// Returns how the policies use a sample: a policy counts the sample, or the sample has the wrong kind of value, or
    /// no policy reads the metric.
    pub fn use_of(&self, sample: &Sample) -> SampleUse {
        let mut found = SampleUse::Unread;
        for rule in self.rules.iter().filter(|rule| rule.sources.contains(&sample.id)) {
            if rule.limits.read(sample.reading) {
                return SampleUse::Counted;
            }
            found = SampleUse::OtherSort(rule.limits.sort());
        }
        found
    }

    /// Returns the elements that have recovered. An element has recovered when each of its heal policies has counted
    /// `smoothing` consecutive good samples. One good sample is not enough, since an element may break again and
    /// again.
    pub fn well(&self) -> BTreeSet<&ElementName> {
        let heal = |rule: &&Rule| matches!(rule.limits, Limits::Heal { .. });
        let (well, unwell): (Vec<&Rule>, Vec<&Rule>) =
            self.rules.iter().filter(heal).filter(|rule| !rule.is_mute()).partition(|rule| rule.is_well());
        let unwell: BTreeSet<&ElementName> = unwell.into_iter().map(|rule| &rule.target).collect();
        well.into_iter().map(|rule| &rule.target).filter(|part| !unwell.contains(part)).collect()
    }

    /// Counts the missing samples, as [`time`](Self::time) does. Then passes the received sample to all policies that
    /// read its metric. Returns the [`Demand`]s of both steps.
    pub fn sample(&mut self, now: Timestamp, sample: &Sample) -> Vec<Demand> {
        let mut demands = self.time(now);
        demands.extend(self.rules.iter_mut().filter_map(|rule| rule.sample(now, sample)));
        demands
    }

    /// Counts the samples that are missing at the time `now`. Returns a [`Demand`] for each policy that fires now.
    pub fn time(&mut self, now: Timestamp) -> Vec<Demand> {
        self.rules.iter_mut().filter_map(|rule| rule.time(now)).collect()
    }

    /// Starts all waits for samples again at the time `now`. Samples that should have arrived before do not count as
    /// missing. The caller calls this method if it could not have received these samples, for example because it was
    /// suspended.
    pub fn wait_again(&mut self, now: Timestamp) {
        self.rules.iter_mut().filter(|rule| rule.due.is_some()).for_each(|rule| rule.wait(now));
    }

    /// Returns the time at which the next sample will count as missing.
    pub fn due(&self) -> Option<Timestamp> {
        self.rules.iter().filter_map(|rule| rule.due).min()
    }
}

impl Limits {
    /// Tells whether a reading is of the kind that these limits apply to.
    fn read(&self, reading: Reading) -> bool {
        match self {
            Self::Heal { .. } => matches!(reading, Reading::Unseen | Reading::Integrity(_)),
            Self::Scale { .. } => matches!(reading, Reading::Unseen | Reading::Load(_)),
        }
    }

    /// Describes the kind of reading that these limits apply to.
    fn sort(&self) -> &'static str {
        match self {
            Self::Heal { .. } => "an integrity, `OK` or `BROKEN`",
            Self::Scale { .. } => "a load from 0 to 100",
        }
    }
}

impl Rule {
    fn new(policy: &Policy, topology: &Topology, resolver: &mut Resolver<'_>) -> Option<Self> {
        let mut number = |name: &str| -> Option<f64> {
            let value = policy.properties.get(name)?.value.as_ref()?;
            number_of(value, resolver)
        };
        let limits = match policy.kind {
            PolicyKind::Heal => Limits::Heal { smoothing: count(number("smoothing")) },
            PolicyKind::Scale => {
                let smoothing = number("smoothing");
                Limits::Scale {
                    above: number("scaleOut_threshold").unwrap_or(f64::INFINITY),
                    below: number("scaleIn_threshold").unwrap_or(f64::NEG_INFINITY),
                    smooth_out: count(number("scaleOut_smoothing").or(smoothing)),
                    smooth_in: count(number("scaleIn_smoothing").or(smoothing)),
                }
            }
            _ => return None,
        };
        let mut sources = BTreeSet::new();
        let mut period = None;
        for source in origins(topology, &policy.metric) {
            let metric =
                topology.get(&source.element).and_then(|element| element.metrics.get(&source.metric));
            let declared = metric.and_then(|metric| metric.period.as_ref());
            period = period.or_else(|| declared.and_then(|value| number_of(value, resolver)));
            sources.insert(metric_id(&source.element, &source.metric));
        }
        let seconds = period.unwrap_or(f64::from(DEFAULT_PERIOD));
        #[expect(clippy::cast_possible_truncation, reason = "a period of years is cut to years")]
        let period = (seconds > 0.0).then_some((seconds * 1000.0) as i64);
        Some(Self {
            sources,
            label: format!("{}.{}", policy.metric.element.local(), policy.metric.metric),
            limits,
            target: policy.target.clone(),
            period,
            due: None,
            readings: BTreeMap::new(),
            high: 0,
            low: 0,
            missing: 0,
            well: None,
        })
    }

    /// If the health checks of the assembly produce the samples of a heal policy, extends the period of the policy to the
    /// interval `checks` of the health checks.
    fn expect_checks(&mut self, topology: &Topology, checks: Option<Duration>) {
        let Some(checks) = checks.and_then(|checks| i64::try_from(checks.as_millis()).ok()) else { return };
        let is_checked = |source: &String| {
            let element = source.split_once('.').and_then(|(element, _)| element.parse().ok());
            let element = element.and_then(|element: ElementName| topology.get(&element));
            element.is_some_and(|element| element.declares(Transition::Integrity))
        };
        if matches!(self.limits, Limits::Heal { .. }) && self.sources.iter().all(is_checked) {
            self.period = self.period.map(|period| period.max(checks));
        }
    }

    /// Tells whether a heal policy has counted no sample so far and has no `period`. The metric of such a policy may
    /// never be published, so [`Monitor::well`] ignores the policy.
    fn is_mute(&self) -> bool {
        self.well.is_none() && self.period.is_none()
    }

    fn is_well(&self) -> bool {
        let Limits::Heal { smoothing } = self.limits else { return false };
        self.well.is_some_and(|times| times >= smoothing)
    }

    /// Starts the wait for the next sample. The wait is a quarter longer than a period, so that a slightly late
    /// sample does not count as missing.
    fn wait(&mut self, from: Timestamp) {
        self.due = self.period.map(|period| from.plus_millis(period + period / 4));
    }

    fn sample(&mut self, now: Timestamp, sample: &Sample) -> Option<Demand> {
        if !self.sources.contains(&sample.id) || !self.limits.read(sample.reading) {
            return None;
        }
        if sample.reading == Reading::Unseen {
            self.wait(now);
            return None;
        }
        self.readings.insert(sample.id.clone(), sample.reading);
        // The nodes of a group report one after another, and are counted together.
        if self.readings.len() < self.sources.len() {
            return None;
        }
        self.wait(now);
        self.count()
    }

    fn time(&mut self, now: Timestamp) -> Option<Demand> {
        let mut demand = None;
        while demand.is_none()
            && let Some(due) = self.due.filter(|due| *due <= now)
        {
            demand = self.count();
            match self.period {
                Some(period) => self.due = Some(due.plus_millis(period)),
                None => self.due = None,
            }
        }
        demand
    }

    /// Counts the collected readings of all sources as one sample, and discards the readings. If there is no
    /// reading, the sample is missing. Returns the [`Demand`] of the policy if the policy fires now.
    fn count(&mut self) -> Option<Demand> {
        let readings = std::mem::take(&mut self.readings);
        match self.limits {
            Limits::Heal { smoothing } => {
                let well = !readings.is_empty()
                    && readings.values().all(|reading| *reading != Reading::Integrity(false));
                let missing = u32::from(readings.is_empty());
                (self.high, self.missing) =
                    if well { (0, 0) } else { (self.high + 1, self.missing + missing) };
                self.well = Some(if well { self.well.unwrap_or(0).saturating_add(1) } else { 0 });
                if self.high < smoothing {
                    return None;
                }
                let (times, missing) = (std::mem::take(&mut self.high), std::mem::take(&mut self.missing));
                let word = match missing {
                    0 => "broken",
                    missing if missing == times => "missing",
                    _ => "broken or missing",
                };
                let because = format!("{} was {word} {}", self.label, in_a_row(times));
                Some(Demand { act: Act::Heal(self.target.clone()), because })
            }
            Limits::Scale { above, below, smooth_out, smooth_in } => {
                let loads: Vec<f64> = readings
                    .values()
                    .filter_map(|reading| match reading {
                        Reading::Load(load) => Some(*load),
                        Reading::Integrity(_) | Reading::Unseen => None,
                    })
                    .collect();
                if loads.is_empty() {
                    return None;
                }
                let many = u32::try_from(loads.len()).unwrap_or(u32::MAX);
                let load = loads.iter().sum::<f64>() / f64::from(many);
                self.high = if load > above { self.high + 1 } else { 0 };
                self.low = if load < below { self.low + 1 } else { 0 };
                let (scale, word, limit, times) = if self.high >= smooth_out {
                    (Scale::Out, "above", above, self.high)
                } else if self.low >= smooth_in {
                    (Scale::In, "below", below, self.low)
                } else {
                    return None;
                };
                (self.high, self.low) = (0, 0);
                let because = format!("{} was {word} {limit} {}", self.label, in_a_row(times));
                Some(Demand { act: Act::Scale(self.target.clone(), scale), because })
            }
        }
    }
}

fn in_a_row(times: u32) -> String {
    if times == 1 { "once".to_owned() } else { format!("{times} times in a row") }
}

/// Returns the number of consecutive breaches after which a policy fires. The result is at least 1.
///
/// `number` is the property `smoothing` of the policy. If the policy does not declare this property, `number` is `None`
/// and the result is 1.
fn count(number: Option<f64>) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
    number.map_or(1, |number| number.clamp(1.0, f64::from(u32::MAX)) as u32)
}

fn number_of(value: &Template, resolver: &mut Resolver<'_>) -> Option<f64> {
    match resolver.template(value) {
        Ok(Answer::Known(known)) => text_of(&known.value).trim().parse().ok(),
        _ => None,
    }
}

/// Returns the metrics whose samples count as samples of the metric `source`.
///
/// For a metric of a group, these are the metrics of its nodes. An assembly may publish a metric of one of its parts as
/// its own metric. For such a metric of an assembly, the result is the metric of the part.
fn origins(topology: &Topology, source: &MetricSource) -> Vec<MetricSource> {
    let mut found = Vec::new();
    let mut open = vec![(source.clone(), 0)];
    while let Some((source, depth)) = open.pop() {
        for node in topology.nodes(&source.element) {
            let next = node.metrics.get(&source.metric).map(|metric| &metric.source);
            match next {
                Some(next) if next.element != node.name && depth < DEEPEST => {
                    open.push((next.clone(), depth + 1));
                }
                Some(next) => found.push(next.clone()),
                None => {
                    found.push(MetricSource { element: node.name.clone(), metric: source.metric.clone() });
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;
    use windlass_model::assembly::{Element, ElementKind, Property};
    use windlass_model::policy::{Metric, MetricKind};
    use windlass_model::resolve::NothingYet;

    use super::*;

    fn element(name: &str, kind: ElementKind, parent: Option<&str>) -> Element {
        let mut metrics = IndexMap::new();
        if kind == ElementKind::Resource {
            for (metric, kind) in [("load", MetricKind::Load), ("integrity", MetricKind::Integrity)] {
                let source = MetricSource { element: name.parse().unwrap(), metric: metric.parse().unwrap() };
                let period = Some(Template::literal("60"));
                metrics.insert(metric.parse().unwrap(), Metric { kind, period, source, origin: None });
            }
        }
        Element {
            name: name.parse().unwrap(),
            kind,
            parent: parent.map(|parent| parent.parse().unwrap()),
            component: None,
            index: None,
            key: None,
            descriptor: "resource::r::1.0".parse().unwrap(),
            properties: IndexMap::new(),
            metrics,
            transitions: windlass_model::Transitions::default(),
            operations: IndexMap::new(),
            cluster: None,
            referent: None,
            protected: false,
            on_package_change: None,
            update: None,
            origin: None,
        }
    }

    fn policy(kind: PolicyKind, metric: &str, target: &str, properties: &[(&str, &str)]) -> Policy {
        let (element, metric) = metric.split_once('.').unwrap();
        Policy {
            name: "p".parse().unwrap(),
            owner: "t".parse().unwrap(),
            kind,
            metric: MetricSource { element: element.parse().unwrap(), metric: metric.parse().unwrap() },
            target: target.parse().unwrap(),
            properties: properties
                .iter()
                .map(|(name, value)| {
                    let value = Some(Template::literal(*value));
                    (name.parse().unwrap(), Property { value, ..Property::default() })
                })
                .collect(),
            origin: None,
        }
    }

    /// Creates a monitor of an assembly with a resource and a cluster of two nodes.
    fn monitor(policy: Policy) -> Monitor {
        let elements = vec![
            element("t", ElementKind::Assembly, None),
            element("t__a", ElementKind::Resource, Some("t")),
            element("t__b", ElementKind::Group, Some("t")),
            element("t__b__1", ElementKind::Resource, Some("t__b")),
            element("t__b__2", ElementKind::Resource, Some("t__b")),
        ];
        let topology = Topology::new("t".parse().unwrap(), elements, Vec::new()).with_policies(vec![policy]);
        Monitor::new(&topology, &NothingYet, None, minute(0))
    }

    fn minute(minute: i64) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000).plus_millis(minute * 60_000)
    }

    /// Gives the monitor one sample per minute, and returns the minutes in which the policy has fired. `None`
    /// is a missing sample.
    fn play(monitor: &mut Monitor, samples: &[Option<Reading>]) -> Vec<(i64, Act)> {
        let mut fired = Vec::new();
        for (at, sample) in (1..).zip(samples) {
            let demands = match sample {
                Some(reading) => {
                    let id = monitor.sources().next().unwrap().to_owned();
                    monitor.sample(minute(at), &Sample { id, reading: *reading })
                }
                // A sample counts as missing a quarter of a period after its time. 20 s are more than a quarter
                // of the period.
                None => monitor.time(minute(at).plus_millis(20_000)),
            };
            fired.extend(demands.into_iter().map(|demand| (at, demand.act)));
        }
        fired
    }

    fn loads(loads: &[i32]) -> Vec<Option<Reading>> {
        loads.iter().map(|load| (*load >= 0).then_some(Reading::Load(f64::from(*load)))).collect()
    }

    fn scaling() -> Monitor {
        let limits = [("scaleOut_threshold", "80"), ("scaleIn_threshold", "20"), ("smoothing", "3")];
        monitor(policy(PolicyKind::Scale, "t__a.load", "t__b", &limits))
    }

    fn out(at: i64) -> (i64, Act) {
        (at, Act::Scale("t__b".parse().unwrap(), Scale::Out))
    }

    #[test]
    fn three_breaches_in_a_row_fire() {
        assert_eq!(play(&mut scaling(), &loads(&[50, 85, 90, 95, 50])), [out(4)]);
    }

    #[test]
    fn two_breaches_and_one_in_order_do_nothing() {
        assert_eq!(play(&mut scaling(), &loads(&[85, 90, 50, 85, 90, 70])), []);
    }

    #[test]
    fn the_threshold_itself_is_no_breach() {
        assert_eq!(play(&mut scaling(), &loads(&[80, 80, 80, 80])), []);
        assert_eq!(play(&mut scaling(), &loads(&[20, 20, 20, 20])), []);
    }

    #[test]
    fn after_it_has_fired_it_counts_anew() {
        assert_eq!(play(&mut scaling(), &loads(&[99; 7])), [out(3), out(6)]);
    }

    #[test]
    fn a_missing_load_says_nothing() {
        assert_eq!(play(&mut scaling(), &loads(&[85, -1, 90, -1, -1, 95])), [out(6)]);
    }

    #[test]
    fn shrinking_has_a_count_of_its_own() {
        let limits = [
            ("scaleOut_threshold", "80"),
            ("scaleIn_threshold", "20"),
            ("scaleOut_smoothing", "2"),
            ("scaleIn_smoothing", "4"),
        ];
        let mut monitor = monitor(policy(PolicyKind::Scale, "t__a.load", "t__b", &limits));
        let fired = play(&mut monitor, &loads(&[10, 10, 10, 90, 90, 10, 10, 10, 10]));
        assert_eq!(fired, [out(5), (9, Act::Scale("t__b".parse().unwrap(), Scale::In))]);
    }

    #[test]
    fn a_missing_or_broken_integrity_heals() {
        let heal = || monitor(policy(PolicyKind::Heal, "t__a.integrity", "t__a", &[("smoothing", "3")]));
        let (ok, broken) = (Some(Reading::Integrity(true)), Some(Reading::Integrity(false)));
        let healed = |at| [(at, Act::Heal("t__a".parse().unwrap()))];
        assert_eq!(play(&mut heal(), &[ok, broken, broken, broken, ok]), healed(4));
        assert_eq!(play(&mut heal(), &[ok, None, None, None, ok]), healed(4));
        assert_eq!(play(&mut heal(), &[ok, None, broken, ok, None, broken, ok]), []);
    }

    /// Missing samples are counted when time passes, even if no other sample arrives.
    #[test]
    fn missing_samples_are_counted_by_the_clock() {
        let mut monitor = monitor(policy(PolicyKind::Heal, "t__a.integrity", "t__a", &[("smoothing", "3")]));
        let mut fired = Vec::new();
        while fired.is_empty() {
            let due = monitor.due().unwrap();
            fired = monitor.time(due);
            assert!(due <= minute(5));
        }
        assert_eq!(fired[0].because, "a.integrity was missing 3 times in a row");
        let late = monitor.time(minute(60));
        assert_eq!(late.len(), 1, "a long silence fires once: the rest is counted when it is asked again");
    }

    /// The health checks of the daemon produce the samples of a policy. No sample may count as missing before a health
    /// check was due. The metric of a part without a health check keeps its period.
    #[test]
    fn a_sample_is_not_missing_before_the_health_check_that_produces_it() {
        let seconds = |checks: u64, is_checked: bool| {
            let mut part = element("t__a", ElementKind::Resource, Some("t"));
            if is_checked {
                part.transitions.insert(Transition::Integrity);
            }
            let elements = vec![element("t", ElementKind::Assembly, None), part];
            let policy = policy(PolicyKind::Heal, "t__a.integrity", "t__a", &[("smoothing", "1")]);
            let topology =
                Topology::new("t".parse().unwrap(), elements, Vec::new()).with_policies(vec![policy]);
            let checks = Some(Duration::from_secs(checks * 60));
            let due = Monitor::new(&topology, &NothingYet, checks, minute(0)).due().unwrap();
            due.millis_since(minute(0)) / 1000
        };
        assert_eq!([seconds(5, true), seconds(0, true), seconds(5, false)], [375, 75, 75]);
    }

    /// A check that could not run says neither that the element works nor that it is broken.
    #[test]
    fn a_check_that_could_not_run_is_no_breach() {
        let mut monitor = monitor(policy(PolicyKind::Heal, "t__a.integrity", "t__a", &[("smoothing", "2")]));
        let (broken, unseen) = (Reading::Integrity(false), Reading::Unseen);
        assert_eq!(play(&mut monitor, &[Some(unseen); 9]), []);
        assert!(monitor.well().is_empty());
        let healed = [(12, Act::Heal("t__a".parse().unwrap()))];
        let fired: Vec<(i64, Act)> = (10..)
            .zip([broken, unseen, broken])
            .flat_map(|(at, reading)| {
                let id = monitor.sources().next().unwrap().to_owned();
                let sample = Sample { id, reading };
                monitor.sample(minute(at), &sample).into_iter().map(move |demand| (at, demand.act))
            })
            .collect();
        assert_eq!(fired, healed);
    }

    /// A reading of the wrong kind is ignored, as if it had not been sent.
    #[test]
    fn a_reading_of_the_other_sort_is_no_sample() {
        let mut monitor = monitor(policy(PolicyKind::Heal, "t__a.integrity", "t__a", &[("smoothing", "2")]));
        let load = Sample { id: "t__a.integrity".to_owned(), reading: Reading::Load(5.0) };
        assert_eq!(monitor.use_of(&load), SampleUse::OtherSort("an integrity, `OK` or `BROKEN`"));
        let unread = Sample { id: "t__a.load".to_owned(), ..load.clone() };
        assert_eq!(monitor.use_of(&unread), SampleUse::Unread);
        let broken = Sample { reading: Reading::Integrity(false), ..load.clone() };
        assert_eq!(monitor.use_of(&broken), SampleUse::Counted);
        assert_eq!(monitor.sample(minute(1), &broken).len(), 0);
        assert_eq!(monitor.sample(minute(1), &load).len(), 0);
        assert_eq!(monitor.sample(minute(2), &broken).len(), 1, "what is between says nothing");
    }

    /// An element has recovered only if each policy that heals the element has counted `smoothing` consecutive good
    /// samples. `smoothing` is also the number of consecutive breaches after which the policy fires.
    #[test]
    fn a_part_is_well_when_all_that_heal_it_say_so_often_enough() {
        let part: ElementName = "t__a".parse().unwrap();
        let heal =
            |smoothing| policy(PolicyKind::Heal, "t__a.integrity", "t__a", &[("smoothing", smoothing)]);
        let mut monitor = monitor(heal("2"));
        let mut other = self::monitor(policy(PolicyKind::Heal, "t__a.load", "t__a", &[("smoothing", "1")]));
        let say = |monitor: &mut Monitor, at, metric: &str, well| {
            let id = format!("t__a.{metric}");
            drop(monitor.sample(minute(at), &Sample { id, reading: Reading::Integrity(well) }));
            monitor.well().contains(&part)
        };
        assert!(monitor.well().is_empty(), "nothing is known yet");
        assert!(!say(&mut monitor, 1, "integrity", true), "once is not twice");
        assert!(!say(&mut monitor, 2, "integrity", false));
        assert!(!say(&mut monitor, 3, "integrity", true));
        assert!(say(&mut monitor, 4, "integrity", true));
        drop(monitor.time(minute(6)));
        assert!(monitor.well().is_empty(), "it is silent");
        assert!(!say(&mut monitor, 7, "integrity", true));
        assert!(say(&mut monitor, 8, "integrity", true));
        // A second policy for the same part has no samples yet. The part then does not count as recovered,
        // because the metric of this policy must be published. If the metric need not be published, the part
        // counts as recovered.
        monitor.rules.append(&mut other.rules);
        assert!(monitor.well().is_empty());
        monitor.rules[1].period = None;
        assert!(monitor.well().contains(&part));
        assert!(!say(&mut monitor, 9, "load", false));
        assert!(say(&mut monitor, 9, "load", true));
    }

    #[test]
    fn the_nodes_of_a_group_are_counted_together() {
        let limits = [("scaleOut_threshold", "80"), ("smoothing", "1")];
        let mut monitor = monitor(policy(PolicyKind::Scale, "t__b.load", "t__b", &limits));
        assert_eq!(monitor.sources().collect::<Vec<_>>(), ["t__b__1.load", "t__b__2.load"]);
        let mut say = |at, node: u32, load| {
            let sample = Sample { id: format!("t__b__{node}.load"), reading: Reading::Load(load) };
            monitor.sample(minute(at), &sample).len()
        };
        assert_eq!((say(1, 1, 100.0), say(1, 2, 40.0)), (0, 0), "70 on average");
        assert_eq!((say(2, 1, 100.0), say(2, 2, 70.0)), (0, 1), "85 on average");
    }
}
