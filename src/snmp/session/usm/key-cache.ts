import type { PrivacyProtocol, UsmCredential } from "../credential.ts";
import { digest, type HashAlgorithm, hashAlgorithms } from "./hash.ts";

const expandedLength = 1 << 20;

/** The user's key Ku: the hash of the passphrase repeated to 2^20 octets (RFC 3414 section A.2). Takes milliseconds. */
export function passphraseToKey(algorithm: HashAlgorithm, passphrase: Uint8Array): Uint8Array {
  return digest(algorithm, Buffer.alloc(expandedLength, passphrase));
}

/** The key for one engine, Kul = H(Ku, engine, Ku) (RFC 3414 section 2.6). */
export function localizeKey(algorithm: HashAlgorithm, key: Uint8Array, engineId: Uint8Array): Uint8Array {
  return digest(algorithm, key, engineId, key);
}

type Encrypting = Exclude<PrivacyProtocol, "nopriv">;

/** Octets of key material; DES takes 8 of key and 8 that its initialisation vectors are made from. */
const keyLengths: Readonly<Record<Encrypting, number>> = {
  des: 16,
  aes: 16,
  aes192: 24,
  aes256: 32,
  aes192c: 24,
  aes256c: 32,
};

/**
 * The privacy key of one engine. A hash shorter than the key is extended: after draft-blumenthal-aes-usm-04 section
 * 3.1.2.1 by the hash of what there is, after draft-reeder-snmpv3-usm-3desede-00 section 2.1 by localising again, with
 * what there is in place of the passphrase.
 */
export function privacyKey(
  algorithm: HashAlgorithm,
  protocol: Encrypting,
  key: Uint8Array,
  engineId: Uint8Array,
): Uint8Array {
  const isReeder = protocol === "aes192c" || protocol === "aes256c";
  let last = localizeKey(algorithm, key, engineId);
  let material = last;
  while (material.length < keyLengths[protocol]) {
    last = isReeder ? localizeKey(algorithm, passphraseToKey(algorithm, last), engineId) : digest(algorithm, material);
    material = Buffer.concat([material, last]);
  }
  return material.subarray(0, keyLengths[protocol]);
}

/** The keys of a user at one engine; absent what the user's security level does without. */
export interface UsmKeys {
  readonly authentication?: { readonly algorithm: HashAlgorithm; readonly key: Uint8Array };
  readonly privacy?: { readonly protocol: "des" | "aes"; readonly key: Uint8Array };
}

export interface KeyCache {
  keysFor(credential: UsmCredential, engineId: Uint8Array): UsmKeys;
}

/**
 * Derives keys and keeps them: deriving one from a passphrase hashes a megabyte, and thousands of devices share a few
 * passphrases. The least recently used of more than `limit` are forgotten.
 */
export function createKeyCache(limit = 8192): KeyCache {
  const cache = new Map<string, Uint8Array>();
  const cached = (name: string, derive: () => Uint8Array): Uint8Array => {
    const key = cache.get(name) ?? derive();
    cache.delete(name);
    cache.set(name, key);
    if (cache.size > limit) cache.delete(cache.keys().next().value as string);
    return key;
  };
  const userKey = (algorithm: HashAlgorithm, passphrase: string): Uint8Array =>
    cached(`${algorithm.name} ${passphrase}`, () => passphraseToKey(algorithm, Buffer.from(passphrase)));

  return {
    keysFor(credential, engineId) {
      const { authenticationProtocol, privacyProtocol } = credential;
      if (authenticationProtocol === "noauth") return {};
      const algorithm = hashAlgorithms[authenticationProtocol];
      const engine = Buffer.from(engineId).toString("hex");
      const passphrase = credential.authenticationPassphrase ?? "";
      const authentication = {
        algorithm,
        key: cached(`${algorithm.name}@${engine} ${passphrase}`, () =>
          localizeKey(algorithm, userKey(algorithm, passphrase), engineId),
        ),
      };
      if (privacyProtocol === "nopriv") return { authentication };
      const secret = credential.privacyPassphrase ?? "";
      const key = cached(`${algorithm.name}/${privacyProtocol}@${engine} ${secret}`, () =>
        privacyKey(algorithm, privacyProtocol, userKey(algorithm, secret), engineId),
      );
      return { authentication, privacy: { protocol: privacyProtocol === "des" ? "des" : "aes", key } };
    },
  };
}
