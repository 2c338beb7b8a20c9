//! What is moved from layer to layer with every request and every answer.

use bytes::Bytes;

use super::super::{AnswerBody, body::Forwarded};
use crate::stack::Sent;

#[test]
fn the_body_of_a_request_is_moved_as_a_pointer() {
    assert_eq!(size_of::<Forwarded<Sent>>(), size_of::<usize>());
}

#[test]
fn the_body_of_an_answer_takes_no_more_room_than_its_bytes() {
    assert_eq!(size_of::<AnswerBody>(), size_of::<Bytes>());
}
