import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";

/** Where the certificate (chain) and its key are, both PEM. */
export interface TlsFiles {
  readonly certPath: string;
  readonly keyPath: string;
  /** Certificates that sign those of clients; left out: clients are not asked for one. */
  readonly clientCaPath?: string;
}

export interface TlsCredentials {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly clientCa: Buffer | undefined;
  /** When the first certificate of the chain ends, seconds since the epoch. */
  readonly expires: number;
}

/**
 * Reads certificate and key.
 *
 * @throws Error naming the file that cannot be read or parsed, or both when they do not belong together.
 */
export function readTlsCredentials(files: TlsFiles): TlsCredentials {
  const cert = naming(files.certPath, () => readFileSync(files.certPath));
  const key = naming(files.keyPath, () => readFileSync(files.keyPath));
  const certificate = naming(files.certPath, () => new X509Certificate(cert));
  const privateKey = naming(files.keyPath, () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error(`TLS: the key in ${files.keyPath} does not belong to the certificate in ${files.certPath}`);
  }
  const { clientCaPath } = files;
  const clientCa = clientCaPath === undefined ? undefined : naming(clientCaPath, () => readFileSync(clientCaPath));
  if (clientCaPath !== undefined) naming(clientCaPath, () => new X509Certificate(clientCa ?? ""));
  return { cert, key, clientCa, expires: Math.floor(Date.parse(certificate.validTo) / 1000) };
}

function naming<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`TLS: cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}
