import type { ConnectionOptions } from "node:tls";
import { readNamedFile } from "./read-named-file.ts";

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
    ...(config.caPath !== "" && { ca: readNamedFile(config.caPath) }),
    ...(config.certPath !== "" && { cert: readNamedFile(config.certPath) }),
    ...(config.keyPath !== "" && { key: readNamedFile(config.keyPath) }),
    rejectUnauthorized: !config.skipVerification,
  };
}
