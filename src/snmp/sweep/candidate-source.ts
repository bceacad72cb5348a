/** Protocols by which devices know their neighbours. */
export const neighbourProtocols = ["lldp", "cdp", "arp"] as const;
export type NeighbourProtocol = (typeof neighbourProtocols)[number];

/** Who names addresses that may be devices: neighbours, and flows. */
export type CandidateSource = NeighbourProtocol | "flow";
