/** One end of a link, as the API tells of it. */
export interface LinkEnd {
  readonly device?: string;
  readonly name?: string;
  readonly address?: string;
  readonly port?: Port;
  readonly aggregate?: Port;
}

interface Port {
  readonly index?: number;
  readonly name?: string;
}

/** A link, as far as its line and its texts need it. */
export interface Link {
  readonly id: string;
  readonly layer: number;
  readonly a: LinkEnd;
  readonly b: LinkEnd;
  readonly state: "up" | "gone";
  readonly confidence: "confirmed" | "likely" | "unsure";
}

/** How a line is drawn, the surest first. */
export const certainties = ["confirmed", "likely", "unsure", "gone"] as const;
export type Certainty = (typeof certainties)[number];

export const certaintyOf = ({ state, confidence }: Pick<Link, "state" | "confidence">): Certainty =>
  state === "gone" ? "gone" : confidence;

/** The key of what stands at an end. A neighbor that is not polled is known by its address, or else by its name. */
export function nodeIdOf(end: LinkEnd, link: Pick<Link, "id">): string {
  return end.device ?? end.address ?? end.name ?? link.id;
}

/** What an end is called. */
export const endName = ({ name = "", address = "", device = "" }: LinkEnd): string =>
  name || address || device || "not named";

/** The port of an end, with the aggregated interface that it is a part of. */
export function portText({ port, aggregate }: LinkEnd): string {
  const text = (one: Port): string => one.name ?? (one.index === undefined ? "" : `ifIndex ${String(one.index)}`);
  if (port === undefined) return "";
  return aggregate === undefined ? text(port) : `${text(port)} of ${text(aggregate)}`;
}

/** The links that have a device at an end, each seen from that device. */
export function linksFrom<One extends Link>(
  links: readonly One[],
  nodeId: string,
): { readonly link: One; readonly from: One["a"]; readonly to: One["b"] }[] {
  return links.flatMap((link) => {
    if (nodeIdOf(link.a, link) === nodeId) return [{ link, from: link.a, to: link.b }];
    return nodeIdOf(link.b, link) === nodeId ? [{ link, from: link.b, to: link.a }] : [];
  });
}
