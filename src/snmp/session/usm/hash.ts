import { createHash } from "node:crypto";
import type { AuthenticationProtocol } from "../credential.ts";

/** The hash of an authentication protocol by its name in node:crypto, and to how many octets its HMAC is cut. */
export interface HashAlgorithm {
  readonly name: string;
  readonly macLength: number;
}

/** RFC 3414 sections 6.3.1 and 7.3.1, RFC 7860 section 4.1. */
export const hashAlgorithms: Readonly<Record<Exclude<AuthenticationProtocol, "noauth">, HashAlgorithm>> = {
  md5: { name: "md5", macLength: 12 },
  sha: { name: "sha1", macLength: 12 },
  sha224: { name: "sha224", macLength: 16 },
  sha256: { name: "sha256", macLength: 24 },
  sha384: { name: "sha384", macLength: 32 },
  sha512: { name: "sha512", macLength: 48 },
};

export function digest(algorithm: HashAlgorithm, ...parts: readonly Uint8Array[]): Uint8Array {
  const hash = createHash(algorithm.name);
  for (const part of parts) hash.update(part);
  return hash.digest();
}
