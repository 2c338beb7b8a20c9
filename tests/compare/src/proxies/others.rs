//! HAProxy and nginx, from configurations in `conf`.

use std::fmt::Write;
use std::net::SocketAddr;

use affinity_tests::Scratch;

use super::{Proxy, Site, Wire};
use crate::pods::GROUPS;

/// 32 bytes, and the same as HAProxy's `hmac` reads them.
const SECRET: &str = "a-secret-that-is-used-only-here!";
const SECRET_BASE64: &str = "YS1zZWNyZXQtdGhhdC1pcy11c2VkLW9ubHktaGVyZSE=";

/// Writes the configuration; the arguments that name it.
pub(super) fn set_up(
    proxy: &Proxy,
    dir: &Scratch,
    address: SocketAddr,
    wire: Wire,
    site: Site<'_>,
) -> Vec<String> {
    let nginx = *proxy == Proxy::NginxMap;
    let template = match proxy {
        Proxy::HaproxyJwt => include_str!("../conf/haproxy-jwt.cfg"),
        Proxy::NginxMap => include_str!("../conf/nginx-map.conf"),
        Proxy::HaproxyMap | Proxy::Ours(_) => include_str!("../conf/haproxy-map.cfg"),
    };
    let pair = format!("{}{}", site.certificate.key, site.certificate.certificate);
    let both = dir.write("both.pem", pair);
    let both = both.display();
    let (tls, backends) = if nginx {
        let tls = match wire {
            Wire::Plain => String::new(),
            Wire::H2c => "http2".to_owned(),
            Wire::Tls => {
                "ssl http2; ssl_certificate cert.pem; ssl_certificate_key key.pem".to_owned()
            }
        };
        (tls, nginx_backends(site))
    } else {
        let tls = match wire {
            Wire::Plain => String::new(),
            Wire::H2c => "proto h2".to_owned(),
            Wire::Tls => format!("ssl crt {both} alpn h2,http/1.1"),
        };
        (tls, haproxy_backends(site))
    };
    let text = template
        .replace("@ADDRESS@", &address.to_string())
        .replace("@TLS@", &tls)
        .replace("@BACKENDS@", &backends)
        .replace("@SECRET@", SECRET)
        .replace("@SECRET_BASE64@", SECRET_BASE64);
    let file = dir.write("proxy.conf", text).display().to_string();
    let dir = dir.path().display().to_string();
    if nginx {
        ["-p", &dir, "-c", &file].map(str::to_owned).to_vec()
    } else {
        ["-db", "-q", "-f", &file].map(str::to_owned).to_vec()
    }
}

fn haproxy_backends(site: Site<'_>) -> String {
    let mut text = String::new();
    for (group, name) in GROUPS.iter().enumerate() {
        writeln!(text, "backend {name}\n    balance roundrobin").expect("text takes text");
        for (nth, pod) in site.pods.of(group).iter().enumerate() {
            writeln!(text, "    server {name}{nth} {pod}").expect("text takes text");
        }
    }
    text
}

fn nginx_backends(site: Site<'_>) -> String {
    let mut text = String::new();
    for (group, name) in GROUPS.iter().enumerate() {
        let pods = site.pods.of(group).iter();
        let pods: String = pods.map(|pod| format!("server {pod}; ")).collect();
        writeln!(
            text,
            "    upstream {name} {{ {pods}keepalive 256; keepalive_requests 1000000000; }}"
        )
        .expect("text takes text");
    }
    text
}
