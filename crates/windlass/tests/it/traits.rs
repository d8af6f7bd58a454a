//! Traits that an embedding program needs, for example to propagate errors with `?` and to use `unwrap_err`.

use std::error::Error;
use std::fmt::Debug;

use windlass::driver::{Driver, Failure, JobFailure, Package};
use windlass::engine::{Engine, Prepared};
use windlass::runtimes::RuntimeContext;
use windlass::source::Diagnostics;
use windlass::store::Store;
use windlass::update_ops::Shape;
use windlass::{Following, Settings, Started, Windlass};

fn is_shown<T: Debug + ?Sized>() {}

fn is_error<T: Error + Send + Sync + 'static>() {}

#[test]
fn types_of_the_api_have_the_usual_traits() {
    is_shown::<Settings>();
    is_shown::<Windlass>();
    is_shown::<Started>();
    is_shown::<Following>();
    is_shown::<Engine>();
    is_shown::<Prepared>();
    is_shown::<RuntimeContext>();
    is_shown::<dyn Driver>();
    is_shown::<dyn Store>();
    is_error::<windlass::Error>();
    is_error::<Failure>();
    is_error::<JobFailure>();
    is_error::<Diagnostics>();
    let _: fn(&Package) -> &Shape = Package::shape;
}

/// The address of a store may contain a password.
#[test]
fn settings_are_shown_without_passwords() {
    let settings = Settings::new("shop").state(Some("postgres://me:hunter22@db/shop".to_owned()));
    let shown = format!("{settings:?}");
    assert!(shown.contains("postgres://me@db/shop") && !shown.contains("hunter22"), "{shown}");
}

/// A test of a kind of runtime can create a context without a project.
#[test]
fn a_context_is_created_for_a_test() {
    let mut context = RuntimeContext::new("state");
    assert_eq!(context.images, std::path::Path::new("state/images"));
    assert_eq!((context.variables)("HOME"), None);
    context.images = "images".into();
    assert_eq!(context.state, std::path::Path::new("state"));
}
