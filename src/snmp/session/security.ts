import { createHash, createHmac, timingSafeEqual, createCipheriv, createDecipheriv } from "node:crypto";
import type { Clock } from "../../base/report/index.ts";
import type { AuthenticationProtocol, PrivacyProtocol } from "../settings.ts";
import { DecodeError } from "./ber.ts";
import { SnmpError } from "./snmp-error.ts";

/** The most by which two views of an engine's time may differ, in seconds (RFC 3414 section 2.2.3). */
const timeWindow = 150;

/** The greatest value of engine boots, at which they stay; then no message is in the time window (RFC 3414 section 2.2.2). */
const maxBoots = 0x7fffffff;

/** The state of an agent's engine, as a manager knows it. */
export interface EngineView {
  readonly id: Uint8Array;
  /** The number of starts of the engine. */
  readonly boots: number;
  /** The seconds from its start until this call. */
  readonly time: number;
}

/** An agent's engine and our view of its time (RFC 3414 section 2.3). */
export class Engine {
  readonly id: Uint8Array;
  /** The largest message that the agent accepts, according to the agent. */
  readonly maxSize: number;
  readonly #clock: Clock;
  #boots = 0;
  #time = 0;
  #latest = 0;
  #at: number;
  #synchronized = false;

  constructor(id: Uint8Array, maxSize: number, clock: Clock) {
    this.id = id;
    this.maxSize = maxSize;
    this.#clock = clock;
    this.#at = clock.monotonic();
  }

  /** Sets the time from a message that proves to be fresh, or, as a first guess, from any message. */
  setTime(newBoots: number, newTime: number, isAuthenticated: boolean): void {
    this.#boots = newBoots;
    this.#time = newTime;
    this.#latest = newTime;
    this.#at = this.#clock.monotonic();
    this.#synchronized = isAuthenticated;
  }

  view(): EngineView {
    return { id: this.id, boots: this.#boots, time: this.#timeNow() };
  }

  /** Reports whether the time is from an authenticated message. Before that, boots and time may be a stranger's. */
  isSynchronized(): boolean {
    return this.#synchronized;
  }

  /**
   * Checks the time of an authenticated message against our view, and updates the view (RFC 3414 section 3.2, step 7 b). A message of
   * an earlier start, or more than 150 seconds behind, is not timely.
   */
  accept(newBoots: number, newTime: number): boolean {
    const isNewer =
      !this.#synchronized || newBoots > this.#boots || (newBoots === this.#boots && newTime > this.#latest);
    const isTimely = isNewer || (newBoots === this.#boots && newTime >= this.#timeNow() - timeWindow);
    if (newBoots === maxBoots || !isTimely) return false;
    if (isNewer) this.setTime(newBoots, newTime, true);
    return true;
  }

  #timeNow(): number {
    return Math.min(this.#time + Math.floor((this.#clock.monotonic() - this.#at) / 1000), 0x7fffffff);
  }
}

/** The hash of an authentication protocol by its name in node:crypto, and the octets of its truncated HMAC. */
interface HashAlgorithm {
  readonly name: string;
  readonly macLength: number;
}

/** The algorithms of RFC 3414 sections 6.3.1 and 7.3.1, and RFC 7860 section 4.1. */
export const hashAlgorithms: Readonly<Record<Exclude<AuthenticationProtocol, "noauth">, HashAlgorithm>> = {
  md5: { name: "md5", macLength: 12 },
  sha: { name: "sha1", macLength: 12 },
  sha224: { name: "sha224", macLength: 16 },
  sha256: { name: "sha256", macLength: 24 },
  sha384: { name: "sha384", macLength: 32 },
  sha512: { name: "sha512", macLength: 48 },
};

function digest(algorithm: HashAlgorithm, ...parts: readonly Uint8Array[]): Uint8Array {
  const hash = createHash(algorithm.name);
  for (const part of parts) hash.update(part);
  return hash.digest();
}

const expandedLength = 1 << 20;

/** Returns the user's key Ku: the hash of the passphrase repeated to 2^20 octets (RFC 3414 section A.2). It takes milliseconds. */
export function passphraseToKey(algorithm: HashAlgorithm, passphrase: Uint8Array): Uint8Array {
  return digest(algorithm, Buffer.alloc(expandedLength, passphrase));
}

/** Returns the key for one engine, Kul = H(Ku, engine, Ku) (RFC 3414 section 2.6). */
export function localizeKey(algorithm: HashAlgorithm, key: Uint8Array, engineId: Uint8Array): Uint8Array {
  return digest(algorithm, key, engineId, key);
}

type Encrypting = Exclude<PrivacyProtocol, "nopriv">;

/** The octets of key material. DES takes 8 for the key and 8 for its initialisation vectors. */
const keyLengths: Readonly<Record<Encrypting, number>> = {
  des: 16,
  aes: 16,
  aes192: 24,
  aes256: 32,
  aes192c: 24,
  aes256c: 32,
};

/**
 * Returns the privacy key of one engine. A hash shorter than the key is extended. draft-blumenthal-aes-usm-04 section 3.1.2.1 appends
 * the hash of the key so far. draft-reeder-snmpv3-usm-3desede-00 section 2.1 localises again, with the key so far in place of the
 * passphrase.
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

/** The keys of a user at one engine, without those that the user's security level does not need. */
export interface UsmKeys {
  readonly authentication?: { readonly algorithm: HashAlgorithm; readonly key: Uint8Array };
  readonly privacy?: { readonly protocol: "des" | "aes"; readonly key: Uint8Array };
}

/**
 * Derives keys and caches them: to derive one from a passphrase means to hash a megabyte, and thousands of devices share a few
 * passphrases. If there are more than `limit`, the least recently used are forgotten.
 */
export class KeyCache {
  readonly #limit: number;
  readonly #cache = new Map<string, Uint8Array>();

  constructor(limit = 8192) {
    this.#limit = limit;
  }

  keysFor(credential: UsmCredential, engineId: Uint8Array): UsmKeys {
    const { authenticationProtocol, privacyProtocol } = credential;
    if (authenticationProtocol === "noauth") return {};
    const algorithm = hashAlgorithms[authenticationProtocol];
    const engine = Buffer.from(engineId).toString("hex");
    const passphrase = credential.authenticationPassphrase ?? "";
    const authentication = {
      algorithm,
      key: this.#cached(`${algorithm.name}@${engine} ${passphrase}`, () =>
        localizeKey(algorithm, this.#userKey(algorithm, passphrase), engineId),
      ),
    };
    if (privacyProtocol === "nopriv") return { authentication };
    const secret = credential.privacyPassphrase ?? "";
    const key = this.#cached(`${algorithm.name}/${privacyProtocol}@${engine} ${secret}`, () =>
      privacyKey(algorithm, privacyProtocol, this.#userKey(algorithm, secret), engineId),
    );
    return { authentication, privacy: { protocol: privacyProtocol === "des" ? "des" : "aes", key } };
  }

  #cached(name: string, derive: () => Uint8Array): Uint8Array {
    const key = this.#cache.get(name) ?? derive();
    this.#cache.delete(name);
    this.#cache.set(name, key);
    if (this.#cache.size > this.#limit) this.#cache.delete(this.#cache.keys().next().value as string);
    return key;
  }

  #userKey(algorithm: HashAlgorithm, passphrase: string): Uint8Array {
    return this.#cached(`${algorithm.name} ${passphrase}`, () => passphraseToKey(algorithm, Buffer.from(passphrase)));
  }
}

/** The position of the MAC in a message. */
interface MacPlace {
  readonly at: number;
  readonly length: number;
}

/** Returns the MAC of a message, computed with zeros at the MAC's own position (RFC 3414 section 6.3.1). */
function messageMac(algorithm: HashAlgorithm, key: Uint8Array, message: Uint8Array, place: MacPlace): Uint8Array {
  return createHmac(algorithm.name, key)
    .update(message.subarray(0, place.at))
    .update(new Uint8Array(place.length))
    .update(message.subarray(place.at + place.length))
    .digest()
    .subarray(0, algorithm.macLength);
}

/** Writes the MAC of the message to its position. */
export function signMessage(algorithm: HashAlgorithm, key: Uint8Array, message: Uint8Array, macAt: number): void {
  message.set(messageMac(algorithm, key, message, { at: macAt, length: algorithm.macLength }), macAt);
}

/** Reports whether the MAC at `place` is that of the message. */
export function isMessageAuthentic(
  algorithm: HashAlgorithm,
  key: Uint8Array,
  message: Uint8Array,
  place: MacPlace,
): boolean {
  if (place.length !== algorithm.macLength) return false;
  const received = message.subarray(place.at, place.at + place.length);
  return timingSafeEqual(messageMac(algorithm, key, message, place), received);
}

type Privacy = NonNullable<UsmKeys["privacy"]>;

/** The octets of the privacy parameters, for every protocol. */
export const saltLength = 8;

const desBlock = 8;

/**
 * Encrypts a scoped PDU.
 *
 * @param salt 8 octets that were never used with this key, sent as the privacy parameters. For DES its first four are the engine boots
 *   (RFC 3414 section 8.1.1.1).
 */
export function encrypt(
  privacy: Privacy,
  boots: number,
  time: number,
  salt: Uint8Array,
  plain: Uint8Array,
): Uint8Array {
  // A call of `final` would add nothing for a stream cipher, nor for whole blocks without the cipher's own padding.
  if (privacy.protocol === "aes") {
    return createCipheriv(aesName(privacy.key), privacy.key, aesVector(boots, time, salt)).update(plain);
  }
  const blocks = new Uint8Array(Math.ceil(plain.length / desBlock) * desBlock);
  blocks.set(plain);
  const cipher = createCipheriv("des-ede3-cbc", desKey(privacy.key), desVector(privacy.key, salt));
  return cipher.setAutoPadding(false).update(blocks);
}

/** Decrypts the result of {@link encrypt}. It does not detect a wrong key; then the result is not a scoped PDU. */
export function decrypt(
  privacy: Privacy,
  boots: number,
  time: number,
  salt: Uint8Array,
  cipherText: Uint8Array,
): Uint8Array {
  if (salt.length !== saltLength) throw new DecodeError("privacy parameters");
  if (privacy.protocol === "aes") {
    return createDecipheriv(aesName(privacy.key), privacy.key, aesVector(boots, time, salt)).update(cipherText);
  }
  if (cipherText.length % desBlock !== 0) throw new DecodeError("cipher text is not in blocks");
  const decipher = createDecipheriv("des-ede3-cbc", desKey(privacy.key), desVector(privacy.key, salt));
  return decipher.setAutoPadding(false).update(cipherText);
}

function aesName(key: Uint8Array): string {
  return `aes-${8 * key.length}-cfb`;
}

/** Returns engine boots, engine time and salt (RFC 3826 section 3.1.2.1). */
function aesVector(boots: number, time: number, salt: Uint8Array): Uint8Array {
  const vector = Buffer.alloc(16);
  vector.writeUInt32BE(boots, 0);
  vector.writeUInt32BE(time, 4);
  vector.set(salt, 8);
  return vector;
}

/**
 * Returns a key for triple DES that repeats the key three times, which makes it single DES. OpenSSL 3 has single DES only in its legacy
 * provider.
 */
function desKey(key: Uint8Array): Uint8Array {
  const single = key.subarray(0, desBlock);
  return Buffer.concat([single, single, single]);
}

/** Returns the second half of the key, exclusive-or the salt (RFC 3414 section 8.1.1.1). */
function desVector(key: Uint8Array, salt: Uint8Array): Uint8Array {
  return salt.map((octet, i) => octet ^ (key[desBlock + i] as number));
}

export interface CommunityCredential {
  readonly version: "1" | "2c";
  readonly community: string;
}

/** A user of the user-based security model. Privacy needs authentication; passphrases have at least 8 bytes. */
export interface UsmCredential {
  readonly version: "3";
  readonly username: string;
  readonly authenticationProtocol: AuthenticationProtocol;
  readonly authenticationPassphrase?: string;
  readonly privacyProtocol: PrivacyProtocol;
  readonly privacyPassphrase?: string;
  /** The context; if left out, the default context, "". */
  readonly contextName?: string;
}

/** The credential for an agent. Text is sent as UTF-8. */
export type Credential = CommunityCredential | UsmCredential;

/** The least length of a passphrase; RFC 3414 section 11.2 does not define what engines do with a shorter one. */
const minPassphraseBytes = 8;
const maxUsernameBytes = 32;

/** Checks a credential. @throws SnmpError `invalid` if it breaks a rule. The message names the field, never its content. */
export function checkCredential(credential: Credential): void {
  if (credential.version !== "3") return;
  const { authenticationProtocol, privacyProtocol } = credential;
  const nameBytes = Buffer.byteLength(credential.username);
  if (nameBytes === 0 || nameBytes > maxUsernameBytes) {
    throw new SnmpError("invalid", `username: 1 to ${maxUsernameBytes} bytes are needed`);
  }
  if (authenticationProtocol === "noauth") {
    if (privacyProtocol !== "nopriv") throw new SnmpError("invalid", "privacy_protocol: needs authentication");
    return;
  }
  if (Buffer.byteLength(credential.authenticationPassphrase ?? "") < minPassphraseBytes) {
    throw new SnmpError("invalid", `authentication_passphrase: at least ${minPassphraseBytes} bytes are needed`);
  }
  if (privacyProtocol === "nopriv") return;
  if (Buffer.byteLength(credential.privacyPassphrase ?? "") < minPassphraseBytes) {
    throw new SnmpError("invalid", `privacy_passphrase: at least ${minPassphraseBytes} bytes are needed`);
  }
}
