//! Settings as the text that would make them again, every default written out.

use std::fmt::{self, Display, Write};
use std::path::Path;
use std::time::Duration;

use tower_affinity::balance::{Balancing, EjectionPolicy};
use tower_affinity::core::Experiment;
use tower_affinity::core::analysis::Measure;
use tower_affinity::experiments::DrawBy;
use tower_affinity::wire::{AssignBy, HintSource};

use super::access_log::FORMATS;
use super::balance::CHOICES;
use super::cookie::SAME_SITES;
use super::experiment;
use super::group::{GroupSetting, GroupState};
use super::pin::{CARRIERS, PinSettings};
use super::scope::{CACHES, LEVELS, ON_GONE, ON_NAVIGATION, ON_STEP, ScopeSetting};
use super::span::in_words;
use super::{
    AccessLogSettings, Discovery, DynamoSettings, EtcdSettings, Health, Login, RedisServers,
    RedisSettings, Retries, RollbackPolicy, Settings, StoreKind, StoreSettings,
};
use crate::serve::Limits;
use crate::upstream::EndpointProtocol;

pub(super) fn write(settings: &Settings) -> String {
    let mut text = String::new();
    match sections(&mut text, settings) {
        Ok(()) => text,
        // a String takes everything
        Err(fmt::Error) => text,
    }
}

fn sections(f: &mut String, settings: &Settings) -> fmt::Result {
    let Settings {
        service,
        listen,
        pin,
        upstream,
        groups,
        scopes,
        experiments,
        rollback,
        state,
        store,
        access_log,
        analysis,
    } = settings;
    writeln!(f, "service = \"{service}\"")?;
    writeln!(
        f,
        "\n[listen]\naddress = \"{}\"\nadmin = \"{}\"",
        listen.address, listen.admin
    )?;
    writeln!(f, "admin_token_file = {}", path(&listen.admin_token_file))?;
    writeln!(f, "trusted_proxies = {}", list(&listen.trusted_proxies))?;
    writeln!(f, "proxy_protocol = {}", listen.proxy_protocol)?;
    if let Some(tls) = &listen.tls {
        let (cert, key) = (path(&tls.cert), path(&tls.key));
        let tickets = list(tls.ticket_keys.iter().map(|key| &key.source));
        writeln!(
            f,
            "tls = {{ cert = {cert}, key = {key}, ticket_keys = {tickets} }}"
        )?;
    }
    writeln!(f, "workers = {}", listen.workers)?;
    limits(f, &listen.limits)?;
    let (drain, delay) = (in_words(listen.drain), in_words(listen.drain_delay));
    writeln!(f, "drain = \"{drain}\"\ndrain_delay = \"{delay}\"")?;
    pin_section(f, pin)?;
    writeln!(
        f,
        "\n[upstream]\nprotocol = \"{}\"",
        word(&EndpointProtocol::WORDS, &upstream.protocol)
    )?;
    if let Some(tls) = &upstream.tls {
        write!(f, "tls = {{ ca = {}", path(&tls.ca))?;
        if let Some(name) = &tls.server_name {
            write!(f, ", server_name = {}", quoted(&name.to_str()))?;
        }
        writeln!(f, " }}")?;
    }
    let spans = [
        ("connect_timeout", Some(upstream.connect_timeout)),
        ("response_timeout", Some(upstream.response_timeout)),
        ("idle_timeout", Some(upstream.idle_timeout)),
        ("total_timeout", upstream.total_timeout),
    ];
    spans_written(f, spans)?;
    let Retries {
        max,
        budget_percent,
        budget_floor,
        max_body,
    } = upstream.retries;
    write!(
        f,
        "retries = {{ max = {max}, budget_percent = {budget_percent}, "
    )?;
    writeln!(f, "budget_floor = {budget_floor}, max_body = {max_body} }}")?;
    balancing_keys(f, &upstream.balancing)?;
    if !upstream.dns_servers.is_empty() {
        let servers = list(&upstream.dns_servers);
        writeln!(f, "dns = {{ servers = {servers} }}")?;
    }
    if let Some(health) = &upstream.health {
        health_table(f, health)?;
    }
    groups
        .iter()
        .try_for_each(|group| group_section(f, group))?;
    scopes
        .iter()
        .try_for_each(|scope| scope_section(f, scope))?;
    experiments
        .iter()
        .try_for_each(|(experiment, by)| experiment_section(f, experiment, by))?;
    let policy = word(&RollbackPolicy::WORDS, &rollback.policy);
    let (within, streams) = (in_words(rollback.within), in_words(rollback.streams));
    writeln!(
        f,
        "\n[rollback]\npolicy = \"{policy}\"\nwithin = \"{within}\"\nstreams = \"{streams}\""
    )?;
    writeln!(f, "\n[state]\nfile = {}", path(&state.file))?;
    if let Some(EtcdSettings { endpoints, prefix }) = &state.etcd {
        let endpoints = list(endpoints);
        writeln!(f, "etcd = {endpoints}\nprefix = {}", quoted(prefix))?;
    }
    store.iter().try_for_each(|store| store_section(f, store))?;
    let (slow, login) = (in_words(analysis.slow), list(&analysis.login));
    writeln!(f, "\n[analysis]\nslow = \"{slow}\"\nlogin = {login}")?;
    let (terms, abort) = (&analysis.terms, analysis.abort_on_worse);
    let (effect, alpha) = (terms.min_effect(), terms.alpha());
    let measures = list(terms.measures().iter().map(Measure::name));
    writeln!(f, "min_effect = {effect}\nalpha = {alpha}")?;
    writeln!(f, "measures = {measures}\nabort_on_worse = {abort}")?;
    if let Some(AccessLogSettings { path: file, format }) = access_log {
        let format = word(&FORMATS, format);
        write!(
            f,
            "\n[access_log]\npath = {}\nformat = \"{format}\"\n",
            path(file)
        )?;
    }
    Ok(())
}

fn store_section(f: &mut String, store: &StoreSettings) -> fmt::Result {
    let timeout = in_words(store.timeout);
    writeln!(f, "\n[store]\nkind = \"{}\"", store.kind.word())?;
    writeln!(f, "timeout = \"{timeout}\"")?;
    match &store.kind {
        StoreKind::Memory { capacity } => writeln!(f, "capacity = {capacity}"),
        StoreKind::Redis(RedisSettings { servers, login }) => {
            match servers {
                RedisServers::One(url) => writeln!(f, "url = {}", quoted(url))?,
                RedisServers::Cluster(nodes) => writeln!(f, "cluster = {}", list(nodes))?,
            }
            login.iter().try_for_each(|login| login_lines(f, login))
        }
        StoreKind::Dynamo(dynamo) => dynamo_lines(f, dynamo),
    }
}

fn dynamo_lines(f: &mut String, dynamo: &DynamoSettings) -> fmt::Result {
    let (table, region) = (quoted(&dynamo.table), quoted(&dynamo.region));
    writeln!(f, "table = {table}\nregion = {region}")?;
    if let Some(endpoint) = &dynamo.endpoint {
        writeln!(f, "endpoint = {}", quoted(endpoint))?;
    }
    let [id, secret] = [&dynamo.access_key_id, &dynamo.secret_access_key]
        .map(|line| quoted(&line.source.to_string()));
    writeln!(f, "access_key_id = {id}\nsecret_access_key = {secret}")?;
    let mut interval = dynamo.count_every.map(in_words).into_iter();
    interval.try_for_each(|interval| writeln!(f, "count_every = \"{interval}\""))
}

fn login_lines(f: &mut String, login: &Login) -> fmt::Result {
    let mut user = login.user.iter();
    user.try_for_each(|user| writeln!(f, "user = {}", quoted(user)))?;
    writeln!(f, "password = {}", quoted(&login.source.to_string()))
}

fn limits(f: &mut String, limits: &Limits) -> fmt::Result {
    let [head, silence, body] = [
        limits.header_timeout,
        limits.keep_alive,
        limits.body_timeout,
    ]
    .map(in_words);
    writeln!(f, "http2 = {}", limits.http2)?;
    writeln!(f, "header_timeout = \"{head}\"\nkeep_alive = \"{silence}\"")?;
    writeln!(f, "body_timeout = \"{body}\"")?;
    writeln!(f, "max_connections = {}", limits.max_connections)?;
    writeln!(f, "max_requests = {}", limits.max_requests)?;
    writeln!(
        f,
        "max_streams = {}\nmax_headers = {}",
        limits.max_streams, limits.max_headers
    )?;
    writeln!(
        f,
        "max_header_bytes = {}\nmax_body = {}",
        limits.max_header_bytes, limits.max_body
    )
}

fn health_table(f: &mut String, health: &Health) -> fmt::Result {
    let Health {
        path,
        interval,
        timeout,
        jitter_percent,
        unhealthy_after,
        healthy_after,
    } = health;
    let (path, interval, timeout) = (quoted(path), in_words(*interval), in_words(*timeout));
    write!(f, "health = {{ path = {path}, interval = \"{interval}\", ")?;
    write!(
        f,
        "timeout = \"{timeout}\", jitter_percent = {jitter_percent}, "
    )?;
    let (down, up) = (unhealthy_after, healthy_after);
    writeln!(f, "unhealthy_after = {down}, healthy_after = {up} }}")
}

fn pin_section(f: &mut String, pin: &PinSettings) -> fmt::Result {
    writeln!(
        f,
        "\n[pin]\nkeys = {}",
        list(pin.keys.iter().map(|key| key.written()))
    )?;
    if let Some(ids) = &pin.id_secret {
        writeln!(f, "id_secret = {}", quoted(&ids.source.to_string()))?;
    }
    let carriers = pin.carriers.iter().map(|carrier| word(&CARRIERS, carrier));
    writeln!(f, "carriers = {}", list(carriers))?;
    let spans = [
        ("idle_ttl", pin.lifetimes.idle()),
        ("max_age", pin.lifetimes.max_age()),
        ("local_idle_timeout", pin.local_idle_timeout),
        ("clock_skew", pin.clock_skew),
    ];
    for (name, span) in spans {
        writeln!(f, "{name} = \"{}\"", in_words(span))?;
    }
    writeln!(f, "drop_early = {}", list(&pin.drop_early))?;
    let cookie = &pin.cookie;
    let (name, same_site) = (
        quoted(cookie.name()),
        word(&SAME_SITES, &cookie.same_site()),
    );
    write!(
        f,
        "cookie = {{ name = {name}, secure = {}, ",
        cookie.secure()
    )?;
    writeln!(
        f,
        "same_site = \"{same_site}\", partitioned = {} }}",
        cookie.partitioned()
    )
}

fn balancing_keys(f: &mut String, balancing: &Balancing) -> fmt::Result {
    writeln!(f, "balance = \"{}\"", word(&CHOICES, &balancing.choice))?;
    if let Some(limit) = balancing.max_in_flight {
        writeln!(f, "max_in_flight = {limit}")?;
    }
    let EjectionPolicy {
        failures,
        base,
        max,
    } = balancing.ejection;
    let (base, max) = (in_words(base), in_words(max));
    writeln!(
        f,
        "ejection = {{ failures = {failures}, base = \"{base}\", max = \"{max}\" }}"
    )?;
    let slow_start = in_words(balancing.slow_start);
    writeln!(f, "slow_start = \"{slow_start}\"")
}

fn group_section(f: &mut String, group: &GroupSetting) -> fmt::Result {
    writeln!(f, "\n[[group]]\nname = {}", quoted(group.name.as_str()))?;
    writeln!(
        f,
        "weight = {}\nstable = {}",
        group.weight.get(),
        group.stable
    )?;
    writeln!(f, "state = \"{}\"", group.state.word())?;
    if let GroupState::Aborted { to } = &group.state {
        writeln!(f, "abort_to = {}", quoted(to.as_str()))?;
    }
    match &group.discovery {
        None => writeln!(f, "endpoints = {}", list(&group.endpoints))?,
        Some(Discovery::Dns(name)) => writeln!(f, "dns = {}", quoted(&name.to_string()))?,
        Some(Discovery::File(file)) => writeln!(f, "endpoints_file = {}", path(file))?,
    }
    if let Some(limit) = group.max_in_flight {
        writeln!(f, "max_in_flight = {limit}")?;
    }
    if let Some(protocol) = &group.protocol {
        let protocol = word(&EndpointProtocol::WORDS, protocol);
        writeln!(f, "protocol = \"{protocol}\"")?;
    }
    writeln!(f, "reserve_percent = {}", group.reserve_percent)?;
    writeln!(f, "compatible_with = {}", list(&group.compatible_with))
}

fn scope_section(f: &mut String, scope: &ScopeSetting) -> fmt::Result {
    let assign = match &scope.assign {
        AssignBy::Session => "session".to_owned(),
        AssignBy::Header(name) => format!("header:{name}"),
        AssignBy::Cookie(name) => format!("cookie:{name}"),
        AssignBy::Claim(name) => format!("claim:{name}"),
        AssignBy::Address => "address".to_owned(),
        AssignBy::LeastLoaded => "least_loaded".to_owned(),
    };
    let affinity = word(&LEVELS, &scope.affinity);
    let (on_gone, on_step) = (
        word(&ON_GONE, &scope.on_gone),
        word(&ON_STEP, &scope.on_step),
    );
    let cache = word(&CACHES, &scope.cache);
    writeln!(f, "\n[[scope]]\npath = {}", quoted(&scope.path.to_string()))?;
    writeln!(f, "affinity = \"{affinity}\"\nassign = {}", quoted(&assign))?;
    writeln!(
        f,
        "on_gone = \"{on_gone}\"\non_step = \"{on_step}\"\ncache = \"{cache}\""
    )?;
    let on_navigation = word(&ON_NAVIGATION, &scope.on_navigation);
    writeln!(f, "on_navigation = \"{on_navigation}\"")?;
    match &scope.hint {
        None => {}
        Some(HintSource::Query(name)) => {
            writeln!(f, "hint = {}", quoted(&format!("query:{name}")))?;
        }
        Some(HintSource::Header(name)) => writeln!(f, "hint = \"header:{name}\"")?,
    }
    let (streaming, propagate) = (scope.streaming, scope.propagate);
    writeln!(f, "streaming = {streaming}\npropagate = {propagate}")?;
    let spans = [
        ("response_timeout", scope.response_timeout),
        ("idle_timeout", scope.idle_timeout),
        ("total_timeout", scope.total_timeout),
    ];
    spans_written(f, spans)?;
    if let Some(most) = scope.max_body {
        writeln!(f, "max_body = {most}")?;
    }
    match &scope.restart_url {
        Some(url) => writeln!(f, "restart_url = {}", quoted(url)),
        None => Ok(()),
    }
}

fn experiment_section(f: &mut String, experiment: &Experiment, by: &DrawBy) -> fmt::Result {
    let arms = experiment.arms().iter();
    let arms: Vec<String> = arms
        .map(|arm| format!("{} = {}", arm.name(), arm.weight()))
        .collect();
    let (name, arms) = (experiment.name(), arms.join(", "));
    writeln!(
        f,
        "\n[[experiment]]\nname = \"{name}\"\narms = {{ {arms} }}"
    )?;
    writeln!(f, "by = {}", quoted(&experiment::word(by)))
}

/// Those that there are.
fn spans_written<const N: usize>(
    f: &mut String,
    spans: [(&str, Option<Duration>); N],
) -> fmt::Result {
    spans
        .into_iter()
        .filter_map(|(name, span)| Some((name, span?)))
        .try_for_each(|(name, span)| writeln!(f, "{name} = \"{}\"", in_words(span)))
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

fn list<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items
        .into_iter()
        .map(|item| quoted(&item.to_string()))
        .collect();
    format!("[{}]", items.join(", "))
}

/// The word of a value; every value has one.
fn word<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words
        .iter()
        .find(|(_, known)| known == value)
        .map_or("", |(word, _)| word)
}
