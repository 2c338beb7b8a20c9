//! [`conform`]: the facts that every store has to fulfil.

use std::sync::Arc;

use tower_affinity_core::PinStore;

use super::facts::{claims, clocks, counts, drops, ends, keys, replaces};
use super::parts::Links;

/// Holds a store against its contract. It runs on a runtime of tokio and waits for nothing but the
/// store.
///
/// `make` gives another replica's way to the store of a place; the name of a place has only
/// lower-case letters and dashes, and there is nothing under it yet. The service is
/// [`SERVICE`](super::SERVICE). All times are counted from [`START`](crate::START). The facts run
/// side by side.
///
/// # Panics
///
/// If a fact does not hold.
pub async fn conform(make: impl Fn(&str) -> Arc<dyn PinStore>) {
    let two = |place: &str| Links {
        one: make(place),
        other: make(place),
    };
    tokio::join!(
        claims::a_row_is_read_by_all_as_it_was_claimed(two("claimed")),
        claims::the_first_claim_wins(two("first")),
        claims::of_many_parallel_claims_one_wins(two("racers")),
        claims::a_standing_row_is_touched_once_per_quarter(two("touched")),
        claims::of_parallel_touches_one_is_enough(two("touches")),
        claims::a_touch_changes_nothing_else(two("kept")),
    );
    tokio::join!(
        ends::a_row_ends_whatever_was_swept(two("ended")),
        ends::an_ended_row_is_claimed_as_if_it_were_absent(two("reclaimed")),
        ends::an_ended_row_is_replaced_by_any_session(two("refilled")),
        ends::of_many_claims_of_an_ended_row_one_wins(two("heirs")),
        ends::the_age_of_a_session_wins_over_its_touches(two("aged")),
        ends::the_age_as_configured_now_decides(two("configured")),
    );
    tokio::join!(
        replaces::a_replacement_of_nothing_is_stored(two("unwritten")),
        replaces::a_later_pin_takes_the_place(two("later")),
        replaces::an_older_pin_never_does_and_hears_of_the_winner(two("older")),
        replaces::revision_moves_and_issue_decide_in_this_order(two("order")),
        replaces::of_two_moves_in_one_second_the_first_stands(two("tie")),
        replaces::an_equally_late_pin_of_the_same_group_takes_the_place(two("added")),
        replaces::an_expiry_is_never_lowered(two("lowered")),
        replaces::another_session_stands(two("another")),
        replaces::of_parallel_moves_one_stands_and_all_hear_of_it(two("movers")),
        replaces::of_parallel_replacements_the_greatest_stands(two("greatest")),
    );
    tokio::join!(
        keys::a_removed_row_is_gone(two("removed")),
        keys::a_removal_leaves_the_row_of_another_session(two("left")),
        keys::sessions_and_names_never_collide(two("kinds")),
        keys::places_do_not_see_each_other(two("place"), two("place-b")),
        clocks::a_step_back_keeps_what_stands(two("back")),
        clocks::a_step_back_does_not_raise_the_dead(two("dead")),
        clocks::a_row_of_a_far_future_is_absent_until_then(two("future")),
        drops::a_dropped_call_leaves_the_old_row_or_the_new(two("dropped")),
        drops::dropped_calls_do_not_disturb_others(two("disturbed")),
    );
    tokio::join!(
        counts::rows_are_counted_by_group_and_endpoint(two("counted")),
        counts::a_row_is_counted_once_however_often_it_is_used(two("once")),
        counts::moves_and_removals_change_the_counts(two("changed")),
        counts::what_has_ended_is_not_counted(two("over")),
        counts::an_heir_is_counted_in_place_of_what_ended(two("inherited")),
        counts::sessions_that_were_never_stored_count_nowhere(two("empty")),
    );
}
