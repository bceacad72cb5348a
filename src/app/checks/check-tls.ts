import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { readTlsCredentials } from "../../api/index.ts";
import type { Settings } from "../settings/index.ts";
import { storeOutputs } from "../outputs/store-outputs.ts";
import { messageOf, type Findings } from "./findings.ts";

const soonMs = 14 * 86_400_000;

/**
 * Judges the certificates and keys of the API and of the outputs that are on: whether they can be read and belong together.
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
  for (const { delivery, store } of storeOutputs(settings)) {
    const tls = "tls" in store ? store.tls : undefined;
    if (tls === undefined) continue;
    const subject = `output ${delivery.name}`;
    const { caPath, certPath, keyPath } = tls;
    if (caPath !== "") attempt(subject, () => readCertificate(caPath));
    if (certPath !== "" && keyPath !== "") checkPair(subject, certPath, keyPath);
    else if (certPath !== keyPath)
      problems.push(`${subject}: a client certificate needs a key, and a key a certificate`);
  }
  return { problems, warnings };
}

/** @throws Error naming the file that has no certificate. */
function readCertificate(path: string): X509Certificate {
  const pem = readFileSync(path);
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new Error(`TLS: cannot read ${path}: ${messageOf(error)}`, { cause: error });
  }
}
