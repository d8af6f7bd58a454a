//! A host for tests of functions. It grants no access to files, commands or variables. Its random bytes are 0, 1, 2 and
//! so on. Its lambdas are Rust functions of the test.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use windlass_source::Source;

use super::{Capability, Denied, FunctionError, Host, Registry};
use crate::value::{Callable, Node, Value};
use crate::yaml::{read_document, value_to_yaml};

/// A lambda that a Rust function of the test implements.
pub(super) struct Native {
    name: &'static str,
    parameters: usize,
    function: fn(&[Node]) -> Value,
}

impl std::fmt::Debug for Native {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Callable for Native {
    fn text(&self) -> String {
        self.name.to_owned()
    }

    fn parameters(&self) -> usize {
        self.parameters
    }

    fn equivalent(&self, other: &dyn Callable) -> bool {
        self.text() == other.text()
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// Creates a lambda from a Rust function of the test.
pub(super) fn lambda(name: &'static str, parameters: usize, function: fn(&[Node]) -> Value) -> Node {
    Node::new(Value::Lambda(Arc::new(Native { name, parameters, function })))
}

/// A host that grants no access, and whose random bytes are 0, 1, 2 and so on.
#[derive(Default)]
pub(super) struct TestHost {
    drawn: u8,
    constant: bool,
    pub(super) spent: u64,
}

impl Host for TestHost {
    fn call(&mut self, lambda: &dyn Callable, arguments: &[Node]) -> Result<Node, FunctionError> {
        let native = lambda.as_any().downcast_ref::<Native>().expect("a lambda of the test");
        Ok(Node::new((native.function)(arguments)))
    }

    fn evaluate(&mut self, expression: &str) -> Result<Node, FunctionError> {
        Ok(Node::new(match expression {
            "name" => Value::from("net1"),
            "instances" => Value::Int(2),
            other => Value::from(format!("evaluated {other}")),
        }))
    }

    fn merge(&mut self, documents: &[Node]) -> Result<Node, FunctionError> {
        Ok(documents[0].clone())
    }

    fn process(&mut self, document: Node, _: bool) -> Result<Node, FunctionError> {
        Ok(document)
    }

    fn template(&mut self, document: Node) -> Value {
        Value::map([("template", document.into_value())])
    }

    fn tag(&mut self, _: &str, _: &Node) -> Result<(), FunctionError> {
        Ok(())
    }

    fn path(&self) -> Vec<String> {
        vec!["result".into()]
    }

    fn lookup(&mut self, path: &[&str]) -> Result<Option<Node>, FunctionError> {
        Ok((path == ["networks", "net1", "subnets"])
            .then(|| yaml("[{static: [10.0.0.5 - 10.0.0.9]}, {static: [10.1.0.1]}]")))
    }

    fn features(&self) -> Vec<String> {
        vec!["control".into()]
    }

    fn spend(&mut self, steps: u64) -> Result<(), FunctionError> {
        self.spent = self.spent.saturating_add(steps);
        Ok(())
    }

    fn now(&self) -> Duration {
        Duration::from_secs(1_700_000_000)
    }

    fn random(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.drawn;
            self.drawn = self.drawn.wrapping_add(u8::from(!self.constant));
        }
    }

    fn read(&mut self, _: &str) -> Result<Vec<u8>, Denied> {
        Err(Denied::NotGranted(Capability::Read))
    }

    fn write(&mut self, _: &str, _: &[u8], _: u32) -> Result<(), Denied> {
        Err(Denied::NotGranted(Capability::Write))
    }

    fn make_folder(&mut self, _: &str, _: u32) -> Result<(), Denied> {
        Err(Denied::NotGranted(Capability::Write))
    }

    fn temporary_file(&mut self, _: &[u8], _: u32) -> Result<String, Denied> {
        Err(Denied::NotGranted(Capability::Write))
    }

    fn list(&mut self, _: &str) -> Result<Vec<(String, bool)>, Denied> {
        Err(Denied::NotGranted(Capability::Read))
    }

    fn exists(&mut self, _: &Path) -> Result<Option<bool>, Denied> {
        Err(Denied::NotGranted(Capability::Read))
    }

    fn run(&mut self, _: &[String], _: Option<&[u8]>, _: bool) -> Result<Vec<u8>, Denied> {
        Err(Denied::NotGranted(Capability::Exec))
    }

    fn variable(&mut self, name: &str) -> Result<Option<String>, Denied> {
        Ok((name == "HOME").then(|| "/home/me".into()))
    }

    fn encryption_key(&self) -> Option<String> {
        None
    }
}

pub(super) fn yaml(text: &str) -> Node {
    read_document(&Source::new("test", text)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Calls a function. Returns the result as YAML, or `error: ` and the message.
pub(super) fn call(name: &str, arguments: &[Node]) -> String {
    call_on(TestHost::default(), name, arguments)
}

/// Calls a function as [`call`] does, with a source of randomness that returns only zeros.
pub(super) fn call_without_randomness(name: &str, arguments: &[Node]) -> String {
    call_on(TestHost { constant: true, ..TestHost::default() }, name, arguments)
}

fn call_on(mut host: TestHost, name: &str, arguments: &[Node]) -> String {
    let registry = Registry::standard();
    let function = registry.get(name).unwrap_or_else(|| panic!("there is no {name}"));
    match function(&mut host, arguments) {
        Ok(node) => value_to_yaml(&node).trim_end_matches('\n').to_owned(),
        Err(error) => format!("error: {error}"),
    }
}
