//! One request to the rule, told in the words of the rules, and its answer as one line.

use std::fmt::Write;

use std::sync::Arc;

use crate::fixtures::{Counted, View, after, at, drawn_to, id, lifetimes, name, salt, session};
use crate::{
    AbortPolicy, AbortRequest, Absence, AlwaysReady, Cohort, Decision, DrawKey, Fault, Forwarding,
    GroupName, GroupRef, Inputs, Level, LiveCounts, NewGroup, Newer, OnGone, OnNavigation, OnStep,
    Outcome, Override, Policy, Presented, Revision, Rollout, Serving, SessionId, SessionPin, Shown,
    Timestamp, decide,
};

/// Revision 10: A (stable, weight 90) and B (10) are active, C drains, D is staged, E, F and G are
/// aborted to A (F's sessions stay for 600 s, G's end), R is retired. The last weight changed at 10.
pub(super) fn town() -> Rollout {
    let groups = [
        crate::fixtures::active("A", 90).stable(),
        crate::fixtures::active("B", 10),
        NewGroup::draining(name("C")),
        NewGroup::staged(name("D")),
        NewGroup::aborted(name("E"), name("A")),
        NewGroup::staged(name("F")),
        NewGroup::staged(name("G")),
        NewGroup::retired(name("R")),
    ];
    let town = Rollout::new(Revision(8), at(-60), groups).unwrap();
    let town = abort(&town, "F", AbortPolicy::Stay { until: at(600) });
    abort(&town, "G", AbortPolicy::End)
}

pub(super) fn abort(rollout: &Rollout, group: &str, policy: AbortPolicy) -> Rollout {
    let request = AbortRequest {
        policy: Some(policy),
        ..AbortRequest::default()
    };
    let change = after(rollout, at(-60));
    rollout
        .abort(&name(group), &request, &AlwaysReady, change)
        .unwrap()
}

/// A request and everything that its decision depends on.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) shown: Shown,
    pub(super) key: Option<DrawKey>,
    pub(super) chosen: Option<Override>,
    pub(super) hint: Option<GroupName>,
    pub(super) page_load: bool,
    pub(super) policy: Option<Policy>,
    pub(super) rollout: Rollout,
    pub(super) view: View,
    pub(super) serving: Option<GroupName>,
    pub(super) forwarding: Forwarding,
    pub(super) now: Timestamp,
    pub(super) newer: Newer,
    pub(super) fresh: SessionId,
    pub(super) live: LiveCounts,
}

impl Ask {
    /// A first request, whose session would be drawn to B.
    pub(super) fn new() -> Self {
        Self::without(Absence::New)
    }

    pub(super) fn without(absence: Absence) -> Self {
        let rollout = town();
        Self {
            shown: Shown::Nothing(absence),
            key: None,
            chosen: None,
            hint: None,
            page_load: false,
            policy: Some(Policy {
                lifetimes: lifetimes(),
                ..Policy::default()
            }),
            fresh: drawn_to(&rollout, "B"),
            rollout,
            view: View::default(),
            serving: None,
            forwarding: Forwarding::Never,
            now: at(0),
            newer: Newer::Unasked,
            live: LiveCounts::Unknown,
        }
    }

    pub(super) fn fault(fault: Fault) -> Self {
        Self::without(Absence::Fault(fault))
    }

    /// A request with a pin of a session that the draw gives to B.
    pub(super) fn with(pin: SessionPin) -> Self {
        Self {
            shown: Shown::Pin(Box::new(pin)),
            ..Self::new()
        }
    }

    /// A request with P(group, revision).
    pub(super) fn p(group: &str, revision: u64) -> Self {
        Self::with(pin(group, revision))
    }

    /// A request with a pin of that revision whose group nobody here knows.
    pub(super) fn unknown(revision: u64) -> Self {
        Self::with(SessionPin {
            group: GroupRef::Unknown(crate::GroupCode::new([7; 10])),
            ..pin("A", revision)
        })
    }

    pub(super) fn level(mut self, level: Level) -> Self {
        self.policy.as_mut().unwrap().level = level;
        self
    }

    pub(super) fn strict(mut self) -> Self {
        self.policy.as_mut().unwrap().on_gone = OnGone::Strict;
        self
    }

    pub(super) fn reassign(mut self) -> Self {
        self.policy.as_mut().unwrap().on_step = OnStep::Reassign;
        self
    }

    /// A full page load, where one moves on.
    pub(super) fn page_load(mut self) -> Self {
        self.policy.as_mut().unwrap().on_navigation = OnNavigation::Latest;
        self.page_load = true;
        self
    }

    /// In a scope of level `follow` that reads hints, with this one.
    pub(super) fn hint(self, group: &str) -> Self {
        Self {
            hint: Some(name(group)),
            ..self.level(Level::Follow)
        }
    }

    /// Where new sessions go to the less loaded, and so many live in each group.
    pub(super) fn least_loaded(mut self, live: &[(&str, u64)]) -> Self {
        self.policy.as_mut().unwrap().least_loaded = true;
        let counts = live.iter().map(|(group, count)| (id(group, 1), *count));
        self.live = LiveCounts::Known(Arc::new(Counted(counts.collect())));
        self
    }

    /// With an override for that group.
    pub(super) fn chosen(self, group: &str, sticky: bool) -> Self {
        let chosen = Override {
            group: GroupRef::Known(id(group, 1)),
            expires: at(3600),
            sticky,
        };
        Self {
            chosen: Some(chosen),
            ..self
        }
    }

    pub(super) fn no_scope(self) -> Self {
        Self {
            policy: None,
            ..self
        }
    }

    /// Without a ready endpoint in these groups for that many seconds.
    pub(super) fn down(mut self, groups: &[&str], secs: i64) -> Self {
        let since = i64::try_from(self.now.as_secs()).unwrap()
            - i64::try_from(at(0).as_secs()).unwrap()
            - secs;
        self.view = View::down(groups, at(since));
        self
    }

    pub(super) fn now(self, secs: i64) -> Self {
        Self {
            now: at(secs),
            ..self
        }
    }

    pub(super) fn serving(self, group: &str) -> Self {
        Self {
            serving: Some(name(group)),
            ..self
        }
    }

    /// In a process of that group that takes what belongs to others to them.
    pub(super) fn forwarding(self, group: &str) -> Self {
        Self {
            forwarding: Forwarding::Foreign,
            ..self.serving(group)
        }
    }

    /// In a process of that group that draws new sessions by weight.
    pub(super) fn by_weight(self, group: &str) -> Self {
        Self {
            forwarding: Forwarding::ByWeight,
            ..self.serving(group)
        }
    }

    pub(super) fn newer(self, newer: Newer) -> Self {
        Self { newer, ..self }
    }

    pub(super) fn key(self, key: DrawKey) -> Self {
        Self {
            key: Some(key),
            ..self
        }
    }

    pub(super) fn rollout(self, rollout: Rollout) -> Self {
        Self { rollout, ..self }
    }

    pub(super) fn outcome(&self) -> Outcome {
        let presented = Presented {
            shown: self.shown.clone(),
            key: self.key,
            chosen: self.chosen.clone(),
            hint: self.hint.clone(),
            page_load: self.page_load,
        };
        decide(&Inputs {
            presented: &presented,
            policy: self.policy.as_ref(),
            rollout: &self.rollout,
            ready: &self.view,
            live: &self.live,
            salt: &salt(),
            serving: self.serving.as_ref().map(|group| Serving {
                group,
                forwarding: self.forwarding,
            }),
            now: self.now,
            fresh: &|| self.fresh,
            newer: self.newer,
        })
    }

    pub(super) fn decision(&self) -> Decision {
        match self.outcome() {
            Outcome::Decided(decision) => decision,
            Outcome::Behind(revision) => panic!("undecided: behind revision {revision}"),
        }
    }

    /// The answer as one line: decision/cause, group, cohort, and whether a pin is written
    /// (`issue`), only known (`keep`), or not there at all (`-`).
    pub(super) fn answer(&self) -> String {
        let decision = match self.outcome() {
            Outcome::Behind(revision) => return format!("ask for {revision}"),
            Outcome::Decided(decision) => decision,
        };
        let mut line = format!("{}/{}", decision.kind.as_str(), decision.cause.as_str());
        let cohort = decision.cohort.as_str();
        write!(line, " {} {cohort} ", decision.group_label()).unwrap();
        line.push_str(match (&decision.pin, decision.issue) {
            (Some(_), true) => "issue",
            (Some(_), false) => "keep",
            (None, false) => "-",
            (None, true) => panic!("a pin is to be written, but there is none"),
        });
        line
    }
}

/// P(group, revision), issued at the begin of the test to a session that the draw gives to B.
pub(super) fn pin(group: &str, revision: u64) -> SessionPin {
    let session = drawn_to(&town(), "B");
    SessionPin::new(
        session,
        id(group, 1),
        Revision(revision),
        at(0),
        lifetimes(),
    )
}

/// A session id that the draw gives to A.
pub(super) fn drawn_to_a() -> SessionId {
    drawn_to(&town(), "A")
}

/// Checks a table of requests and answers; a failure names the row.
pub(super) fn check<const N: usize>(table: [(&str, Ask, &str); N]) {
    for (row, ask, expected) in table {
        assert_eq!(ask.answer(), expected, "{row}");
    }
}

#[test]
fn the_town_is_what_its_description_says() {
    let town = town();
    let states: Vec<String> = town
        .groups()
        .iter()
        .map(|g| format!("{} {} {}", g.name(), g.state().name(), g.weight()))
        .collect();
    assert_eq!(
        states,
        [
            "A active 90",
            "B active 10",
            "C draining 0",
            "D staged 0",
            "E aborted 0",
            "F aborted 0",
            "G aborted 0",
            "R retired 0",
        ]
    );
    assert_eq!(
        (town.revision(), town.step_revision()),
        (Revision(10), Revision(10))
    );
    assert_eq!(pin("A", 10).session, Ask::new().fresh);
    assert_ne!(drawn_to_a(), session(0));
    assert_eq!(Cohort::ALL.len(), 4);
}
