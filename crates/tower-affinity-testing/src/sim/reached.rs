//! How often a run met what it is made for: what is never reached was never tested.

macro_rules! reached {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// How often each rare situation was met.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Reached { $($(#[$doc])* pub $name: u64),* }

        impl Reached {
            /// Adds what another run met.
            pub fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
            }

            /// The situations that were never met.
            #[must_use]
            pub fn missing(&self) -> Vec<&'static str> {
                let all = [$((stringify!($name), self.$name)),*];
                all.into_iter().filter(|(_, count)| *count == 0).map(|(name, _)| name).collect()
            }
        }
    };
}

reached! {
    /// A session moved by an abort that another replica does not know yet.
    abort_while_a_replica_is_behind,
    /// A pin above the revision of the replica that obeys it.
    pin_above_our_revision,
    /// A request refused because its group is unknown and the engine silent.
    refused_behind,
    /// The wait for a newer state given up after its bound.
    behind_bound_passed,
    /// A newer state fetched because of a pin.
    fetched_because_of_a_pin,
    /// A revision raised by a pin.
    revision_raised_by_a_pin,
    /// A renewal that arrives after the pin of a later move.
    refresh_overtaking_a_moved_pin,
    /// Two replicas that aborted each other's target.
    crossed_aborts,
    /// An old pin to a generation that was restored since.
    restore_followed_by_an_old_pin,
    /// Two different valid pins in one request.
    two_valid_duplicates,
    /// More candidates than are looked at.
    too_many_candidates,
    /// A renewal in the very second in which a quarter of the lifetime is used.
    renewal_at_the_quarter,
    /// A pin that ends between the decision and the answer.
    expiry_between_decision_and_answer,
    /// A state that changes between the decision and the answer.
    request_in_flight_across_a_swap,
    /// A pin that is not written because its group was aborted meanwhile.
    withdrawn_at_the_answer,
    /// A first pin that is written although its group was aborted meanwhile.
    first_pin_into_an_abort,
    /// An abort that names an aborted group again, with another policy.
    abort_repeated_with_another_policy,
    /// An abort of a group that is the target of another one.
    abort_of_a_target,
    /// A session moved along a chain of aborts.
    moved_along_a_chain,
    /// A session that an older pin put back, moved again.
    moved_again_after_an_old_pin,
    /// Sessions that stay until the deadline.
    stayed,
    /// A pin renewed because a stay lasts, whose session another clock has moved already.
    stayed_behind_a_move,
    /// Sessions that were ended.
    ended,
    /// A session of a lost group.
    moved_from_a_lost_group,
    /// A group that is down here, but so are most: it is us.
    lost_are_we,
    /// A session of a retired group, moved by weights.
    moved_from_a_retired_group,
    /// A strict scope whose group is gone.
    refused_gone,
    /// No group that may take a new session is ready.
    nothing_ready,
    /// A forged pin that was refused.
    forgery_refused,
    /// A pin from a clock that is too far ahead.
    from_the_future,
    /// A pin signed by a key that does not sign any more.
    pin_of_an_older_key,
    /// A stream that gives its pin all the session's time.
    stream_extended_its_pin,
    /// A draining group that serves its sessions.
    served_while_draining,
    /// A draining group retired once it was drained.
    retired_when_drained,
    /// A retirement refused because the group is not drained.
    not_drained_yet,
    /// A change that the rules refuse.
    change_refused,
    /// A delivery that came twice or too late.
    stale_delivery,
    /// A change refused because the rollout is locked.
    refused_by_a_lock,
    /// An abort of a locked rollout.
    abort_under_a_lock,
    /// A state from before a restore that is delivered after it.
    restore_followed_by_a_late_delivery,
    /// An abort that a replica takes while the engine is out of its reach.
    abort_taken_as_a_fact,
    /// Such an abort that goes into the shared state by itself.
    fact_merged,
    /// One that does so although another group was made stable meanwhile.
    fact_merged_after_a_promote,
    /// One whose group was changed in the shared state meanwhile.
    fact_disputed,
    /// A disputed one that a human confirms.
    fact_confirmed,
    /// A disputed one that a human drops.
    fact_dropped,
    /// One that is not obeyed since no group is left that could take the sessions.
    fact_that_nobody_can_take,
    /// One that comes after its group was restored.
    restore_followed_by_a_late_fact,
    /// A state that the engine has lost, written back by a replica.
    lost_state_written_back,
    /// Two states with one revision, of which a replica's becomes a greater one.
    two_states_of_one_number,
    /// An override for one request.
    granted,
    /// A sticky override for a group that drains: it counts for one request.
    sticky_for_a_draining_group,
    /// A session that a sticky override began.
    sticky_session_begun,
    /// A session that a sticky override found where it should be.
    sticky_session_kept,
    /// An override for an aborted group.
    override_of_an_aborted_group,
    /// An override that has ended or that we did not sign.
    override_refused_as_none,
    /// A session that its application ended.
    ended_by_its_application,
    /// A pin that its application released.
    released,
    /// A release that came when the session could not leave.
    released_too_early,
    /// A released session that moved.
    released_and_moved,
    /// A released pin whose session cannot leave any more.
    release_taken_back,
    /// A move that its application has seen.
    move_seen,
    /// What an application says while the pin is above its replica's revision.
    said_while_behind,
    /// A session drawn anew to another group.
    drawn_anew_elsewhere,
    /// A session drawn anew to its own group.
    drawn_anew_in_place,
    /// A session that something other than the draw placed, kept by a step.
    placed_session_kept_by_a_step,
    /// A session at its endpoint, which is there.
    endpoint_kept,
    /// A session whose endpoint is gone.
    endpoint_lost,
    /// One that finds that out on the way to the answer.
    endpoint_left_on_the_way,
    /// One that is drawn anew to its own group.
    endpoint_lost_by_a_step,
    /// One that stays while its group is aborted.
    endpoint_lost_in_a_stay,
    /// An endpoint that a move leaves behind.
    endpoint_left_by_a_move,
    /// An endpoint in a pin above the revision of the replica, which does not know it.
    endpoint_unknown_while_behind,
    /// A session that comes to an endpoint from another level.
    endpoint_taken_later,
    /// A group that a replica says is drained although another one is silent.
    drained_with_a_silent_replica,
    /// One that it says is drained although a replica has left.
    drained_after_a_leave,
    /// One that waits for the word of a replica.
    drained_waits_for_a_replica,
    /// A pin to a group that was drained: it is not any more.
    late_pin_after_drained,
    /// A replica that an operator has forgotten.
    replica_forgotten,
    /// A crash of a replica with requests in flight.
    crash_with_requests_in_flight,
}
