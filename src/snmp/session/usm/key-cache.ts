import type { UsmCredential } from "../credential.ts";
import { hashAlgorithms, type HashAlgorithm } from "./hash.ts";
import { localizeKey, passphraseToKey, privacyKey } from "./localize-key.ts";

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
