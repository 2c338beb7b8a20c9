//! What went through of a body, kept for another attempt.

use bytes::Bytes;
use http::HeaderMap;
use http_body::Frame;

/// How many frames are kept: a body in more pieces than that would cost more than its bytes.
const FRAMES: usize = 1024;

/// The frames of a body from its first on, or nothing of them.
#[derive(Debug)]
pub(super) struct Kept {
    frames: Vec<Piece>,
    bytes: usize,
    limit: usize,
    /// Whether anything went through.
    touched: bool,
    /// What went through was too much, or was not worth keeping.
    forgotten: bool,
}

#[derive(Clone, Debug)]
enum Piece {
    Data(Bytes),
    Trailers(HeaderMap),
}

impl Kept {
    /// Nothing yet, of a body that has at least `least` bytes. At most `limit` bytes are kept.
    pub(super) fn new(limit: usize, least: u64) -> Self {
        let fits = usize::try_from(least).is_ok_and(|least| least <= limit);
        Self {
            frames: Vec::new(),
            bytes: 0,
            limit: if fits { limit } else { 0 },
            touched: false,
            forgotten: false,
        }
    }

    /// Keeps a frame that goes through. `false` if it was not kept: it was empty, or there is more
    /// now than may be kept, and all of it is forgotten.
    pub(super) fn keep(&mut self, frame: &Frame<Bytes>) -> bool {
        let piece = match (frame.data_ref(), frame.trailers_ref()) {
            (Some(data), _) if data.is_empty() => return false,
            (Some(data), _) => Piece::Data(data.clone()),
            (None, Some(trailers)) => Piece::Trailers(trailers.clone()),
            (None, None) => return false,
        };
        self.touched = true;
        self.bytes = self.bytes.saturating_add(piece.size());
        if self.forgotten || self.bytes > self.limit || self.frames.len() == FRAMES {
            self.forget();
            return false;
        }
        self.frames.push(piece);
        true
    }

    /// Gives up what is kept: the body cannot be sent again.
    pub(super) fn forget(&mut self) {
        self.touched = true;
        self.forgotten = true;
        self.frames = Vec::new();
    }

    /// The frame at that place, to be sent again.
    pub(super) fn frame(&self, at: usize) -> Option<Frame<Bytes>> {
        Some(match self.frames.get(at)? {
            Piece::Data(data) => Frame::data(data.clone()),
            Piece::Trailers(trailers) => Frame::trailers(trailers.clone()),
        })
    }

    /// How many frames are kept.
    pub(super) fn frames(&self) -> usize {
        self.frames.len()
    }

    /// How many bytes of data come with the frames from that place on.
    pub(super) fn bytes_from(&self, at: usize) -> u64 {
        let frames = self.frames.iter().skip(at);
        let data = frames.map(|piece| match piece {
            Piece::Data(data) => data.len() as u64,
            Piece::Trailers(_) => 0,
        });
        data.sum()
    }

    /// Whether everything that went through is here.
    pub(super) fn is_whole(&self) -> bool {
        !self.forgotten
    }

    /// Whether nothing went through yet.
    pub(super) fn is_untouched(&self) -> bool {
        !self.touched
    }
}

impl Piece {
    fn size(&self) -> usize {
        match self {
            Self::Data(data) => data.len(),
            Self::Trailers(trailers) => {
                let fields = trailers.iter();
                fields
                    .map(|(name, value)| name.as_str().len() + value.len())
                    .sum()
            }
        }
    }
}
