//! Futures of this crate run in tasks of a multi-threaded tokio runtime, for example in an HTTP server.

use windlass::engine::{Request, Stop};
use windlass::model::AssemblyName;
use windlass::model::record::Intent;
use windlass::{AssemblyInput, Started, Windlass};

fn is_send<F: Future + Send>(future: F) {
    drop(future);
}

/// The compiler checks that these futures are `Send`. No future is polled.
#[expect(dead_code, reason = "only the types matter")]
fn all_are_send(windlass: &Windlass, name: &AssemblyName, input: AssemblyInput, started: [Started; 2]) {
    let stop = &Stop::default();
    let [first, second] = started;
    is_send(windlass.plan(&input));
    is_send(windlass.ask_up(&input, stop));
    is_send(windlass.plan_to_save(&input));
    is_send(windlass.up(input, stop));
    is_send(windlass.change(name, Request::from(Intent::Down), stop));
    is_send(windlass.preview(name, Request::from(Intent::Down)));
    is_send(windlass.complete(first, stop));
    is_send(second.run(stop));
    is_send(windlass.views().status(None));
}
