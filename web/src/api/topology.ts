import type { ApiCall } from "./call.ts";
import type { GetTopologyAnswer } from "./answers.gen.ts";

export type TopologyLink = GetTopologyAnswer["links"][number];

/** The polled devices and the links between them. */
export const topologyCall: ApiCall = { path: "api/v1/topology" };

/** The links of one device. */
export const neighborsCall = (id: string): ApiCall => ({ path: `api/v1/topology/devices/${encodeURIComponent(id)}` });
