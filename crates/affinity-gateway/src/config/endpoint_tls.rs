//! `upstream.tls`: whose certificates endpoints may show.

use std::path::PathBuf;

use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};

use super::Sources;
use super::section::Section;
use crate::upstream::EndpointTls;

/// TLS towards endpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpstreamTls {
    /// The file with the certificates of the authorities, as an absolute path.
    pub ca: PathBuf,
    /// What the file holds, at least one; never the system's own authorities.
    pub authorities: Vec<CertificateDer<'static>>,
    /// The name that certificates have to be for; `None`: the endpoint's IP address.
    pub server_name: Option<ServerName<'static>>,
}

impl UpstreamTls {
    /// As the leaf takes it.
    ///
    /// # Errors
    ///
    /// If an authority cannot be used, which was refused when the file was read.
    pub fn endpoints(&self) -> Result<EndpointTls, rustls::Error> {
        EndpointTls::new(&self.authorities, self.server_name.clone())
    }
}

pub(super) fn read(section: &Section<'_>, sources: &Sources<'_>) -> Option<UpstreamTls> {
    let field = section.required("ca", CA);
    let ca = field.as_ref().and_then(|field| sources.field_path(field));
    let authorities = ca.as_ref().and_then(|path| {
        let certificates = CertificateDer::pem_file_iter(path);
        let certificates =
            certificates.and_then(|all| all.take(MOST).collect::<Result<Vec<_>, _>>());
        let usable = certificates
            .ok()
            .filter(|all| !all.is_empty() && EndpointTls::new(all, None).is_ok());
        if let (None, Some(field)) = (&usable, &field) {
            field.refuse(format!("cannot be used; accepted: {CA}"));
        }
        usable
    });
    let name = section.field("server_name");
    let name =
        name.map(|field| field.parsed(NAME, |text| ServerName::try_from(text.to_owned()).ok()));
    section.finish();
    Some(UpstreamTls {
        ca: ca?,
        authorities: authorities?,
        server_name: match name {
            Some(parsed) => Some(parsed?),
            None => None,
        },
    })
}

const CA: &str = "a file with certificates of authorities in PEM";
const NAME: &str = "a host name or an IP address";
/// Bundles of systems have some hundred.
const MOST: usize = 1_000;
