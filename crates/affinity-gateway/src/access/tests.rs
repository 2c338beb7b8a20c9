#![allow(clippy::unwrap_used)]

use http::{HeaderMap, HeaderValue};

use super::context::TraceContext;

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn named(parents: &[&str]) -> Option<TraceContext> {
    let mut headers = HeaderMap::new();
    for parent in parents {
        headers.append("traceparent", HeaderValue::from_str(parent).unwrap());
    }
    TraceContext::of(&headers)
}

#[test]
fn a_parent_is_read_and_written_alike() {
    let context = named(&[PARENT]).unwrap();
    assert!(context.sampled);
    assert_eq!(context.to_string(), PARENT);
    let later = named(&["01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03-more"]);
    assert_eq!(later, Some(context), "a later version may have more");
}

#[test]
fn what_is_no_parent_is_none() {
    let wrong = [
        "",
        "00",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
    ];
    for parent in wrong {
        assert_eq!(named(&[parent]), None, "{parent:?}");
    }
    assert_eq!(named(&[PARENT, PARENT]), None, "two are none");
    assert_eq!(named(&[]), None);
}

#[test]
fn a_trace_that_begins_here_has_ids_and_is_not_sampled() {
    for _ in 0..100 {
        let context = TraceContext::begin();
        assert_eq!(named(&[&context.to_string()]), Some(context));
        let child = context.child();
        assert_eq!(child.trace, context.trace);
        assert_ne!(child.span, context.span);
    }
}
