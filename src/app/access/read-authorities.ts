import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";

/** Certificates in PEM of authorities. @throws Error naming the file that has no certificate. */
export function readAuthorities(path: string): Buffer {
  try {
    const pem = readFileSync(path);
    // Taken as it is, a file without a certificate would be noticed at a handshake.
    void new X509Certificate(pem);
    return pem;
  } catch (error) {
    throw new Error(`TLS: cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}
