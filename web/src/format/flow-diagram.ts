import type { FieldValue } from "./filter-terms.ts";

/** A value of a dimension in a flow diagram. */
export interface PictureNode {
  readonly id: string;
  /** Which dimension it is of. */
  readonly column: number;
  readonly key: FieldValue;
  /** True of all that no row stands for. */
  readonly isOthers?: boolean;
}

export interface PictureLink {
  readonly source: string;
  readonly target: string;
  readonly value: number;
}

/**
 * The values of two or three dimensions, and what went between those of neighbouring ones. A value has a node for each dimension in which it stands, so
 * that the picture has no circles. The others are a strip of their own.
 *
 * @param rows with a value for each dimension; those that are not above 0 are left out. @param others what all other rows are together.
 */
export function flowPicture(
  rows: readonly { readonly key: readonly FieldValue[]; readonly value: number }[],
  columns: number,
  others = 0,
): { readonly nodes: readonly PictureNode[]; readonly links: readonly PictureLink[] } {
  const nodes = new Map<string, PictureNode>();
  const links = new Map<string, { source: string; target: string; value: number }>();
  for (const { key, value } of rows) {
    if (!(value > 0)) continue;
    const ids = key.slice(0, columns).map((each, column) => {
      const id = `${String(column)} ${JSON.stringify(each)}`;
      if (!nodes.has(id)) nodes.set(id, { id, column, key: each });
      return id;
    });
    for (let column = 1; column < ids.length; column++) {
      const [source = "", target = ""] = [ids[column - 1], ids[column]];
      const name = `${source}\n${target}`;
      const link = links.get(name);
      if (link === undefined) links.set(name, { source, target, value });
      else link.value += value;
    }
  }
  if (others > 0) {
    const ids = Array.from({ length: columns }, (_, column) => `${String(column)} others`);
    for (const [column, id] of ids.entries()) nodes.set(id, { id, column, key: null, isOthers: true });
    for (const [at, target] of ids.slice(1).entries()) {
      links.set(`others ${String(at)}`, { source: ids[at] ?? "", target, value: others });
    }
  }
  return { nodes: [...nodes.values()], links: [...links.values()] };
}
