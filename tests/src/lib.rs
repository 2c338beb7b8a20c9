//! Shared parts of the end-to-end stories live beside them; this library is empty on purpose.
