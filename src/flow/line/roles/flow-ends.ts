import type { RecordFields, RenderedFields, Workspace } from "../../../record/index.ts";
import { joinedFields, roleMethods, type JoinedField, type RoleMethod } from "../kernel/end-names.ts";
import * as layout from "../kernel/layout.ts";
import { completeEnds } from "./complete-ends.ts";
import type { Began } from "../../wire/decoder/decoder.ts";
import { decideRole, nobodySays, type Client, type Role, type Services } from "./decide-role.ts";
import { flowIds } from "./flow-ids.ts";
import { createServerSketch, ownSketch, ownSketchBytes, type SketchPlace } from "./server-sketch.ts";

/** What is said of the two ends of a flow together. */
export interface FlowEndsOptions {
  /** Undefined: source and destination have no other names. */
  readonly clientServer?: { readonly services: Services; readonly withoutPorts: boolean } | undefined;
  /** Undefined: conversations and sessions have no identifiers. */
  readonly ids?: { readonly seed: number } | undefined;
  readonly joins: ReadonlySet<JoinedField>;
}

/** Does it for records that are fields; the kernel does the same for lines, with the same memory. */
export interface FlowEnds {
  /** Says when the datagram was received whose records follow, in milliseconds since the epoch. */
  begin(receivedAt: number): void;
  /** Adds the rule that says which end is the client, and identifiers. @returns the client, where it is known. */
  name(record: RecordFields, began?: Began): Client | undefined;
  /** Adds what follows from the fields of both ends, behind all others. */
  complete(record: RecordFields, rendered: RenderedFields[], client: Client | undefined): void;
  /** The client of the line that the kernel wrote last. */
  clientOfLine(): Client | undefined;
  /** How many flows each rule was for; `none`: flows between two addresses that no rule was for. */
  methods(): readonly (readonly [method: RoleMethod | "none", flows: number])[];
  /** How much longer a line may become by it: this many times. */
  readonly growth: number;
}

/** Fields of source and destination again under longer names, and their values in joined fields. */
const mostGrowth = 3;
const protocols = [6, 17, 132];
const portBytes = 8192;
const kernelSketch: SketchPlace = { cells: layout.sketch, tags: layout.sketchTags };

/** @param workspace of the kernel; undefined: memory of its own. */
export function createFlowEnds(
  options: FlowEndsOptions | undefined,
  workspace: Pick<Workspace, "view"> | undefined,
): FlowEnds {
  const { clientServer, ids, joins } = options ?? { joins: new Set<JoinedField>() };
  const view = workspace?.view ?? new DataView(new ArrayBuffer(ownSketchBytes));
  let tick = 0;
  const sketch = createServerSketch(view, workspace === undefined ? ownSketch : kernelSketch, () => tick);
  const rules = clientServer && { sketch, ...clientServer };
  const counts = [0, ...roleMethods.map(() => 0)];
  if (workspace !== undefined) writeOptions(workspace.view, { clientServer, ids, joins });
  const inLines = (i: number): number =>
    workspace === undefined ? 0 : view.getUint32(layout.methodCounts + 4 * i, true);
  const hasMore = joins.size > 0;

  const roleOfLine = (): Role | undefined => {
    const role = view.getUint32(layout.resultRole, true);
    const method = roleMethods[view.getUint32(layout.resultMethod, true) - 1];
    if (role === 0 || method === undefined) return undefined;
    return { client: role === layout.sourceIsClient ? "source" : "destination", method };
  };

  return {
    methods: () => ["none" as const, ...roleMethods].map((method, i) => [method, (counts[i] as number) + inLines(i)]),
    growth: clientServer === undefined && !hasMore ? 1 : mostGrowth,
    begin(receivedAt) {
      tick = Math.floor(receivedAt / layout.tickMs) % 0x1_0000_0000;
      if (workspace !== undefined) view.setUint32(layout.sketchTick, tick, true);
    },
    name(record, began = nobodySays) {
      const isDecided = began.isDecided === true;
      const role = rules && (isDecided ? roleOfLine() : decideRole(record, began, rules));
      if (rules !== undefined && !isDecided && hasEnds(record)) {
        const rule = role === undefined ? 0 : 1 + roleMethods.indexOf(role.method);
        counts[rule] = (counts[rule] as number) + 1;
      }
      if (role !== undefined) record.set("flow.clisrv.method", role.method);
      const known = ids && flowIds(record, role?.client, ids.seed);
      if (known !== undefined) {
        record.set("flow.conversation.id", known.conversation);
        record.set("flow.session.id", known.session);
      }
      return role?.client;
    },
    complete(record, rendered, client) {
      if (client !== undefined || hasMore) rendered.push(completeEnds(record, rendered, client, joins));
    },
    clientOfLine: () => roleOfLine()?.client,
  };
}

function hasEnds(record: RecordFields): boolean {
  const [source, destination] = [record.get("flow.src.ip.addr"), record.get("flow.dst.ip.addr")];
  if (typeof source !== "string" || typeof destination !== "string") return false;
  return source.includes(":") === destination.includes(":");
}

/** Writes the options where the kernel reads them. */
function writeOptions(view: DataView, { clientServer, ids, joins }: FlowEndsOptions): void {
  const flags =
    (clientServer === undefined ? 0 : layout.expandEnds) |
    (clientServer?.withoutPorts === true ? layout.withoutPorts : 0) |
    (ids === undefined ? 0 : layout.withIds);
  view.setUint8(layout.endsFlags, flags);
  const joined = joinedFields.map((name, i) => (joins.has(name) ? 1 << (i + 1) : 0));
  view.setUint8(
    layout.joinFlags,
    joined.reduce((sum, bit) => sum | bit, 0),
  );
  view.setUint32(layout.conversationSeed, ids?.seed ?? 0, true);
  protocols.forEach((protocol, i) => {
    for (const port of clientServer?.services.get(protocol)?.keys() ?? []) {
      if (port > 0xffff) continue;
      const at = layout.servicePorts + portBytes * i + (port >> 3);
      view.setUint8(at, view.getUint8(at) | (1 << (port & 7)));
    }
  });
}
