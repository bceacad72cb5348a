import { ownerOf, pointOf, type NamePoint } from "./rendezvous.ts";

/** A member of a fleet that shares, with the keys that it knows. */
export interface Sharer {
  readonly name: string;
  readonly point: NamePoint;
  readonly keys: Pick<ReadonlySet<string>, "has">;
}

/** Whose key it is among those that know it; undefined when nobody does. @param point of the key. */
export function sharerOf(key: string, point: NamePoint, sharers: readonly Sharer[]): Sharer | undefined {
  const knowing = sharers.every(({ keys }) => keys.has(key)) ? sharers : sharers.filter(({ keys }) => keys.has(key));
  return ownerAmong(point, knowing);
}

/** The keys of one of the sharers; none when it is not among them. */
export function keysOf(
  name: string,
  keys: ReadonlyMap<string, NamePoint>,
  sharers: readonly Sharer[],
): readonly string[] {
  const isMine = ([key, point]: readonly [string, NamePoint]): boolean => sharerOf(key, point, sharers)?.name === name;
  return [...keys].filter(isMine).map(([key]) => key);
}

/** The one of all sharers that does what one of them is to do. */
export function leaderOf(sharers: readonly Sharer[]): Sharer | undefined {
  return ownerAmong(pointOf("lead"), sharers);
}

function ownerAmong(point: NamePoint, sharers: readonly Sharer[]): Sharer | undefined {
  return sharers[
    ownerOf(
      point,
      sharers.map((sharer) => sharer.point),
    )
  ];
}
