import type { TlsConfig } from "../delivery/tls-options.ts";

/** Who the client is; the first that is set counts. */
export type NatsCredentials =
  | { readonly kind: "none" }
  | { readonly kind: "password"; readonly username: string; readonly password: string }
  | { readonly kind: "token"; readonly token: string }
  /** The seed of a user's key: `SU…`. */
  | { readonly kind: "nkey"; readonly seed: string }
  /** A file with the user's JWT and seed. It is read at each connection. */
  | { readonly kind: "file"; readonly path: string };

/** The stream that is created where none takes the subjects. */
export interface NatsStreamConfig {
  readonly name: string;
  readonly replicas: number;
  /** 0: no limit. */
  readonly maxAgeMs: number;
  /** 0: no limit. */
  readonly maxBytes: number;
  /** How long the server remembers the identity of a message. */
  readonly duplicateWindowMs: number;
}

/** What the settings say of an output to NATS JetStream; plain data. */
export interface NatsOutputConfig {
  readonly kind: "nats";
  /** Each `<host>:<port>`; one or more. */
  readonly servers: readonly string[];
  readonly credentials: NatsCredentials;
  /** Subjects are `<subject>.<type of the record>.<key>`. */
  readonly subject: string;
  /** The first of these fields that a record has is the key of its subject. */
  readonly keyFields: readonly string[];
  /** undefined: none is created. */
  readonly stream: NatsStreamConfig | undefined;
  /** undefined: TLS only if the server demands it. */
  readonly tls: TlsConfig | undefined;
  /** TLS begins before the server has said anything. */
  readonly isTlsFirst: boolean;
  readonly timeoutMs: number;
}
