//! The SDK's client: nothing is tried twice, everything ends in time, and no answer is without bound.

use std::time::Duration;

use aws_credential_types::Credentials;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeDeserializationInterceptorContextMut;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{
    Config, ConfigBag, Intercept, Region, RuntimeComponents, StalledStreamProtectionConfig,
};
use aws_sdk_dynamodb::error::BoxError;
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_types::body::SdkBody;
use http_body_util::Limited;

use crate::options::DynamoOptions;

/// Connections that nobody uses are closed before DynamoDB closes them.
const IDLE: Duration = Duration::from_secs(20);

/// The longest answer: a page of a scan is at most 1 MiB of items.
const MAX_ANSWER: usize = 4 << 20;

pub(crate) fn client(options: &DynamoOptions) -> Client {
    let http = Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::AwsLc))
        .pool_idle_timeout(IDLE)
        .build_https();
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(options.connect_timeout)
        .operation_attempt_timeout(options.connect_timeout + options.response_timeout)
        .build();
    let mut config = Config::builder()
        .behavior_version_latest()
        .region(Region::new(options.region.clone()))
        .credentials_provider(Credentials::from_keys(
            &options.key_id,
            &options.secret,
            options.session_token.clone(),
        ))
        .http_client(http)
        .timeout_config(timeouts)
        .retry_config(RetryConfig::disabled())
        // what is slow is cut off by its timeout
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .interceptor(Bounded);
    if let Some(endpoint) = &options.endpoint {
        config = config.endpoint_url(endpoint);
    }
    Client::from_conf(config.build())
}

/// Cuts off answers that are too long to be one of DynamoDB's.
#[derive(Debug)]
struct Bounded;

impl Intercept for Bounded {
    fn name(&self) -> &'static str {
        "Bounded"
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let body = context.response_mut().body_mut();
        let whole = std::mem::replace(body, SdkBody::taken());
        *body = SdkBody::from_body_1_x(Limited::new(whole, MAX_ANSWER));
        Ok(())
    }
}
