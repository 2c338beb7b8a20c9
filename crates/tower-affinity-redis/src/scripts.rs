//! The scripts, sent by their digest.

use redis::{Cmd, ErrorKind, RedisError, Script, ServerErrorKind, Value, cmd};

use crate::link::Link;

/// A script and the digest that a server knows it by.
#[derive(Debug)]
pub(crate) struct Program {
    source: &'static str,
    digest: String,
}

/// What the store does in one atomic step.
#[derive(Debug)]
pub(crate) struct Scripts {
    pub(crate) claim: Program,
    pub(crate) replace: Program,
    pub(crate) remove: Program,
    pub(crate) count: Program,
}

impl Scripts {
    pub(crate) fn new() -> Self {
        Self {
            claim: Program::new(CLAIM),
            replace: Program::new(REPLACE),
            remove: Program::new(REMOVE),
            count: Program::new(COUNT),
        }
    }
}

impl Program {
    fn new(source: &'static str) -> Self {
        Self {
            source,
            digest: Script::new(source).get_hash().to_owned(),
        }
    }

    /// Runs it. A server that has lost it gets it again.
    pub(crate) async fn run(
        &self,
        link: &Link,
        keys: &[&str],
        args: &[&[u8]],
    ) -> Result<Value, RedisError> {
        match link
            .ask(&invocation("EVALSHA", &self.digest, keys, args))
            .await
        {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                link.ask(&invocation("EVAL", self.source, keys, args)).await
            }
            answer => answer,
        }
    }
}

fn invocation(command: &str, script: &str, keys: &[&str], args: &[&[u8]]) -> Cmd {
    let mut command = cmd(command);
    command.arg(script).arg(keys.len()).arg(keys).arg(args);
    command
}

const CLAIM: &str = concat!(
    include_str!("scripts/look.lua"),
    include_str!("scripts/current.lua"),
    include_str!("scripts/standing.lua"),
    include_str!("scripts/sets.lua"),
    include_str!("scripts/write.lua"),
    include_str!("scripts/claim.lua")
);
const REPLACE: &str = concat!(
    include_str!("scripts/look.lua"),
    include_str!("scripts/current.lua"),
    include_str!("scripts/sets.lua"),
    include_str!("scripts/write.lua"),
    include_str!("scripts/replace.lua")
);
const REMOVE: &str = concat!(
    include_str!("scripts/look.lua"),
    include_str!("scripts/sets.lua"),
    include_str!("scripts/write.lua"),
    include_str!("scripts/remove.lua")
);
const COUNT: &str = concat!(
    include_str!("scripts/sets.lua"),
    include_str!("scripts/count.lua")
);
