//! The counterpart of the store's own `sync.rs`, each step of which the scheduler orders.

use std::sync::PoisonError;

use shuttle::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

pub(super) use shuttle::sync::atomic::{AtomicU64, Ordering};
pub(super) use shuttle::sync::{Mutex, RwLock};

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
