import { servicePorts } from "../../src/enrich/index.ts";
import { joinedFields, type FlowEndsOptions } from "../../src/flow/index.ts";

/** All that may be said of both ends of a flow. */
export const allEnds: FlowEndsOptions = {
  clientServer: { services: servicePorts(), withoutPorts: true },
  ids: { seed: 0 },
  joins: new Set(joinedFields),
};
