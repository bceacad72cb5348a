import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

/** Cost 2^15, 32 MiB of memory: some 0.1 s of a core. */
const cost = { ln: 15, r: 8, p: 1 };
/** What a file may ask for: 2^17 with r = 8 takes 128 MiB. */
const maxMemory = 2 ** 27;
const hashLength = 32;

/** A hash of scrypt (RFC 7914) with what it was made with. */
export interface PasswordHash {
  readonly ln: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Uint8Array;
  readonly hash: Uint8Array;
}

const derive = promisify<Buffer, Uint8Array, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(
  scrypt,
);

/** `$scrypt$ln=15,r=8,p=1$salt$hash`, the form of the PHC, in base64 without padding. Takes a thread of the pool, not the loop. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await hashWith(password, { ...cost, salt, hash: new Uint8Array(hashLength) });
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64").replace(/=+$/, "");
  return `$scrypt$ln=${cost.ln},r=${cost.r},p=${cost.p}$${text(salt)}$${text(hash)}`;
}

/** @returns undefined for a text of another form, or one that would take more than 128 MiB. */
export function parsePasswordHash(text: string): PasswordHash | undefined {
  const found = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,})\$([A-Za-z0-9+/]{22,86})$/.exec(
    text,
  );
  if (found === null) return undefined;
  const [ln, r, p] = [Number(found[1]), Number(found[2]), Number(found[3])];
  if (ln < 10 || r < 1 || p < 1 || p > 4 || 128 * 2 ** ln * r > maxMemory) return undefined;
  return { ln, r, p, salt: Buffer.from(found[4] ?? "", "base64"), hash: Buffer.from(found[5] ?? "", "base64") };
}

/** Compares in a time that does not depend on how much is right. */
export async function isPassword(password: string, expected: PasswordHash): Promise<boolean> {
  return timingSafeEqual(await hashWith(password, expected), expected.hash);
}

function hashWith(password: string, { ln, r, p, salt, hash }: PasswordHash): Promise<Buffer> {
  const options = { N: 2 ** ln, r, p, maxmem: 2 * maxMemory };
  return derive(Buffer.from(password.normalize("NFC")), salt, hash.length, options);
}
