//! Header blocks (RFC 7541), representation by representation.

/// A field's name and value.
pub type Field<'a> = (&'a str, &'a str);

/// Each field as a literal without an index and without Huffman.
#[must_use]
pub fn block(fields: &[Field<'_>]) -> Vec<u8> {
    let literals = fields.iter();
    literals
        .flat_map(|(name, value)| literal(0, name, value))
        .collect()
}

/// A field as a literal with a new name. The octet before it says what becomes of it: 0x40 adds it
/// to the dynamic table, 0 does not, 0x10 asks that nobody ever does.
#[must_use]
pub fn literal(first: u8, name: &str, value: &str) -> Vec<u8> {
    [&[first], &*text(name.as_bytes()), &text(value.as_bytes())].concat()
}

/// A field of the static or the dynamic table.
#[must_use]
pub fn indexed(index: usize) -> Vec<u8> {
    integer(0x80, 7, index)
}

/// Sets the size of the dynamic table, in octets.
#[must_use]
pub fn resize(octets: usize) -> Vec<u8> {
    integer(0x20, 5, octets)
}

/// A string without Huffman.
#[must_use]
pub fn text(octets: &[u8]) -> Vec<u8> {
    [&*integer(0, 7, octets.len()), octets].concat()
}

/// A number in the last `bits` of an octet that begins as `first`, and in as many more as it takes.
///
/// # Panics
///
/// If `bits` is no number from 1 to 8.
#[must_use]
pub fn integer(first: u8, bits: u32, mut value: usize) -> Vec<u8> {
    assert!((1..=8).contains(&bits), "a prefix of {bits} bits");
    let most = u8::MAX >> (8 - bits);
    if value < usize::from(most) {
        return vec![first | u8::try_from(value).unwrap()];
    }
    let mut octets = vec![first | most];
    value -= usize::from(most);
    while value >= 0x80 {
        octets.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    octets.push(u8::try_from(value).unwrap());
    octets
}

/// The status that a block begins with, as servers write the first one of a connection.
#[must_use]
pub fn status(block: &[u8]) -> Option<u16> {
    // a server that was told another size of the table confirms it before all else
    let resizes = block.iter().take_while(|octet| *octet & 0xe0 == 0x20);
    match block.get(resizes.count()..)? {
        [indexed @ 0x88..=0x8e, ..] => {
            let at = usize::from(indexed - 0x88);
            [200, 204, 206, 304, 400, 404, 500].get(at).copied()
        }
        // a literal whose name is that of an entry of the static table
        [0x48 | 0x08 | 0x18, 3, rest @ ..] => {
            let digits = std::str::from_utf8(rest.get(..3)?);
            digits.ok()?.parse().ok()
        }
        [0x48 | 0x08 | 0x18, length @ 0x82..=0x83, rest @ ..] => {
            digits(rest.get(..usize::from(length & 0x7f))?)
        }
        _ => None,
    }
}

/// Three digits in Huffman code: 0, 1 and 2 have five bits, the others six.
fn digits(octets: &[u8]) -> Option<u16> {
    let bits = octets
        .iter()
        .fold(0_u32, |all, octet| all << 8 | u32::from(*octet));
    let mut bits = bits << (32 - 8 * octets.len());
    let mut number = 0;
    for _ in 0..3 {
        let digit = match bits >> 27 {
            short @ 0..=2 => {
                bits <<= 5;
                short
            }
            _ => {
                // 3 is 011001, and so on
                let long = (bits >> 26).checked_sub(0b01_1001 - 3)?;
                bits <<= 6;
                long
            }
        };
        number = number * 10 + u16::try_from(digit).ok().filter(|digit| *digit < 10)?;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_rfc_shows() {
        assert_eq!(integer(0, 5, 10), [10]);
        assert_eq!(integer(0, 5, 1337), [31, 154, 10]);
        assert_eq!(integer(0, 8, 42), [42]);
        assert_eq!(resize(4096), [0x3f, 0xe1, 0x1f]);
        assert_eq!(indexed(70), [0xc6]);
    }

    #[test]
    fn a_status_is_read_in_every_form() {
        assert_eq!(status(&[0x88]), Some(200));
        assert_eq!(status(&[0x20, 0x8c, 0x00]), Some(400));
        assert_eq!(status(b"\x48\x03431"), Some(431));
        // examples of RFC 7541, C.6
        assert_eq!(status(&[0x48, 0x82, 0x64, 0x02]), Some(302));
        assert_eq!(status(&[0x48, 0x83, 0x64, 0x0e, 0xff]), Some(307));
        assert_eq!(status(&[0x40]), None);
        assert_eq!(status(&[]), None);
    }
}
