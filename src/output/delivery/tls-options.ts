import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import { reasonOf, DeliveryError } from "./output-adapter.ts";

/** Reads a file named by a setting. @throws DeliveryError that names the file; an operator can mend it. */
export function readNamedFile(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new DeliveryError("operator", "configuration", `the file ${path} cannot be read: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

/** TLS to a store. Files are in PEM; an empty path means none. */
export interface TlsConfig {
  /** The path of trusted certificates, which replace those of Node. */
  readonly caPath: string;
  /** The path of the client's certificate. */
  readonly certPath: string;
  readonly keyPath: string;
  readonly skipVerification: boolean;
}

/** Reads the files. @throws DeliveryError that names the file that cannot be read. */
export function tlsOptions(config: TlsConfig): Pick<ConnectionOptions, "ca" | "cert" | "key" | "rejectUnauthorized"> {
  return {
    ...(config.caPath !== "" && { ca: readNamedFile(config.caPath) }),
    ...(config.certPath !== "" && { cert: readNamedFile(config.certPath) }),
    ...(config.keyPath !== "" && { key: readNamedFile(config.keyPath) }),
    rejectUnauthorized: !config.skipVerification,
  };
}
