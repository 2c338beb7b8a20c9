//! What a replica says of itself through the engine, and hears of the others.

use tower_affinity::core::{Fleet, LiveSketch, ReplicaRecord};
use tower_affinity::record::Recorder;

use super::{Member, SharedTrouble};
use crate::control::{Control, LAPSE};

impl Member {
    /// The control plane of this replica.
    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    /// Says that this replica is alive, hears what the others say, and judges itself by it.
    pub(crate) async fn speak_and_listen(
        &self,
        recorder: &Recorder,
        admin: &str,
    ) -> Result<(), SharedTrouble> {
        let (name, record) = self.word(recorder, admin);
        let document = record.to_document().to_string();
        let spoken = self
            .shared
            .ask(|engine| engine.announce(&name, document, LAPSE));
        spoken.await?;
        if self.control.joins() {
            // who was not heard of when the others counted takes what they agreed on meanwhile
            self.sync().await?;
        }
        let at = self.control.now();
        let announced = self.shared.ask(|engine| engine.records()).await?;
        let fleet = Fleet::new(&name, record, &announced);
        self.control.heard(announced, at);
        self.control.judge(&fleet);
        // each start without a state file has a new name: else their number would only grow
        for left in fleet.long_left(self.control.bounds()) {
            self.shared.ask(|engine| engine.forget(&left)).await?;
        }
        Ok(())
    }

    /// Says the last word, once no request is served any more.
    pub(crate) async fn depart(
        &self,
        recorder: &Recorder,
        admin: &str,
    ) -> Result<(), SharedTrouble> {
        let (name, record) = self.word(recorder, admin);
        let record = ReplicaRecord {
            left: true,
            ..record
        };
        let document = record.to_document().to_string();
        self.shared
            .ask(|engine| engine.depart(&name, document))
            .await
    }

    /// Ends the wait for a replica that is gone; `false` if there is none of that name.
    pub(crate) async fn forget(&self, replica: &str) -> Result<bool, SharedTrouble> {
        let known = self.shared.ask(|engine| engine.forget(replica)).await?;
        let at = self.control.now();
        let announced = self.shared.ask(|engine| engine.records()).await?;
        self.control.heard(announced, at);
        Ok(known)
    }

    fn word(&self, recorder: &Recorder, admin: &str) -> (String, ReplicaRecord) {
        let live = self.control.live();
        let mut record = self.control.record_of(&live);
        record.admin = Some(admin.to_owned());
        let counted = recorder.tallies();
        for group in &mut record.groups {
            let sketch = recorder.live_sketch(group.id.name(), record.at);
            group.live = (sketch != LiveSketch::default()).then_some(sketch);
            group.counted = counted.as_ref().map(|all| all.of(group.id.name()));
        }
        (live.kept.replica.clone(), record)
    }
}
