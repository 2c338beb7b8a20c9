//! [`Token`]: what the admin side wants to see before it changes anything.

use std::{fs, io, path::Path};

use http::HeaderValue;

use crate::exit::{Exit, Failure};

/// Holds the token itself.
pub(crate) const VARIABLE: &str = "AFFINITY_ADMIN_TOKEN";
/// The file that is looked for in the working directory.
pub(crate) const FILE: &str = "admin.token";

/// The value of `Authorization`; `Debug` hides it.
#[derive(Clone, Debug)]
pub(super) struct Token(pub(super) HeaderValue);

/// Why there is no token; only calls that need one care.
#[derive(Clone, Debug)]
pub(super) struct Missing(String);

impl Missing {
    pub(super) fn failure(&self) -> Failure {
        Failure::new(Exit::Failed, "no-token", self.0.clone()).advice(ADVICE)
    }
}

/// What to do about a token that is missing or wrong.
pub(super) const ADVICE: &str = "set AFFINITY_ADMIN_TOKEN, or name the gateway's \
     listen.admin_token_file with --token-file";

/// The token of the environment variable, else of the named file, else of the usual one.
///
/// A named file has to be there; the usual one may be missing, since reading on loopback needs no
/// token.
pub(super) fn find(
    variable: Option<String>,
    named: Option<&Path>,
    usual: &Path,
) -> Result<Result<Token, Missing>, Failure> {
    if let Some(text) = variable.filter(|text| !text.is_empty()) {
        return token(&text, VARIABLE).map(Ok);
    }
    let path = named.unwrap_or(usual);
    match (fs::read_to_string(path), named) {
        (Ok(text), _) => token(&text, &path.display().to_string()).map(Ok),
        (Err(error), Some(path)) => Err(usage(format!(
            "--token-file = {}: {error}; accepted: a readable file with the admin token",
            path.display()
        ))),
        (Err(error), None) if error.kind() == io::ErrorKind::NotFound => {
            Ok(Err(Missing("no admin token was found".to_owned())))
        }
        (Err(error), None) => {
            let path = path.display();
            Ok(Err(Missing(format!(
                "the admin token in {path} cannot be read: {error}"
            ))))
        }
    }
}

fn token(text: &str, source: &str) -> Result<Token, Failure> {
    let text = text.trim();
    let visible = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    let value = visible.then(|| HeaderValue::try_from(format!("Bearer {text}")));
    match value {
        Some(Ok(mut value)) => {
            value.set_sensitive(true);
            Ok(Token(value))
        }
        _ => Err(usage(format!(
            "{source} holds no admin token; accepted: one word of visible ASCII characters"
        ))),
    }
}

fn usage(detail: String) -> Failure {
    Failure::new(Exit::Usage, "usage", detail)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::path::PathBuf;

    use super::*;

    /// A directory of this test alone, with `admin.token` and `other` in it.
    fn files(test: &str) -> (PathBuf, PathBuf) {
        let dir = std::env::temp_dir().join(format!("gateway-token-{}-{test}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("admin.token"), "usual\n").unwrap();
        fs::write(dir.join("other"), " named \n").unwrap();
        (dir.join("admin.token"), dir.join("other"))
    }

    fn found(variable: Option<&str>, named: Option<&Path>, usual: &Path) -> String {
        let token = find(variable.map(str::to_owned), named, usual)
            .unwrap()
            .unwrap();
        token.0.to_str().unwrap().to_owned()
    }

    #[test]
    fn the_variable_comes_before_the_named_file_and_that_before_the_usual_one() {
        let (usual, other) = files("order");
        assert_eq!(found(Some("word"), Some(&other), &usual), "Bearer word");
        assert_eq!(found(Some(""), Some(&other), &usual), "Bearer named");
        assert_eq!(found(None, None, &usual), "Bearer usual");
        fs::remove_dir_all(usual.parent().unwrap()).unwrap();
    }

    #[test]
    fn only_a_named_file_has_to_be_there() {
        let nowhere = Path::new("/nonexistent/admin.token");
        let missing = find(None, None, nowhere).unwrap().unwrap_err();
        assert_eq!(missing.failure().exit, Exit::Failed);
        let failure = find(None, Some(nowhere), nowhere).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        assert!(
            failure
                .problem
                .detail
                .starts_with("--token-file = /nonexistent/admin.token: ")
        );
    }

    #[test]
    fn a_token_is_never_shown() {
        let (usual, _) = files("shown");
        let token = find(None, None, &usual).unwrap();
        assert!(!format!("{token:?}").contains("usual"));
        let failure = find(Some("two words".to_owned()), None, &usual).unwrap_err();
        assert!(!failure.problem.detail.contains("words"), "{failure:?}");
        fs::remove_dir_all(usual.parent().unwrap()).unwrap();
    }
}
