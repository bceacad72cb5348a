/** The bit of each name that is added only where a record has none of it. */
export type NameBits = Pick<ReadonlyMap<string, number>, "get" | "has" | "size">;

/** Stands for any field of an application but its id and its name. */
export const moreOfApplication = "app.*";

export function createNameBits(names: ReadonlySet<string>): NameBits {
  const bits = new Map([...names, moreOfApplication].map((name, bit) => [name, bit]));
  const get = (name: string): number | undefined => {
    const bit = bits.get(name);
    const isShared = bit === undefined && name.startsWith("app.") && name !== "app.id";
    return isShared ? bits.get(moreOfApplication) : bit;
  };
  return { get, has: (name) => get(name) !== undefined, size: bits.size };
}
