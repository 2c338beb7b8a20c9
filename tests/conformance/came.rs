//! Everything that came over a connection, and what it amounts to.

use std::fmt;

use affinity_tests::http2::{Frame, kind};

#[derive(Clone, Debug, Default)]
pub(super) struct Came {
    pub(super) frames: Vec<Frame>,
    /// Whether the other side has closed.
    pub(super) ended: bool,
}

impl Came {
    fn on(&self, stream: u32) -> impl Iterator<Item = &Frame> {
        self.frames.iter().filter(move |it| it.stream == stream)
    }

    /// The head of the answer.
    pub(super) fn answer(&self, stream: u32) -> Option<&Frame> {
        self.on(stream).find(|it| it.kind == kind::HEADERS)
    }

    /// Whether the answer has come to its end.
    pub(super) fn finished(&self, stream: u32) -> bool {
        self.on(stream).any(Frame::ends_stream)
    }

    /// How many octets of the answer's body have come.
    pub(super) fn body(&self, stream: u32) -> usize {
        let data = self.on(stream).filter(|it| it.kind == kind::DATA);
        data.map(|it| it.payload.len()).sum()
    }

    /// The code that the stream was reset with.
    pub(super) fn reset(&self, stream: u32) -> Option<u32> {
        let mut resets = self.on(stream).filter(|it| it.kind == kind::RST_STREAM);
        resets.find_map(Frame::code)
    }

    /// The codes that the connection was ended with.
    pub(super) fn goaways(&self) -> impl Iterator<Item = u32> {
        let goaways = self.frames.iter().filter(|it| it.kind == kind::GOAWAY);
        goaways.filter_map(Frame::code)
    }

    /// Whether the stream or the connection has ended, and for no other reason than these.
    pub(super) fn failed(&self, stream: u32, codes: &[u32]) -> bool {
        let told = |code| codes.contains(&code);
        match self.reset(stream) {
            Some(code) => told(code),
            None => self.ended && self.goaways().all(told),
        }
    }

    /// What it was in a word.
    pub(super) fn short(&self) -> String {
        let error = self.frames.iter().find(|it| it.code().is_some());
        match error {
            Some(frame) => format!("`{frame}`"),
            None if self.is_an_answer() => "an answer".to_owned(),
            None if self.ended => "the end".to_owned(),
            None => "nothing".to_owned(),
        }
    }

    /// Whether a whole answer came, and no error.
    pub(super) fn is_an_answer(&self) -> bool {
        let frames = || self.frames.iter();
        frames().any(Frame::ends_stream) && frames().all(|it| it.code().is_none())
    }
}

impl fmt::Display for Came {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for frame in &self.frames {
            write!(f, "{frame}, ")?;
        }
        f.write_str(if self.ended {
            "the end"
        } else {
            "nothing more"
        })
    }
}
