//! Other proxies, from configurations in `conf`.

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
    let template = match proxy {
        Proxy::HaproxyJwt => include_str!("../conf/haproxy-jwt.cfg"),
        Proxy::HaproxyMap | Proxy::Ours(_) | Proxy::Bare(_) => {
            include_str!("../conf/haproxy-map.cfg")
        }
        Proxy::NginxMap => include_str!("../conf/nginx-map.conf"),
        Proxy::EnvoyMap => include_str!("../conf/envoy-map.yaml"),
        Proxy::Traefik => include_str!("../conf/traefik.yaml"),
        Proxy::Caddy => include_str!("../conf/caddyfile"),
    };
    let pair = format!("{}{}", site.certificate.key, site.certificate.certificate);
    let both = dir.write("both.pem", pair).display().to_string();
    let text = template
        .replace("@ADDRESS@", &address.to_string())
        .replace("@HOST@", &address.ip().to_string())
        .replace("@PORT@", &address.port().to_string())
        .replace("@THREADS@", &site.threads.to_string())
        .replace("@TLS@", &tls(proxy, wire, &both))
        .replace("@BACKENDS@", &backends(proxy, site))
        .replace("@SECRET@", SECRET)
        .replace("@SECRET_BASE64@", SECRET_BASE64);
    let name = match proxy {
        // told from others by its ending
        Proxy::EnvoyMap | Proxy::Traefik => "proxy.yaml",
        _ => "proxy.conf",
    };
    let file = dir.write(name, text).display().to_string();
    let dir = dir.path().display().to_string();
    let threads = site.threads.to_string();
    let entry = format!("--entryPoints.clients.address={address}");
    let args: &[&str] = match proxy {
        Proxy::HaproxyJwt | Proxy::HaproxyMap | Proxy::Ours(_) | Proxy::Bare(_) => {
            &["-db", "-q", "-f", &file]
        }
        Proxy::NginxMap => &["-p", &dir, "-c", &file],
        Proxy::EnvoyMap => &[
            "-c",
            &file,
            "--concurrency",
            &threads,
            "--log-level",
            "error",
            "--disable-hot-restart",
        ],
        Proxy::Traefik => &[
            &entry,
            &format!("--providers.file.filename={file}"),
            "--log.level=ERROR",
            "--global.checkNewVersion=false",
            "--global.sendAnonymousUsage=false",
            "--serversTransport.maxIdleConnsPerHost=512",
        ],
        Proxy::Caddy => &["run", "--adapter", "caddyfile", "--config", &file],
    };
    args.iter().map(ToString::to_string).collect()
}

/// What makes a listener speak as is wanted.
fn tls(proxy: &Proxy, wire: Wire, both: &str) -> String {
    let nginx = *proxy == Proxy::NginxMap;
    match wire {
        Wire::Plain => String::new(),
        Wire::H2c if nginx => "http2".to_owned(),
        Wire::H2c => "proto h2".to_owned(),
        Wire::Tls if nginx => {
            "ssl http2; ssl_certificate cert.pem; ssl_certificate_key key.pem".to_owned()
        }
        Wire::Tls => format!("ssl crt {both} alpn h2,http/1.1"),
    }
}

/// The endpoints of all groups.
fn backends(proxy: &Proxy, site: Site<'_>) -> String {
    let groups = GROUPS.iter().enumerate();
    let groups = groups.map(|(group, name)| (*name, site.pods.of(group)));
    match proxy {
        Proxy::HaproxyJwt | Proxy::HaproxyMap | Proxy::Ours(_) | Proxy::Bare(_) => {
            groups.map(|(name, pods)| haproxy(name, pods)).collect()
        }
        Proxy::NginxMap => groups.map(|(name, pods)| nginx(name, pods)).collect(),
        Proxy::EnvoyMap => groups.map(|(name, pods)| envoy(name, pods)).collect(),
        Proxy::Traefik => groups.map(|(name, pods)| traefik(name, pods)).collect(),
        Proxy::Caddy => groups
            .map(|(_, pods)| listed(pods, |pod| format!("{pod} ")))
            .collect(),
    }
}

fn haproxy(name: &str, pods: &[SocketAddr]) -> String {
    let mut text = format!("backend {name}\n    balance roundrobin\n");
    for (nth, pod) in pods.iter().enumerate() {
        writeln!(text, "    server {name}{nth} {pod}").expect("text takes text");
    }
    text
}

fn nginx(name: &str, pods: &[SocketAddr]) -> String {
    let pods = listed(pods, |pod| format!("server {pod}; "));
    format!("    upstream {name} {{ {pods}keepalive 256; keepalive_requests 1000000000; }}\n")
}

fn envoy(name: &str, pods: &[SocketAddr]) -> String {
    let pods = listed(pods, |pod| {
        let (host, port) = (pod.ip(), pod.port());
        format!(
            "        - endpoint: {{ address: {{ socket_address: {{ address: {host}, port_value: {port} }} }} }}\n"
        )
    });
    let most = "max_connections: 100000, max_pending_requests: 100000, max_requests: 100000";
    format!(
        "  - name: {name}\n    type: STATIC\n    connect_timeout: 5s\n    lb_policy: ROUND_ROBIN\n    \
         circuit_breakers: {{ thresholds: [{{ {most} }}] }}\n    load_assignment:\n      \
         cluster_name: {name}\n      endpoints:\n      - lb_endpoints:\n{pods}"
    )
}

fn traefik(name: &str, pods: &[SocketAddr]) -> String {
    let pods = listed(pods, |pod| format!("{{ url: \"http://{pod}\" }}, "));
    format!("    {name}: {{ loadBalancer: {{ servers: [{pods}] }} }}\n")
}

fn listed(pods: &[SocketAddr], write: impl Fn(&SocketAddr) -> String) -> String {
    pods.iter().map(write).collect()
}
