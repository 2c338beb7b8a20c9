//! Base64url without padding (RFC 4648, section 5), written into room that is there already.
//!
//! The crate `base64` reads any alphabet, which takes a call and a check for each of the short texts
//! that a token is made of. Only the canonical text counts here as well; a test holds one against the
//! other.

/// Decodes `text` into the first bytes of `room`, and answers these; `None` if it is no canonical
/// text, or if it says more than there is room for.
pub(crate) fn decode<'a>(text: &[u8], room: &'a mut [u8]) -> Option<&'a [u8]> {
    let room = room.get_mut(..text.len() / 4 * 3 + text.len() % 4 * 3 / 4)?;
    let (eights, text) = text.as_chunks::<8>();
    let (sixes, rest) = room.split_at_mut_checked(eights.len() * 6)?;
    // whatever is no symbol leaves its mark here: one look at the end instead of one for each
    let mut seen = 0;
    for ([a, b, c, d, e, f, g, h], six) in eights.iter().zip(sixes.as_chunks_mut::<6>().0) {
        let (first, second) = (word([*a, *b, *c, *d]), word([*e, *f, *g, *h]));
        seen |= first | second;
        let both = u64::from(first) << 40 | u64::from(second) << 16;
        let [bytes @ .., _, _] = both.to_be_bytes();
        *six = bytes;
    }
    let (fours, text) = text.as_chunks::<4>();
    let (threes, last) = rest.as_chunks_mut::<3>();
    for (four, three) in fours.iter().zip(threes) {
        let all = word(*four);
        seen |= all;
        let [_, bytes @ ..] = all.to_be_bytes();
        *three = bytes;
    }
    // the symbol `A` stands for no bits
    let (all, used) = match *text {
        [] => (0, 0),
        [a, b] => (word([a, b, b'A', b'A']), 1),
        [a, b, c] => (word([a, b, c, b'A']), 2),
        _ => return None,
    };
    seen |= all;
    let bytes = all.to_be_bytes();
    let (said, spare) = bytes.get(1..)?.split_at_checked(used)?;
    last.copy_from_slice(said);
    // spare bits would be a second spelling of the same bytes
    (seen & BAD == 0 && spare.iter().all(|bits| *bits == 0)).then_some(&*room)
}

/// Decodes `text`, which says exactly `N` bytes.
pub(crate) fn decode_exactly<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let len = decode(text, &mut bytes)?.len();
    (len == N).then_some(bytes)
}

/// The text of `bytes`, which takes exactly so many symbols.
#[inline]
pub(crate) fn encode<const SYMBOLS: usize>(bytes: &[u8]) -> [u8; SYMBOLS] {
    debug_assert_eq!(SYMBOLS, (bytes.len() * 4).div_ceil(3));
    let mut text = [0; SYMBOLS];
    let (fours, rest) = text.as_chunks_mut::<4>();
    let (threes, last) = bytes.as_chunks::<3>();
    for (four, three) in fours.iter_mut().zip(threes) {
        *four = symbols(*three);
    }
    let mut three = [0; 3];
    three
        .iter_mut()
        .zip(last)
        .for_each(|(to, byte)| *to = *byte);
    rest.iter_mut()
        .zip(symbols(three))
        .for_each(|(to, symbol)| *to = symbol);
    text
}

/// The four symbols of three bytes.
fn symbols([a, b, c]: [u8; 3]) -> [u8; 4] {
    let all = u32::from_be_bytes([0, a, b, c]);
    let symbol = |bits: u32| {
        ALPHABET
            .get(bits as usize & 63)
            .copied()
            .unwrap_or_default()
    };
    [18, 12, 6, 0].map(|shift| symbol(all >> shift))
}

/// What four symbols stand for, in the last three bytes; with [`BAD`] in the first if one is none.
fn word(four: [u8; 4]) -> u32 {
    let [a, b, c, d] = four;
    let at = |table: &[u32; 256], symbol| table.get(usize::from(symbol)).copied().unwrap_or(BAD);
    at(&FIRST, a) | at(&SECOND, b) | at(&THIRD, c) | at(&FOURTH, d)
}

/// Above all that four symbols can stand for.
const BAD: u32 = 1 << 31;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static FIRST: [u32; 256] = table(18);
static SECOND: [u32; 256] = table(12);
static THIRD: [u32; 256] = table(6);
static FOURTH: [u32; 256] = table(0);

/// What each byte stands for, `shift` bits from the end.
#[expect(clippy::indexing_slicing, reason = "the compiler runs it")]
const fn table(shift: u32) -> [u32; 256] {
    let mut values = [BAD; 256];
    let mut nth = 0;
    while nth < ALPHABET.len() {
        values[ALPHABET[nth] as usize] = (nth as u32) << shift;
        nth += 1;
    }
    values
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use proptest::prelude::*;

    use super::{decode, decode_exactly, encode};

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
            let ours: [u8; 22] = encode(&bytes);
            prop_assert_eq!(&ours[..], text.as_bytes());
            prop_assert_eq!(decode_exactly(text.as_bytes()), Some(bytes));
            prop_assert_eq!(decode_exactly::<15>(text.as_bytes()), None);
            prop_assert_eq!(decode_exactly::<17>(text.as_bytes()), None);
        }
    }
}
