//! Chunks and trailers, as strictly as they may be read.

/// Where in a chunked body the connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chunks {
    /// In the size; `digits` of it have come.
    Size {
        size: u64,
        digits: u8,
    },
    /// In an extension, which says nothing to us.
    Extension {
        size: u64,
        read: usize,
    },
    /// After the CR that ends the size's line.
    SizeLf {
        size: u64,
    },
    /// In the data.
    Data {
        left: u64,
    },
    /// After the data.
    DataCr,
    DataLf,
    /// At the beginning of a trailer line, so much of all of them having come.
    Trailer {
        read: usize,
    },
    /// Within a trailer line.
    TrailerLine {
        read: usize,
    },
    /// After the CR of a trailer line; `last` for the empty one.
    TrailerLf {
        read: usize,
        last: bool,
    },
    /// The body is over.
    Done,
    /// What came cannot be read.
    Broken,
}

impl Chunks {
    pub(super) const BEGIN: Self = Self::Size { size: 0, digits: 0 };

    /// Goes over `bytes`: how many belong to the body and can be read. All of them, unless it is
    /// [`Done`](Self::Done) or [`Broken`](Self::Broken) afterwards.
    pub(super) fn take(&mut self, bytes: &[u8], max_trailers: usize) -> usize {
        let mut taken = 0;
        while let Some(rest) = bytes.get(taken..)
            && let Some(byte) = rest.first()
        {
            match self {
                Self::Done | Self::Broken => break,
                Self::Data { left } => {
                    let part = u64::try_from(rest.len()).unwrap_or(u64::MAX).min(*left);
                    *left -= part;
                    taken += usize::try_from(part).unwrap_or(rest.len());
                    if *left == 0 {
                        *self = Self::DataCr;
                    }
                }
                _ => {
                    *self = self.after(*byte, max_trailers);
                    taken += usize::from(*self != Self::Broken);
                }
            }
        }
        taken
    }

    fn after(self, byte: u8, max_trailers: usize) -> Self {
        match (self, byte) {
            (Self::Size { size, digits }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F')
                if digits < MOST_DIGITS =>
            {
                let digit = char::from(byte).to_digit(16).map_or(0, u64::from);
                let size = size << 4 | digit;
                Self::Size {
                    size,
                    digits: digits + 1,
                }
            }
            (Self::Size { size, digits: 1.. }, b'\r') => Self::SizeLf { size },
            (Self::Size { size, digits: 1.. }, b';') => Self::Extension { size, read: 0 },
            (Self::Extension { size, .. }, b'\r') => Self::SizeLf { size },
            (Self::Extension { size, read }, _) if is_text(byte) && read < MOST_EXTENSION => {
                Self::Extension {
                    size,
                    read: read + 1,
                }
            }
            (Self::SizeLf { size: 0 }, b'\n') => Self::Trailer { read: 0 },
            (Self::SizeLf { size }, b'\n') => Self::Data { left: size },
            (Self::DataCr, b'\r') => Self::DataLf,
            (Self::DataLf, b'\n') => Self::BEGIN,
            (Self::Trailer { read }, b'\r') => Self::TrailerLf { read, last: true },
            (Self::TrailerLine { read }, b'\r') => Self::TrailerLf { read, last: false },
            (Self::Trailer { read } | Self::TrailerLine { read }, _)
                if is_text(byte) && read < max_trailers =>
            {
                Self::TrailerLine { read: read + 1 }
            }
            (Self::TrailerLf { last: true, .. }, b'\n') => Self::Done,
            (Self::TrailerLf { read, .. }, b'\n') => Self::Trailer { read },
            _ => Self::Broken,
        }
    }
}

fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// Sixteen digits are 64 bits.
const MOST_DIGITS: u8 = 16;
/// Nobody uses extensions; without a bound they would be a body that counts as none.
const MOST_EXTENSION: usize = 256;
