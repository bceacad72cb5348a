import type { Key } from "../../base/ip/index.ts";
import type { Secret } from "../../base/text/index.ts";
import { usmCredential } from "../definitions/device-credentials.ts";
import type { V3Credential } from "../definitions/definitions.ts";
import type { Credential } from "../session/credential.ts";

/** What an address is asked with. */
export type SweepCredential =
  | { readonly version: "1" | "2c"; readonly community: Secret }
  | { readonly version: "3"; readonly user: V3Credential };

/** One entry of `networks.yml`, with its defaults filled in. */
export interface Network {
  readonly name: string;
  /** What a run probes, in this order. */
  readonly ranges: readonly Key[];
  /** Never probed, whoever names it. */
  readonly excludes: readonly Key[];
  /** Where neighbours and exporters may be probed, in addition to the ranges. */
  readonly allow: readonly Key[];
  readonly port: number;
  /** In the order in which they are tried; at least one. */
  readonly credentials: readonly SweepCredential[];
  readonly timeoutMs: number;
  /** Tries after the first one, with each credential. */
  readonly retries: number;
  /** Whether only addresses that answer a ping are asked by SNMP. */
  readonly ping: boolean;
  /** For the files of its devices; undefined: the defaults. */
  readonly deviceGroups: readonly string[] | undefined;
}

/** The secrets in it are in the clear. */
export function sessionCredential(credential: SweepCredential): Credential {
  if (credential.version === "3") return usmCredential(credential.user);
  return { version: credential.version, community: credential.community.reveal() };
}

/** A credential in words that may be shown: its place and version, never what it holds. */
export function credentialName({ credentials }: Network, index: number): string {
  return `${index + 1} (version ${credentials[index]?.version})`;
}
