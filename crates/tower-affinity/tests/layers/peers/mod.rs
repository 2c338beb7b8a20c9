//! A service without a gateway whose processes take each other's requests.

mod answers;
mod arms;
mod bad;
mod marks;
mod mesh;
mod propagation;
mod sessions;
