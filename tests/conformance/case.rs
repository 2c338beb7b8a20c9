//! A case: what is sent, and what must come.

use std::fmt;

/// One requirement, and frames that put it to the test.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// The RFC and its section.
    pub(super) section: &'static str,
    /// What holds.
    pub(super) fact: String,
    pub(super) script: Script,
    pub(super) expected: Expected,
}

pub(super) fn case(
    section: &'static str,
    fact: impl Into<String>,
    script: Script,
    expected: Expected,
) -> Case {
    let fact = fact.into();
    Case {
        section,
        fact,
        script,
        expected,
    }
}

impl Case {
    /// Whether it sends what nobody may forward.
    pub(super) fn is_malformed(&self) -> bool {
        matches!(self.expected, Expected::Malformed(_))
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.section, self.fact)
    }
}

/// What the client does.
#[derive(Clone, Debug)]
pub(super) struct Script {
    /// Whether the connection is opened as it ought to be before the first step.
    pub(super) opened: bool,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Send(Vec<u8>),
    /// Sends the same again and again, so many times, unless the connection ends.
    Repeat(Vec<u8>, usize),
    /// Waits for the head of the answer.
    Head(u32),
    /// Waits for the end of the answer.
    End(u32),
    /// Waits for so many octets of the answer's body.
    Data(u32, usize),
}

/// On a connection that both sides have opened.
pub(super) fn send(bytes: Vec<u8>) -> Script {
    opened().then(bytes)
}

pub(super) fn opened() -> Script {
    Script {
        opened: true,
        steps: Vec::new(),
    }
}

/// On a connection of which nothing has been sent yet.
pub(super) fn raw(bytes: Vec<u8>) -> Script {
    let script = Script {
        opened: false,
        steps: Vec::new(),
    };
    script.then(bytes)
}

impl Script {
    pub(super) fn then(self, bytes: Vec<u8>) -> Self {
        self.step(Step::Send(bytes))
    }

    pub(super) fn repeat(self, bytes: Vec<u8>, times: usize) -> Self {
        self.step(Step::Repeat(bytes, times))
    }

    pub(super) fn after_head(self, stream: u32) -> Self {
        self.step(Step::Head(stream))
    }

    pub(super) fn after_end(self, stream: u32) -> Self {
        self.step(Step::End(stream))
    }

    pub(super) fn after_data(self, stream: u32, octets: usize) -> Self {
        self.step(Step::Data(stream, octets))
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

/// What must come.
#[derive(Clone, Debug)]
pub(super) enum Expected {
    /// The connection ends, and if it says why, it is one of these codes.
    ConnectionError(&'static [u32]),
    /// The stream is reset with one of these codes. An endpoint may choose to treat that as an
    /// error of the connection (RFC 9113, 5.4).
    StreamError(u32, &'static [u32]),
    /// A stream error `PROTOCOL_ERROR`; an answer that blames the client may stand for it
    /// (RFC 9113, 8.1.1).
    Malformed(u32),
    /// The whole answer, of status 200.
    Answer(u32),
    /// Nothing has gone wrong: a PING is still answered.
    Alive,
    /// As [`Expected::Alive`], and of the body no more than so many octets have come.
    Held(u32, usize),
    /// As [`Expected::Alive`], and no PING of this payload has been answered.
    NoPong([u8; 8]),
    /// As [`Expected::Alive`], and so many SETTINGS have been confirmed, that of the opening
    /// included.
    Confirmed(usize),
}
