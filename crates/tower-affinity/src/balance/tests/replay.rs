//! Bodies that are sent again.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame};
use http_body_util::{Empty, Full};
use proptest::prelude::*;

use super::super::BalanceBody;
use super::super::replay::{Replay, ReplayBody};
use super::super::{Superseded, retries::Retries};
use super::{acquire, groups};

/// A body of those frames, which waits once before each of them.
struct Frames {
    left: VecDeque<Frame<Bytes>>,
    waited: bool,
}

impl Frames {
    fn of(pieces: &[&'static str]) -> Self {
        let data = pieces.iter().map(|piece| Frame::data(Bytes::from(*piece)));
        Self {
            left: data.collect(),
            waited: false,
        }
    }

    fn and_trailers(mut self) -> Self {
        let mut trailers = HeaderMap::new();
        trailers.insert("x-sum", "7".parse().unwrap());
        self.left.push_back(Frame::trailers(trailers));
        self
    }
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.waited = !self.waited;
        if self.waited {
            return Poll::Pending;
        }
        Poll::Ready(self.left.pop_front().map(Ok))
    }
}

/// The next frame as text; trailers show their first value after a `#`.
fn next<B>(body: &mut ReplayBody<B>) -> Option<Result<String, crate::BoxError>>
where
    ReplayBody<B>: Body<Data = Bytes, Error = crate::BoxError> + Unpin,
{
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(frame) = Pin::new(&mut *body).poll_frame(&mut cx) {
            return frame.map(|frame| {
                frame.map(|frame| match frame.into_data() {
                    Ok(data) => String::from_utf8(data.to_vec()).unwrap(),
                    Err(frame) => {
                        let trailers = frame.into_trailers().unwrap();
                        format!("#{}", trailers["x-sum"].to_str().unwrap())
                    }
                })
            });
        }
    }
}

fn all<B>(body: &mut ReplayBody<B>) -> String
where
    ReplayBody<B>: Body<Data = Bytes, Error = crate::BoxError> + Unpin,
{
    let frames = std::iter::from_fn(|| next(body));
    frames.map(|frame| frame.unwrap()).collect()
}

#[test]
fn what_one_attempt_took_the_next_one_takes_again_with_the_rest_and_the_trailers() {
    let frames = Frames::of(&["one", "two", "three"]).and_trailers();
    let (replay, mut first) = Replay::begin(frames, 64);
    assert_eq!(next(&mut first).unwrap().unwrap(), "one");
    let mut second = replay.again().unwrap();
    assert_eq!(next(&mut second).unwrap().unwrap(), "one");
    assert_eq!(next(&mut second).unwrap().unwrap(), "two");
    let mut third = replay.again().unwrap();
    assert_eq!(all(&mut third), "onetwothree#7");
    assert!(third.is_end_stream());
    assert_eq!(all(&mut replay.again().unwrap()), "onetwothree#7");
}

#[test]
fn trailers_under_our_names_reach_no_endpoint_and_no_client() {
    let mut trailers = HeaderMap::new();
    for name in [
        "affinity-group",
        "affinity_session",
        "affinity-pin",
        "x-sum",
    ] {
        trailers.insert(name, "7".parse().unwrap());
    }
    let of = |mut frames: Frames| {
        frames.left.push_back(Frame::trailers(trailers.clone()));
        frames
    };
    let (_replay, sent) = Replay::begin(of(Frames::of(&["one"])), 64);
    let groups = groups(&[("a", 1)]);
    let lease = acquire(&groups, "a").unwrap();
    let answered = BalanceBody::new(of(Frames::of(&["one"])), lease);
    assert_eq!(names_of(sent), ["x-sum"], "to the endpoint");
    assert_eq!(names_of(answered), ["x-sum"], "to the client");
}

/// The names of a body's trailers.
fn names_of(mut body: impl Body<Data = Bytes, Error = crate::BoxError> + Unpin) -> Vec<String> {
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        match Pin::new(&mut body).poll_frame(&mut cx) {
            Poll::Pending => {}
            Poll::Ready(frame) => {
                if let Ok(trailers) = frame.expect("trailers").unwrap().into_trailers() {
                    return trailers.keys().map(ToString::to_string).collect();
                }
            }
        }
    }
}

#[test]
fn an_attempt_that_was_given_up_fails_and_does_not_end() {
    let (replay, mut first) = Replay::begin(Frames::of(&["one", "two"]), 64);
    assert_eq!(next(&mut first).unwrap().unwrap(), "one");
    let mut second = replay.again().unwrap();
    assert!(!first.is_end_stream());
    let error = next(&mut first).unwrap().unwrap_err();
    assert!(error.is::<Superseded>(), "{error}");
    assert_eq!(all(&mut second), "onetwo");
    assert!(
        next(&mut first).unwrap().is_err() && !first.is_end_stream(),
        "a part of the body looks like the whole"
    );
}

#[test]
fn a_body_that_was_too_long_to_keep_is_not_sent_again() {
    let (replay, mut first) = Replay::begin(Frames::of(&["12345678", "9"]), 8);
    next(&mut first).unwrap().unwrap();
    assert!(replay.is_whole(), "eight of eight bytes are kept");
    next(&mut first).unwrap().unwrap();
    assert!(!replay.is_whole() && replay.again().is_none());
    assert!(next(&mut first).is_none(), "the attempt itself goes on");
}

#[test]
fn a_long_body_can_be_sent_as_long_as_nothing_of_it_has_gone_out() {
    let long = Full::new(Bytes::from(vec![b'x'; 100]));
    let (replay, first) = Replay::begin(long, 8);
    assert!(replay.is_untouched());
    drop(first);
    let mut second = replay.again().unwrap();
    assert_eq!(second.size_hint().exact(), Some(100));
    assert_eq!(all(&mut second).len(), 100);
    assert!(replay.again().is_none() && !replay.is_untouched());
}

#[test]
fn a_body_in_many_small_pieces_is_not_kept() {
    let pieces = vec!["x"; 1025];
    let (replay, mut first) = Replay::begin(Frames::of(&pieces), 64 * 1024);
    assert_eq!(all(&mut first).len(), 1025);
    assert!(replay.again().is_none());
}

#[test]
fn a_body_that_breaks_is_not_sent_again() {
    let broken = http_body_util::StreamBody::new(futures_util::stream::iter([
        Ok(Frame::data(Bytes::from("one"))),
        Err(std::io::Error::other("the client went away")),
    ]));
    let (replay, mut first) = Replay::begin(broken, 64);
    next(&mut first).unwrap().unwrap();
    assert!(next(&mut first).unwrap().is_err());
    assert!(replay.again().is_none());
}

#[test]
fn the_length_of_what_is_sent_again_is_that_of_the_whole() {
    let (replay, mut first) = Replay::begin(Full::new(Bytes::from("whole")), 64);
    assert_eq!(first.size_hint().exact(), Some(5));
    next(&mut first).unwrap().unwrap();
    assert_eq!(first.size_hint().exact(), Some(0));
    assert_eq!(replay.again().unwrap().size_hint().exact(), Some(5));
}

#[test]
fn a_body_without_content_is_empty_however_often() {
    let (replay, first) = Replay::begin(Empty::<Bytes>::new(), 0);
    assert!(first.is_end_stream() && first.size_hint().exact() == Some(0));
    assert!(replay.is_untouched() && replay.again().unwrap().is_end_stream());
}

proptest! {
    /// Whatever attempts take before they are given up, each takes the body from its beginning,
    /// and the one that comes to its end has the whole.
    #[test]
    fn every_attempt_sends_the_body_from_its_beginning(
        pieces in prop::collection::vec("[a-z]{0,12}", 0..12),
        taken in prop::collection::vec(0_usize..14, 0..4),
        limit in 0_usize..80,
    ) {
        let whole: String = pieces.concat();
        let mut frames = Frames::of(&[]);
        frames.left = pieces.into_iter().map(|piece| Frame::data(Bytes::from(piece))).collect();
        let (replay, mut body) = Replay::begin(frames, limit);
        let mut sent = String::new();
        for frames in taken {
            sent.clear();
            for _ in 0..frames {
                let Some(frame) = next(&mut body) else { break };
                sent.push_str(&frame.unwrap());
            }
            prop_assert!(whole.starts_with(&sent), "{sent:?} is no beginning of {whole:?}");
            let Some(again) = replay.again() else {
                prop_assert!(sent.len() > limit, "{sent:?} was not kept");
                break;
            };
            let mut former = std::mem::replace(&mut body, again);
            sent.clear();
            prop_assert!(next(&mut former).unwrap().is_err());
        }
        sent.push_str(&all(&mut body));
        prop_assert_eq!(sent, whole);
    }
}

#[test]
fn sixty_four_kibibytes_are_kept_by_default() {
    assert_eq!(Retries::default(), Retries::new().max_body(65_536));
}
