import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import {
  type ApiServerOptions,
  type OidcConfig,
  AccessFileError,
  Identities,
  parseAccessFile,
} from "../../server/index.ts";
import type { Settings } from "../settings/index.ts";
import { WatchedFile } from "../../base/file/index.ts";
import { limitLog, type Reporting } from "../../base/report/index.ts";

/** Returns the options of the API that come only from the settings. */
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
  | "sessionMs"
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
    sessionMs: settings.SVC_API_OIDC_SESSION_LIFETIME * 1000,
  };
}

/** Reads certificates of authorities in PEM. @throws Error naming the file that has no certificate. */
export function readAuthorities(path: string): Buffer {
  try {
    const pem = readFileSync(path);
    // Check now: otherwise only a handshake would reveal a file without a certificate.
    void new X509Certificate(pem);
    return pem;
  } catch (error) {
    throw new Error(`TLS: cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** Reads the settings of the sign-in at an issuer; undefined when it is off. */
export function oidcConfig(settings: Settings): OidcConfig | undefined {
  if (!settings.SVC_API_OIDC_ENABLE) return undefined;
  const caPath = settings.SVC_API_OIDC_CA_CERT_FILEPATH;
  return {
    issuer: settings.SVC_API_OIDC_ISSUER,
    ...(caPath !== "" && { authorities: () => readAuthorities(caPath) }),
    clientId: settings.SVC_API_OIDC_CLIENT_ID,
    clientSecret: settings.SVC_API_OIDC_CLIENT_SECRET.reveal(),
    clientAuth: settings.SVC_API_OIDC_CLIENT_AUTH,
    redirectUrl: settings.SVC_API_OIDC_REDIRECT_URL,
    scopes: settings.SVC_API_OIDC_SCOPES,
    userClaim: settings.SVC_API_OIDC_USER_CLAIM,
    roleClaim: settings.SVC_API_OIDC_ROLE_CLAIM,
    roles: settings.SVC_API_OIDC_ROLES,
  };
}

/** The poll interval: with it, and the sweep of the port, a deleted user's open connections end within five seconds. */
const pollMs = 1_000;
const checkName = "users";

/**
 * The users and tokens of a file, which is reread when it changes. Until it has been read once, none of its users can sign in. If the
 * file breaks later, its earlier content stays in use.
 */
export class UsersFile extends WatchedFile {
  readonly identities: Identities;

  constructor(path: string, { log, clock, metrics, health }: Reporting) {
    const identities = new Identities(clock);
    const limited = limitLog(log, clock, 60_000);
    const count = { user: 0, token: 0 };
    let isRead = false;
    const failures = metrics.counter(
      "netgloss_api_users_failures_total",
      "Readings of SVC_API_USERS_PATH that failed.",
    );
    metrics.gaugeFrom("netgloss_api_users", "Users and tokens of SVC_API_USERS_PATH.", ["kind"], () =>
      Object.entries(count).map(([kind, number]) => [{ kind }, number] as const),
    );
    super(path, pollMs, {
      take(bytes) {
        const list = parseAccessFile(path, Buffer.from(bytes).toString("utf8"));
        identities.replace(list);
        [count.user, count.token] = [list.users.size, list.tokens.size];
        isRead = true;
        health.set({ name: checkName, ready: true });
        log.info({ path, users: count.user, tokens: count.token }, "users read");
      },
      failed(error) {
        failures.add();
        const state = isRead ? "those read before stay" : "nobody of it can sign in";
        const detail = error instanceof AccessFileError ? (error.faults[0] ?? "") : (error as Error).message;
        health.set({ name: checkName, ready: true, degraded: true, detail: `${detail}: ${state}` });
        // Keep looking for a file that is gone.
        limited.error({ error }, `the file of users cannot be used, ${state}`);
      },
    });
    this.identities = identities;
  }
}
