//! The layers among those of tower, tower-http, tower-sessions and axum: the table of
//! `docs/adopting.md`, one test for each row.

mod around;
mod orders;
mod within;

#[cfg(feature = "axum")]
mod routers;
#[cfg(feature = "axum")]
mod sessions;

/// What is answered for errors of tower's own layers.
fn of_tower(error: &(dyn std::error::Error + 'static)) -> Option<tower_affinity::Problem> {
    if error.is::<tower::load_shed::error::Overloaded>() {
        return Some(tower_affinity::Problem::Overloaded);
    }
    let elapsed = error.is::<tower::timeout::error::Elapsed>();
    elapsed.then_some(tower_affinity::Problem::UpstreamTimeout)
}
