//! `on_navigation = "latest"`: what a page load may do, and nothing else.

use proptest::prelude::*;

use super::world::{Held, World, any_wide_level, shown};
use crate::{Cause, Kind, OnNavigation, Status};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// So everything that holds of a session that its application lets go holds of a page load: it
    /// leaves a draining group only, for the stable one only, and a loop of page loads moves it once.
    #[test]
    fn a_page_load_does_what_the_applications_release_does_and_nothing_else(
        world in World::any(), held in Held::any(), level in any_wide_level()
    ) {
        let mut world = world.at_level(level).loads_page(true);
        world.policy.on_navigation = OnNavigation::Latest;
        let pin = held.released(false).in_world(&world);
        let loaded = world.decision(&shown(pin.clone()));
        let rest = world.clone().loads_page(false);
        if loaded.cause == Cause::Released {
            let released = rest.decision(&shown(pin.clone().released()));
            prop_assert_eq!(&loaded, &released);
            let id = pin.group.known().unwrap();
            let Status::Serving(group) = world.rollout.status(id) else { panic!("{id} does not serve") };
            prop_assert_eq!(group.state().name(), "draining");
            prop_assert_eq!(loaded.group.as_ref(), Some(&world.rollout.stable_id()));
            let again = world.decision(&shown(loaded.pin.unwrap()));
            prop_assert_eq!(again.kind, Kind::Pinned, "loaded again, and moved again");
        } else {
            prop_assert_eq!(loaded, rest.decision(&shown(pin)));
        }
    }
}
