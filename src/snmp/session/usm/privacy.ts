import { createCipheriv, createDecipheriv } from "node:crypto";
import { DecodeError } from "../codec/decode-error.ts";
import type { UsmKeys } from "./key-cache.ts";

type Privacy = NonNullable<UsmKeys["privacy"]>;

/** Octets of the privacy parameters, for every protocol. */
export const saltLength = 8;

const desBlock = 8;

/**
 * Encrypts a scoped PDU.
 *
 * @param salt 8 octets that were never used with this key, sent along as the privacy parameters. For DES its first four
 * are the engine boots (RFC 3414 section 8.1.1.1).
 */
export function encrypt(
  privacy: Privacy,
  boots: number,
  time: number,
  salt: Uint8Array,
  plain: Uint8Array,
): Uint8Array {
  // What `final` would add is nothing in a stream cipher, nor after whole blocks without padding of its own.
  if (privacy.protocol === "aes") {
    return createCipheriv(aesName(privacy.key), privacy.key, aesVector(boots, time, salt)).update(plain);
  }
  const blocks = new Uint8Array(Math.ceil(plain.length / desBlock) * desBlock);
  blocks.set(plain);
  const cipher = createCipheriv("des-ede3-cbc", desKey(privacy.key), desVector(privacy.key, salt));
  return cipher.setAutoPadding(false).update(blocks);
}

/** Decrypts what {@link encrypt} made. A wrong key is not noticed here: the result is not a scoped PDU then. */
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

/** Engine boots, engine time, salt (RFC 3826 section 3.1.2.1). */
function aesVector(boots: number, time: number, salt: Uint8Array): Uint8Array {
  const vector = Buffer.alloc(16);
  vector.writeUInt32BE(boots, 0);
  vector.writeUInt32BE(time, 4);
  vector.set(salt, 8);
  return vector;
}

/** OpenSSL 3 offers single DES in its legacy provider only. Triple DES with one key three times is the same cipher. */
function desKey(key: Uint8Array): Uint8Array {
  const single = key.subarray(0, desBlock);
  return Buffer.concat([single, single, single]);
}

/** The second half of the key, exclusive-or the salt (RFC 3414 section 8.1.1.1). */
function desVector(key: Uint8Array, salt: Uint8Array): Uint8Array {
  return salt.map((octet, i) => octet ^ (key[desBlock + i] as number));
}
