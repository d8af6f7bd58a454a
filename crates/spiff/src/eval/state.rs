//! The state that all documents of a session share: the settings, the tags, and the cost so far. The cost is
//! counted in steps (see [`Limits::steps`]).

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::resolved;
use crate::Features;
use crate::functions::Registry;
use crate::limits::{ExceededLimit, LEVELS, Limits};
use crate::mistakes::Mistakes;
use crate::outside::Outside;
use crate::path::Steps;
use crate::syntax::ast::{Child, Place};
use crate::syntax::{SyntaxError, parse_placed};
use crate::trace::Trace;
use crate::value::rebuild::rebuilt;
use crate::value::{Node, Value};

/// Number of steps between two checks of the clock.
const CLOCK: u64 = 1024;
/// Maximum number of values in the cache of completely evaluated values.
const KNOWN: usize = 1024;
/// Time to wait before the next pass, if a condition of `sync` does not hold and the last pass has changed
/// nothing.
const PAUSE: Duration = Duration::from_millis(10);

/// A node with a tag. Expressions can refer to the node by the name of the tag: `NAME::a` is the field `a` of the node.
#[derive(Clone, Debug)]
pub(crate) struct Tag {
    pub(crate) name: Arc<str>,
    pub(crate) node: Node,
    path: Steps,
    global: bool,
    /// Whether the tag belongs to the document that is processed now.
    current: bool,
}

impl Tag {
    /// Returns the number of parts of the tag's name. Dots separate the parts.
    pub(crate) fn level(&self) -> usize {
        self.name.split('.').count()
    }
}

type Cache = HashMap<Arc<str>, Result<Child, SyntaxError>>;

/// The state that all documents of a session share.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) features: Features,
    pub(crate) limits: Limits,
    pub(crate) registry: Registry,
    pub(crate) host: Outside,
    pub(crate) trace: Option<Trace>,
    pub(crate) mistakes: Mistakes,
    steps: AtomicU64,
    depth: AtomicU32,
    started: Instant,
    exhausted: Mutex<Option<(ExceededLimit, String)>>,
    is_exhausted: AtomicBool,
    tags: Mutex<BTreeMap<Arc<str>, Tag>>,
    document: AtomicU32,
    parsed: Mutex<Cache>,
    item: Mutex<Value>,
    pass: AtomicU32,
    waiting: AtomicBool,
    /// For each `sync` expression whose condition was false at least once: the time at which the condition was first
    /// false, and whether the expression has stopped waiting. The key is the argument `what` of
    /// [`wait_for`](Self::wait_for).
    syncs: Mutex<HashMap<String, (Instant, bool)>>,
    /// The sizes of completely evaluated values. The key is the address of the value in memory. An entry also
    /// contains the value itself, so that no other value gets this address.
    resolved: Mutex<HashMap<usize, (Value, Weight)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The size of a value.
#[derive(Clone, Copy, Debug)]
struct Weight {
    /// Approximate size in bytes of the value as text. A part that occurs several times counts each time.
    bytes: u64,
    /// Number of levels of lists and maps.
    levels: u32,
}

impl Weight {
    /// Returns the size of a node without the nodes below it. `length` is the length of the node's own text.
    fn of(length: usize) -> Self {
        /// The approximate size in bytes of a node in memory, without its text.
        const NODE: u64 = 64;
        Self { bytes: NODE + length as u64, levels: 0 }
    }

    /// Adds the size of an entry to the size of a list or map. `self` is the size of the list or map, and `below` is
    /// the size of the entry.
    fn add(&mut self, below: Self) {
        self.bytes = self.bytes.saturating_add(below.bytes);
        self.levels = self.levels.max(below.levels + 1);
    }
}

/// A guard that counts a nested call until the guard is dropped.
pub(crate) struct Depth<'s>(&'s AtomicU32);

impl Drop for Depth<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl State {
    pub(crate) fn new(
        features: Features,
        limits: Limits,
        registry: Registry,
        host: Outside,
        mistakes: Mistakes,
        trace: Option<Trace>,
    ) -> Self {
        Self {
            features,
            limits,
            registry,
            host,
            trace,
            mistakes,
            steps: AtomicU64::new(0),
            depth: AtomicU32::new(0),
            started: Instant::now(),
            exhausted: Mutex::default(),
            is_exhausted: AtomicBool::new(false),
            tags: Mutex::default(),
            document: AtomicU32::new(1),
            parsed: Mutex::default(),
            item: Mutex::default(),
            pass: AtomicU32::new(0),
            waiting: AtomicBool::new(false),
            syncs: Mutex::default(),
            resolved: Mutex::default(),
        }
    }

    // ---- cost --------------------------------------------------------------------------------------------------

    /// Adds one step to the cost. If a limit is exceeded, the error is the message about this limit.
    pub(crate) fn step(&self) -> Result<(), String> {
        self.spend(1)
    }

    /// Adds several steps to the cost. If a limit is exceeded, the error is the message about this limit.
    pub(crate) fn spend(&self, steps: u64) -> Result<(), String> {
        if self.is_exhausted.load(Ordering::Relaxed) {
            return Err(self.exhausted().unwrap_or_default());
        }
        let before = self.steps.fetch_add(steps.min(u64::from(u32::MAX)), Ordering::Relaxed);
        let now = before.saturating_add(steps);
        if now > self.limits.steps {
            return Err(
                self.exhaust(ExceededLimit::Steps, &format!("limit of {} steps exceeded", self.limits.steps))
            );
        }
        if before / CLOCK != now / CLOCK && self.started.elapsed() > self.limits.time {
            return Err(
                self.exhaust(ExceededLimit::Time, &format!("limit of {:?} exceeded", self.limits.time))
            );
        }
        Ok(())
    }

    /// Ends all processing, because a limit is exceeded. `message` is about this limit. The method stores the limit
    /// and its message, unless an earlier limit is stored. Returns `message` for use as an error.
    pub(crate) fn exhaust(&self, limit: ExceededLimit, message: &str) -> String {
        lock(&self.exhausted).get_or_insert_with(|| (limit, message.to_owned()));
        self.is_exhausted.store(true, Ordering::Relaxed);
        message.to_owned()
    }

    /// Returns the message about the exceeded limit. Returns `None` if no limit is exceeded.
    pub(crate) fn exhausted(&self) -> Option<String> {
        self.exceeded().map(|(_, message)| message)
    }

    /// Returns the exceeded limit, and the message about it. Returns `None` if no limit is exceeded.
    pub(crate) fn exceeded(&self) -> Option<(ExceededLimit, String)> {
        if !self.is_exhausted.load(Ordering::Relaxed) {
            return None;
        }
        lock(&self.exhausted).clone()
    }

    /// Counts a nested call until the returned guard is dropped. If the limit for nested calls is exceeded,
    /// the error is the message about this limit.
    pub(crate) fn enter(&self) -> Result<Depth<'_>, String> {
        let depth = self.depth.fetch_add(1, Ordering::Relaxed);
        let guard = Depth(&self.depth);
        if depth >= self.limits.depth {
            return Err(self.exhaust(
                ExceededLimit::Depth,
                &format!("limit of {} calls within each other exceeded", self.limits.depth),
            ));
        }
        Ok(guard)
    }

    // ---- expressions -------------------------------------------------------------------------------------------

    /// Parses an expression. The result is cached if it does not depend on the place of the expression in the
    /// document.
    pub(crate) fn parse(&self, text: &str, place: &Place) -> Result<Child, SyntaxError> {
        if let Some(known) = lock(&self.parsed).get(text) {
            return known.clone();
        }
        if self.mistakes.ascii_only && !text.is_ascii() {
            return Err(SyntaxError::not_ascii(text));
        }
        match parse_placed(text, place) {
            Ok((expr, true)) => Ok(expr),
            Ok((expr, false)) => {
                lock(&self.parsed).insert(Arc::from(text), Ok(expr.clone()));
                Ok(expr)
            }
            Err(error) => {
                lock(&self.parsed).insert(Arc::from(text), Err(error.clone()));
                Err(error)
            }
        }
    }

    /// Tells whether a value is completely evaluated.
    ///
    /// For a list or map, the method also measures the size. If the value has too many levels, or is larger than
    /// [`Limits::output`], the method ends all processing by a call of [`exhaust`](Self::exhaust). The method stores
    /// the sizes of large lists and maps in a cache, because the measurement visits all nodes.
    pub(crate) fn is_resolved(&self, value: &Value) -> bool {
        if !matches!(value, Value::List(_) | Value::Map(_)) {
            return resolved::is_resolved(value, self.features.control);
        }
        let weight = self.weigh(value, 1, &mut HashMap::new());
        if weight.is_some_and(|weight| weight.bytes > self.limits.output as u64) {
            self.exhaust(
                ExceededLimit::Output,
                &format!("limit of {} bytes of a value exceeded", self.limits.output),
            );
        }
        weight.is_some()
    }

    /// Returns the size of a value, which is nested in `level` other values. Returns `None` if a part of the value is
    /// not evaluated, or if the value is nested too deeply.
    fn weigh(&self, value: &Value, level: u32, seen: &mut HashMap<usize, Weight>) -> Option<Weight> {
        const LARGE: usize = 16;
        let (place, length, shared) = match value {
            Value::List(list) => (Arc::as_ptr(list).addr(), list.len(), Arc::strong_count(list) > 1),
            Value::Map(map) => (Arc::as_ptr(map).addr(), map.len(), Arc::strong_count(map) > 1),
            Value::String(text) => {
                let open = crate::syntax::embedded::is_expression(text);
                return (!open).then_some(Weight::of(text.len()));
            }
            Value::Expression(_) => return None,
            _ => return Some(Weight::of(0)),
        };
        let known = match seen.get(&place) {
            Some(weight) if shared => Some(*weight),
            _ if length >= LARGE => lock(&self.resolved).get(&place).map(|(_, weight)| *weight),
            _ => None,
        };
        if level.saturating_add(known.map_or(0, |weight| weight.levels)) > LEVELS {
            self.exhaust(ExceededLimit::Levels, &format!("limit of {LEVELS} levels of a value exceeded"));
            return None;
        }
        if known.is_some() {
            return known;
        }
        if !resolved::is_locally_resolved(value, self.features.control) {
            return None;
        }
        let weight = crate::too_deep::with_stack(|| {
            let mut whole = Weight::of(0);
            match value {
                Value::List(list) => {
                    for node in list.iter() {
                        whole.add(self.weigh(node, level + 1, seen)?);
                    }
                }
                Value::Map(map) => {
                    for (key, node) in map.iter() {
                        whole.bytes = whole.bytes.saturating_add(key.len() as u64);
                        whole.add(self.weigh(node, level + 1, seen)?);
                    }
                }
                _ => {}
            }
            Some(whole)
        })?;
        if shared {
            seen.insert(place, weight);
        }
        if length >= LARGE {
            let mut known = lock(&self.resolved);
            if known.len() >= KNOWN {
                known.clear();
            }
            known.insert(place, (value.clone(), weight));
        }
        Some(weight)
    }

    /// Returns the current entry of a projection.
    pub(crate) fn item(&self) -> Value {
        lock(&self.item).clone()
    }

    pub(crate) fn set_item(&self, item: Value) -> Value {
        std::mem::replace(&mut *lock(&self.item), item)
    }

    /// Returns the number of the current pass.
    pub(crate) fn pass(&self) -> u32 {
        self.pass.load(Ordering::Relaxed)
    }

    pub(crate) fn set_pass(&self, pass: u32) {
        self.pass.store(pass, Ordering::Relaxed);
    }

    // ---- sync --------------------------------------------------------------------------------------------------

    /// Tells whether a `sync` expression continues to wait for its condition. The caller has found that the condition
    /// is false in this pass. `what` identifies the expression.
    ///
    /// The waiting time begins with the first call for the expression, and ends after `seconds` seconds. If the engine
    /// has no access to the outside world, only a change of the document can make the condition true. In this case, the
    /// waiting time ends as soon as the document no longer changes.
    pub(crate) fn wait_for(&self, what: &str, seconds: i64) -> bool {
        let mut syncs = lock(&self.syncs);
        let (since, given_up) = syncs.entry(what.to_owned()).or_insert_with(|| (Instant::now(), false));
        let seconds = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        let in_vain = self.waiting.load(Ordering::Relaxed) && self.host.is_closed();
        // `given_up` stays set after `sync` has stopped waiting for the condition. The `sync` expression then
        // fails, which changes the document and causes another pass. If `given_up` were not set, that pass
        // would wait for the condition again.
        *given_up |= in_vain || since.elapsed() >= seconds;
        if *given_up {
            return false;
        }
        self.waiting.store(true, Ordering::Relaxed);
        true
    }

    /// Tells whether an expression `sync` needs another pass, although the last pass has changed nothing. `sync`
    /// waits until its condition is true. If something outside of the document can make the condition true, the
    /// method first sleeps for the time `PAUSE`.
    pub(crate) fn pause(&self) -> bool {
        if !self.waiting.load(Ordering::Relaxed) {
            return false;
        }
        if self.host.is_closed() {
            // In the next pass, `wait_for` stops waiting.
            return true;
        }
        self.waiting.store(false, Ordering::Relaxed);
        std::thread::sleep(PAUSE);
        true
    }

    /// Records that a pass has changed the document. The next pass then evaluates the conditions of `sync`
    /// again.
    pub(crate) fn changed(&self) {
        self.waiting.store(false, Ordering::Relaxed);
    }

    // ---- tags --------------------------------------------------------------------------------------------------

    /// Tags a node. A leading `*` makes the tag global.
    pub(crate) fn tag(&self, name: &str, node: &Node, path: &Steps) -> Result<(), String> {
        let (name, global) = match name.strip_prefix('*') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let name: Arc<str> = name.replace(':', ".").into();
        let mut tags = lock(&self.tags);
        if let Some(old) = tags.get(&name) {
            let here = path.text();
            if !old.current {
                return Err(format!("duplicate tag \"{name}\": {here} in foreign document"));
            }
            if old.current && old.path != *path {
                return Err(format!("duplicate tag \"{name}\": {here} <-> {}", old.path.text()));
            }
        }
        let node = without_tags(node);
        tags.insert(name.clone(), Tag { name, node, path: path.clone(), global, current: true });
        Ok(())
    }

    /// Returns the tag with this name, and all tags whose names begin with this name and a dot. The tags are
    /// sorted by the number of parts in their names, and then by name.
    pub(crate) fn tags(&self, name: &str) -> Vec<Tag> {
        let mut name = name.replace(':', ".");
        if let Some(number) = name.strip_prefix("doc.").and_then(|number| number.parse::<i64>().ok()) {
            let current = i64::from(self.document.load(Ordering::Relaxed));
            let number = if number <= 0 { number + current } else { number };
            name = format!("doc.{number}");
            return lock(&self.tags).get(&*name).cloned().into_iter().collect();
        }
        let prefix = format!("{name}.");
        let tags = lock(&self.tags);
        let mut found: Vec<Tag> = tags
            .values()
            .filter(|tag| *tag.name == *name || tag.name.starts_with(&prefix))
            .cloned()
            .collect();
        found.sort_by(|a, b| a.level().cmp(&b.level()).then_with(|| a.name.cmp(&b.name)));
        found
    }

    /// Ends the processing of a stub. Removes its local tags. If `shared` is true, its global tags stay for
    /// later documents.
    pub(crate) fn next_level(&self, shared: bool) {
        lock(&self.tags).retain(|_, tag| shared && tag.global);
        self.next_document();
    }

    /// Ends the processing of a document. The tags of this document stay in the list of tags, but do not belong to
    /// the document that is processed next.
    pub(crate) fn next_document(&self) {
        for tag in lock(&self.tags).values_mut() {
            tag.current = false;
        }
    }

    /// Stores the result of a document under the tag `doc.N`, for later documents of the session.
    pub(crate) fn push_document(&self, node: &Node) {
        let number = self.document.fetch_add(1, Ordering::Relaxed);
        let name: Arc<str> = format!("doc.{number}").into();
        let tag = Tag {
            name: name.clone(),
            node: without_any_tag(node),
            path: Steps::default(),
            global: true,
            current: false,
        };
        lock(&self.tags).insert(name, tag);
    }
}

/// Returns a copy of a document in which no node has a tag. The tags belong only to the original document. Later
/// documents of the session read the copy.
fn without_any_tag(node: &Node) -> Node {
    rebuilt(&without_tags(node), &|node| Some(without_tags(node)))
}

fn without_tags(node: &Node) -> Node {
    if node.annotations().tag.is_none() {
        return node.clone();
    }
    node.clone().annotate(|annotations| annotations.tag = None)
}
