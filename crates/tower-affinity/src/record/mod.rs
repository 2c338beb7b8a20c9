//! Counts and times per group, into the recorder of the `metrics` crate that the application
//! installs.

mod recorder;

pub use self::recorder::Recorder;
