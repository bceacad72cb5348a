import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import { reasonOf } from "../errno.ts";
import { DeliveryError } from "./delivery-error.ts";

/** TLS to a store; files are in PEM, empty means none. */
export interface TlsConfig {
  /** Certificates that are trusted in place of those that Node brings. */
  readonly caPath: string;
  /** Of the client. */
  readonly certPath: string;
  readonly keyPath: string;
  readonly skipVerification: boolean;
}

/** Reads the files. @throws DeliveryError that names the file that cannot be read. */
export function tlsOptions(config: TlsConfig): Pick<ConnectionOptions, "ca" | "cert" | "key" | "rejectUnauthorized"> {
  return {
    ...(config.caPath !== "" && { ca: readPem(config.caPath) }),
    ...(config.certPath !== "" && { cert: readPem(config.certPath) }),
    ...(config.keyPath !== "" && { key: readPem(config.keyPath) }),
    rejectUnauthorized: !config.skipVerification,
  };
}

function readPem(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new DeliveryError("retry", "configuration", `the file ${path} cannot be read: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}
