//! Base64url without padding (RFC 4648, section 5), decoded into room that is there already.
//!
//! The crate `base64` reads any alphabet, which takes a call and a check for each of the short texts
//! that a token is made of. Only the canonical text counts here as well; a test holds one against the
//! other.

/// Decodes `text` into the first bytes of `room`, and answers these; `None` if it is no canonical
/// text, or if it says more than there is room for.
pub(crate) fn decode<'a>(text: &[u8], room: &'a mut [u8]) -> Option<&'a [u8]> {
    let (fours, rest) = text.as_chunks::<4>();
    let tail = rest.len() * 3 / 4;
    let room = room.get_mut(..fours.len() * 3 + tail)?;
    let (threes, last) = room.as_chunks_mut::<3>();
    // whatever is no symbol leaves its mark here: one look at the end instead of one for each
    let mut seen = 0;
    for (four, three) in fours.iter().zip(threes) {
        let [a, b, c, d] = four.map(value);
        seen |= a | b | c | d;
        let [_, high, middle, low] = (a << 18 | b << 12 | c << 6 | d).to_be_bytes();
        *three = [high, middle, low];
    }
    let spare = match (rest, last) {
        ([], []) => 0,
        ([a, b], [high]) => {
            let (a, b) = (value(*a), value(*b));
            seen |= a | b;
            *high = (a << 2 | b >> 4) as u8;
            b & 0b1111
        }
        ([a, b, c], [high, low]) => {
            let (a, b, c) = (value(*a), value(*b), value(*c));
            seen |= a | b | c;
            *high = (a << 2 | b >> 4) as u8;
            *low = (b << 4 | c >> 2) as u8;
            c & 0b11
        }
        _ => return None,
    };
    // spare bits would be a second spelling of the same bytes
    (seen & BAD == 0 && spare == 0).then_some(&*room)
}

/// Decodes `text`, which says exactly `N` bytes.
pub(crate) fn decode_exactly<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let len = decode(text, &mut bytes)?.len();
    (len == N).then_some(bytes)
}

/// What a symbol stands for; [`BAD`] for a byte that is none.
fn value(symbol: u8) -> u32 {
    VALUES
        .get(usize::from(symbol))
        .map_or(BAD, |v| u32::from(*v))
}

/// Above all values.
const BAD: u32 = 0x80;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#[expect(clippy::indexing_slicing, reason = "the compiler runs it")]
const VALUES: [u8; 256] = {
    let mut values = [BAD as u8; 256];
    let mut nth = 0;
    while nth < ALPHABET.len() {
        values[ALPHABET[nth] as usize] = nth as u8;
        nth += 1;
    }
    values
};

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use proptest::prelude::*;

    use super::{decode, decode_exactly};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn the_same_texts_say_the_same_bytes_as_to_the_crate(
            text in "[A-Za-z0-9_-]{0,70}",
            other in any::<u8>(),
            at in any::<prop::sample::Index>(),
            is_changed in any::<bool>(),
        ) {
            let mut text = text.into_bytes();
            if is_changed && !text.is_empty() {
                let at = at.index(text.len());
                text[at] = other;
            }
            let mut room = [0; 64];
            let ours = decode(&text, &mut room).map(<[u8]>::to_vec);
            prop_assert_eq!(ours, URL_SAFE_NO_PAD.decode(&text).ok(), "{:?}", text);
        }

        #[test]
        fn what_was_encoded_comes_back(bytes in any::<[u8; 16]>()) {
            let text = URL_SAFE_NO_PAD.encode(bytes);
            prop_assert_eq!(decode_exactly(text.as_bytes()), Some(bytes));
            prop_assert_eq!(decode_exactly::<15>(text.as_bytes()), None);
            prop_assert_eq!(decode_exactly::<17>(text.as_bytes()), None);
        }
    }
}
