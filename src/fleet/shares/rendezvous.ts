import { hash } from "node:crypto";

/** Two numbers of 32 bits that stand for a name. */
export type NamePoint = readonly [number, number];

export function pointOf(name: string): NamePoint {
  const digest = Buffer.from(hash("sha256", name, "hex").slice(0, 16), "hex");
  return [digest.readUInt32LE(0), digest.readUInt32LE(4)];
}

/**
 * Which of some members a key belongs to: the one for which key and member together give the highest number. So each member has about the
 * same number of keys, and when one comes or goes only its own keys change hands.
 *
 * @returns the place of the member; -1 when there are none.
 */
export function ownerOf(key: NamePoint, members: readonly NamePoint[]): number {
  let owner = -1;
  let most = -1;
  let second = -1;
  for (const [i, member] of members.entries()) {
    const weight = mix(key[0] ^ mix(member[0]));
    if (weight < most) continue;
    const tie = mix(key[1] ^ mix(member[1]));
    if (weight === most && tie <= second) continue;
    [owner, most, second] = [i, weight, tie];
  }
  return owner;
}

/** The last step of MurmurHash3: each bit of the number changes half of those of the result. */
function mix(value: number): number {
  let x = value;
  x = Math.imul(x ^ (x >>> 16), 0x85eb_ca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2_ae35);
  return (x ^ (x >>> 16)) >>> 0;
}
