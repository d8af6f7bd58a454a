//! Tests the laws that the documentation of `Update` states, on random documents and updates.

use proptest::prelude::*;
use serde_json::{Value, json};
use windlass_update_ops::{Shape, Update};

use crate::documents::leaves;
use crate::generate::{anything, append_free, document, shape, update};

fn applied(update: &Update, document: &Value) -> Value {
    let mut document = document.clone();
    update.apply(&mut document).unwrap();
    document
}

/// Splits an update into updates of one operation.
fn singles(update: &Update) -> Vec<Update> {
    update
        .iter()
        .map(|(path, op)| Update::from_ops([(path.clone(), op.clone())], &shape()).unwrap())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn total(u in update(), d in document()) {
        let after = applied(&u, &d);
        prop_assert_eq!(&shape().canonical(after.clone()), &after);
        prop_assert_eq!(shape().trusting().check(&after), Ok(()));
    }

    #[test]
    fn an_update_equals_its_operations_in_any_order((u, order) in update().prop_flat_map(|u| (Just(u.clone()), Just(singles(&u)).prop_shuffle())), d in document()) {
        let one_by_one = order.iter().fold(d.clone(), |d, single| applied(single, &d));
        prop_assert_eq!(one_by_one, applied(&u, &d));
    }

    #[test]
    fn identity(u in update(), d in document()) {
        prop_assert_eq!(applied(&Update::new(), &d), d);
        prop_assert_eq!(u.clone().then(&Update::new()), Ok(u.clone()));
        prop_assert_eq!(Update::new().then(&u), Ok(u));
    }

    #[test]
    fn composition(u in update(), v in update(), d in document()) {
        let both = u.clone().then(&v).unwrap();
        prop_assert_eq!(applied(&both, &d), applied(&v, &applied(&u, &d)));
    }

    /// Composition returns a normal form: no two paths are comparable, and all values are canonical and have
    /// valid sorts.
    #[test]
    fn closure(u in update(), v in update()) {
        let both = u.then(&v).unwrap();
        let again = Update::from_ops(both.iter().map(|(path, op)| (path.clone(), op.clone())), &shape());
        prop_assert_eq!(again, Ok(both));
    }

    #[test]
    fn associativity(u in update(), v in update(), w in update()) {
        let left = u.clone().then(&v).unwrap().then(&w);
        let right = u.then(&v.then(&w).unwrap());
        prop_assert_eq!(left, right);
    }

    #[test]
    fn idempotence(u in append_free(), d in document()) {
        let once = applied(&u, &d);
        prop_assert_eq!(applied(&u, &once), once);
        prop_assert_eq!(u.clone().then(&u), Ok(u));
    }

    #[test]
    fn commutation(u in update(), v in update(), d in document()) {
        let (fresh, stale) = u.clone().without_stale(&v);
        prop_assert_eq!(fresh.len() + stale.len(), u.len());
        prop_assert!(fresh.commutes_with(&v));
        prop_assert_eq!(u.commutes_with(&v), stale.is_empty());
        prop_assert_eq!(u.commutes_with(&v), v.commutes_with(&u));
        prop_assert_eq!(applied(&v, &applied(&fresh, &d)), applied(&fresh, &applied(&v, &d)));
        prop_assert_eq!(fresh.clone().then(&v), v.then(&fresh));
    }

    #[test]
    fn comparable_paths_are_found(u in update(), v in update()) {
        let by_hand = u.paths().any(|p| v.paths().any(|q| p.is_comparable(q)));
        prop_assert_eq!(u.commutes_with(&v), !by_hand);
    }

    #[test]
    fn difference(a in document(), b in document()) {
        let difference = Update::diff(&a, &b, &shape());
        prop_assert_eq!(applied(&difference, &a), b.clone());
        prop_assert_eq!(difference.is_empty(), a == b);
        prop_assert!(Update::diff(&a, &a, &shape()).is_empty());
        let again = Update::from_ops(difference.iter().map(|(path, op)| (path.clone(), op.clone())), &shape());
        prop_assert_eq!(again, Ok(difference));
    }

    #[test]
    fn inverse(u in append_free(), d in document()) {
        let after = applied(&u, &d);
        let undo = u.inverse(&d).unwrap();
        prop_assert_eq!(applied(&undo, &after), d.clone());
        prop_assert!(undo.paths().all(|path| u.get(path).is_some()));
        prop_assert_eq!(undo.is_empty(), after == d);
    }

    #[test]
    fn locality(u in update(), d in document()) {
        let elsewhere = |document: &Value| -> Vec<_> {
            leaves(document, &shape()).into_iter().filter(|(path, _)| !u.touches(path)).collect()
        };
        prop_assert_eq!(elsewhere(&d), elsewhere(&applied(&u, &d)));
    }

    #[test]
    fn round_trip(u in update()) {
        let parsed = Update::parse(&u.to_value(), &shape().trusting()).unwrap();
        prop_assert!(parsed.warnings.is_empty());
        prop_assert_eq!(parsed.update, u);
    }

    #[test]
    fn canonical_form_is_final(d in document()) {
        prop_assert_eq!(shape().canonical(d.clone()), d);
    }

    /// No JSON causes a panic of the parser. If the parser returns an update, the update is in normal form and can be
    /// applied.
    #[test]
    fn reading_never_panics(wire in anything(), d in document()) {
        for shape in [shape(), shape().trusting(), Shape::untyped()] {
            if let Ok(parsed) = Update::parse_lenient(&wire, &shape) {
                let written = parsed.update.to_value();
                prop_assert_eq!(&Update::parse(&written, &shape.trusting()).unwrap().update, &parsed.update);
            }
        }
        if let Ok(parsed) = Update::parse_lenient(&wire, &shape()) {
            applied(&parsed.update, &d);
        }
    }

    /// A refused update leaves any document unchanged.
    #[test]
    fn all_or_nothing(wire in anything(), before in anything()) {
        if let Ok(parsed) = Update::parse(&wire, &Shape::untyped()) {
            let mut after = before.clone();
            if parsed.update.apply(&mut after).is_err() {
                prop_assert_eq!(after, before);
            }
        }
    }
}

/// An update that appends is not idempotent. This matters if an update is delivered twice.
#[test]
fn appends_repeat() {
    let u =
        Update::parse(&json!({"$pushAll": {"activityLog": [{"message": "m"}]}}), &shape()).unwrap().update;
    let once = applied(&u, &json!({}));
    assert_ne!(applied(&u, &once), once);
}
