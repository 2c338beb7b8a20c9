//! The size of the dynamic table, which the client chooses within what we allow.

use affinity_tests::http2::{Field, block, indexed, literal, resize};

use crate::conformance::case::{Case, Expected, case, send};
use crate::conformance::requests::GET;

use super::hpack::{ADD, DECODING, NEWEST, request};

pub(super) fn cases() -> Vec<Case> {
    let get = block(&GET);
    let before = |sizes: &[usize], rest: &[u8]| {
        let sizes = sizes.iter().copied().flat_map(resize).collect::<Vec<_>>();
        send(request(1, &[&*sizes, &get, rest].concat()))
    };
    let entry = literal(ADD, "x-test", "1");
    let [first, rest @ ..]: [Field<'_>; 4] = GET;
    let within = [block(&[first]), resize(1), block(&rest)].concat();
    let forgotten = [
        request(1, &[&*get, &entry].concat()),
        request(
            3,
            &[&*resize(0), &resize(4096), &get, &indexed(NEWEST)].concat(),
        ),
    ];
    let answered = Expected::Answer(1);
    vec![
        case(
            "7541 6.3",
            "a new size of the table is taken",
            before(&[128], &[]),
            answered.clone(),
        ),
        case(
            "7541 6.3",
            "several new sizes of the table are taken",
            before(&[0, 128, 4096], &entry),
            answered,
        ),
        case(
            "7541 4.3",
            "without a table nothing is added",
            before(&[0], &[&*entry, &indexed(NEWEST)].concat()),
            DECODING,
        ),
        case(
            "7541 4.3",
            "a smaller table forgets its entries",
            send(forgotten.concat()),
            DECODING,
        ),
        case(
            "7541 4.2",
            "a new size at the end of a block ends the connection",
            before(&[], &resize(1)),
            DECODING,
        ),
        case(
            "7541 4.2",
            "a new size within a block ends the connection",
            send(request(1, &within)),
            DECODING,
        ),
        case(
            "7541 6.3",
            "a size above SETTINGS_HEADER_TABLE_SIZE ends the connection",
            before(&[4097], &[]),
            DECODING,
        ),
    ]
}
