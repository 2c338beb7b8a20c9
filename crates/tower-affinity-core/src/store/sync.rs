//! What threads share state by. The check of interleavings puts its own in the place of this file.
//!
//! Nothing under these locks is left half done by a panic, so a poisoned one is used as it is.

use std::sync::{MutexGuard, PoisonError, RwLockReadGuard, RwLockWriteGuard};

pub(super) use std::sync::atomic::{AtomicU64, Ordering};
pub(super) use std::sync::{Mutex, RwLock};

pub(super) type Guard<'a, T> = MutexGuard<'a, T>;

pub(super) fn lock<T>(mutex: &Mutex<T>) -> Guard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
