import type { ApiServerOptions } from "../../server/index.ts";
import type { Settings } from "../settings/index.ts";

/** The options of the API that come from the settings alone. */
export function apiOptions(
  settings: Settings,
): Pick<
  ApiServerOptions,
  | "ip"
  | "port"
  | "tls"
  | "basicAuth"
  | "authMetrics"
  | "maxBodyBytes"
  | "maxBatchSize"
  | "unknownFields"
  | "allowedHosts"
  | "trustedProxies"
> {
  return {
    ip: settings.SVC_API_IP,
    port: settings.SVC_API_PORT,
    ...(settings.SVC_API_TLS_ENABLE && {
      tls: {
        certPath: settings.SVC_API_TLS_CERT_FILEPATH,
        keyPath: settings.SVC_API_TLS_KEY_FILEPATH,
        ...(settings.SVC_API_TLS_CLIENT_CA_CERT_FILEPATH !== "" && {
          clientCaPath: settings.SVC_API_TLS_CLIENT_CA_CERT_FILEPATH,
        }),
      },
    }),
    ...(settings.SVC_API_BASIC_AUTH_ENABLE && {
      basicAuth: {
        username: settings.SVC_API_BASIC_AUTH_USERNAME,
        password: settings.SVC_API_BASIC_AUTH_PASSWORD.reveal(),
      },
    }),
    authMetrics: settings.SVC_API_BASIC_AUTH_METRICS_ENABLE,
    maxBodyBytes: settings.SVC_API_MAX_BODY_SIZE,
    maxBatchSize: settings.SVC_API_MAX_BATCH_SIZE,
    unknownFields: settings.SVC_API_UNKNOWN_FIELDS,
    allowedHosts: settings.SVC_API_ALLOWED_HOSTS,
    trustedProxies: settings.SVC_API_TRUSTED_PROXIES,
  };
}
