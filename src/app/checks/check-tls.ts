import { fleetDatabaseAddress } from "../fleet-database.ts";
import { readTlsCredentials } from "../../api/index.ts";
import type { Settings } from "../settings/index.ts";
import { storeOutputs } from "../outputs/store-outputs.ts";
import { readAuthorities } from "../access/read-authorities.ts";
import { metadataDatabaseAddress, metadataDatabaseTls } from "../metadata-database.ts";
import { messageOf, type Findings } from "./findings.ts";

const soonMs = 14 * 86_400_000;

/**
 * Judges the certificates and keys of the API, of its issuer, of the flow port and of the outputs that are on: whether they can be read and belong together.
 * One that has ended or soon will is a warning.
 *
 * @param now milliseconds since the epoch.
 */
export function checkTls(settings: Settings, now: number): Findings {
  const problems: string[] = [];
  const warnings: string[] = [];
  const attempt = (subject: string, read: () => unknown): void => {
    try {
      read();
    } catch (error) {
      problems.push(`${subject}: ${messageOf(error)}`);
    }
  };
  const checkPair = (subject: string, certPath: string, keyPath: string): void =>
    attempt(subject, () => {
      const expires = readTlsCredentials({ certPath, keyPath }).expires * 1000;
      const day = new Date(expires).toISOString().slice(0, 10);
      if (expires < now) warnings.push(`${subject}: the certificate in ${certPath} ended on ${day}`);
      else if (expires < now + soonMs) warnings.push(`${subject}: the certificate in ${certPath} ends on ${day}`);
    });

  if (settings.SVC_API_TLS_ENABLE) {
    checkPair("API", settings.SVC_API_TLS_CERT_FILEPATH, settings.SVC_API_TLS_KEY_FILEPATH);
  }
  if (settings.SVC_FLOW_SERVER_TLS_ENABLE) {
    checkPair("flows", settings.SVC_FLOW_SERVER_TLS_CERT_FILEPATH, settings.SVC_FLOW_SERVER_TLS_KEY_FILEPATH);
    const caPath = settings.SVC_FLOW_SERVER_TLS_CA_CERT_FILEPATH;
    if (caPath !== "") attempt("flows", () => readAuthorities(caPath));
  }
  const issuerCa = settings.SVC_API_OIDC_CA_CERT_FILEPATH;
  if (settings.SVC_API_OIDC_ENABLE && issuerCa !== "") attempt("OpenID Connect", () => readAuthorities(issuerCa));
  checkDatabase(settings, attempt, checkPair);
  for (const { delivery, store } of storeOutputs(settings)) {
    const tls = "tls" in store ? store.tls : undefined;
    if (tls === undefined) continue;
    const subject = `output ${delivery.name}`;
    const { caPath, certPath, keyPath } = tls;
    if (caPath !== "") attempt(subject, () => readAuthorities(caPath));
    if (certPath !== "" && keyPath !== "") checkPair(subject, certPath, keyPath);
    else if (certPath !== keyPath)
      problems.push(`${subject}: a client certificate needs a key, and a key a certificate`);
  }
  return { problems, warnings };
}

function checkDatabase(
  settings: Settings,
  attempt: (subject: string, read: () => unknown) => void,
  checkPair: (subject: string, certPath: string, keyPath: string) => void,
): void {
  const isShared = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE === "postgresql";
  const isFleet = settings.SVC_FLEET_NAME !== "";
  if (!isShared && !isFleet) return;
  const { caPath, certPath, keyPath } = metadataDatabaseTls(settings);
  const subject = "database of the metadata";
  if (isFleet && settings.SVC_FLEET_POSTGRESQL_URL.isSet) {
    attempt("SVC_FLEET_POSTGRESQL_URL", () => fleetDatabaseAddress(settings));
  }
  if (settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL.isSet) {
    attempt("SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL", () => metadataDatabaseAddress(settings));
  }
  if (caPath !== "") attempt(subject, () => readAuthorities(caPath));
  if (certPath !== "" && keyPath !== "") checkPair(subject, certPath, keyPath);
}
