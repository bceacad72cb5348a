import {
  renderField,
  splitFields,
  type RecordFields,
  type RenderedFields,
  type Workspace,
} from "../../record/index.ts";
import { type RoleMethod, joinedFields, type JoinedField, roleMethods } from "../kernel/program-writer.ts";
import * as layout from "../kernel/layout.gen.ts";

/** The end of a flow that is its client. */
type Client = "source" | "destination";

const names: ReadonlySet<string> = new Set(joinedFields);
/** The first segments of all names that are made here. */
const groups: ReadonlySet<string> = new Set(["flow", ...joinedFields.map((name) => name.split(".")[0] as string)]);

/**
 * Adds what follows from the fields below `flow.src` and `flow.dst` of a record: the same below `flow.client` and `flow.server`, and
 * fields with the values of both. One that would be in the way of a name of the operator's (`flow.client`, `as.label.own`) is left out:
 * no name may be a value and a group at once.
 *
 * @param rendered fields that stand behind those of the record.
 * @param client undefined: neither end has another name.
 * @param joins the fields that are joined.
 */
function completeEnds(
  record: RecordFields,
  rendered: readonly RenderedFields[],
  client: Client | undefined,
  joins: ReadonlySet<JoinedField>,
): RenderedFields {
  const texts: string[] = [];
  const values = new Map<string, string[]>();
  const inTheWay = namesInTheWay(record);
  const isFree = (name: string): boolean =>
    !record.has(name) && inTheWay.every((other) => !name.startsWith(`${other}.`) && !other.startsWith(`${name}.`));
  const take = (name: string, value: string): void => {
    const [, end, rest] = /^flow\.(src|dst)\.(.*)$/s.exec(name) ?? [];
    if (end === undefined || rest === undefined) return;
    if (names.has(rest) && joins.has(rest as JoinedField)) {
      const both = values.get(rest) ?? ["", ""];
      values.set(rest, end === "src" ? [value, both[1] ?? ""] : [both[0] ?? "", value]);
    }
    if (client === undefined) return;
    const as = `flow.${(end === "src") === (client === "source") ? "client" : "server"}.${rest}`;
    if (isFree(as)) texts.push(`,${JSON.stringify(as)}:${value}`);
  };
  for (const [name, value] of record) take(name, renderField(name, value).slice(JSON.stringify(name).length + 2));
  for (const fields of rendered) for (const [name, value] of splitFields(fields)) take(name, value);
  for (const name of joinedFields) {
    const both = values.get(name);
    if (both === undefined || !isFree(name)) continue;
    const elements = new Set(both.flatMap((value) => (value === "" ? [] : elementsOf(value))));
    texts.push(`,"${name}":[${[...elements].join(",")}]`);
  }
  return Buffer.from(texts.join(""));
}

/** The elements of an array, or the one value. */
function elementsOf(value: string): readonly string[] {
  if (!value.startsWith("[")) return [value];
  return value.slice(1, -1).match(/"(?:[^"\\]|\\.)*"|[^,]+/g) ?? [];
}

/** Names that may meet those made here: only metadata has such. */
function namesInTheWay(record: RecordFields): string[] {
  const found: string[] = [];
  for (const name of record.keys()) {
    if (name.startsWith("flow.")) {
      if (name.startsWith("client", 5) || name.startsWith("server", 5)) found.push(name);
      continue;
    }
    const dot = name.indexOf(".");
    if (groups.has(dot < 0 ? name : name.slice(0, dot))) found.push(name);
  }
  return found;
}

/** Options for what is said of the two ends of a flow together. */
export interface FlowEndsOptions {
  /** Undefined: source and destination have no other names. */
  readonly clientServer?:
    | {
        /** Ports of services by the number of the protocol. */
        readonly services: ReadonlyMap<number, Pick<ReadonlyMap<number, unknown>, "has" | "keys">>;
        readonly withoutPorts: boolean;
      }
    | undefined;
  /** Undefined: conversations and sessions have no identifiers. */
  readonly ids?: { readonly seed: number } | undefined;
  readonly joins: ReadonlySet<JoinedField>;
}

/** Fields of source and destination again under longer names, and their values in joined fields. */
const mostGrowth = 3;
const protocols = [6, 17, 132];
const portBytes = 8192;

/** Tells the kernel what is said of both ends, and completes the lines that it leaves unenriched. */
export class FlowEnds {
  /** The factor by which a line may become longer by it. */
  readonly growth: number;
  readonly #view: DataView;
  readonly #joins: ReadonlySet<JoinedField>;

  /** @param options undefined: nothing is said of both together. @param workspace of the kernel. */
  constructor(options: FlowEndsOptions | undefined, { view }: Pick<Workspace, "view">) {
    this.#view = view;
    this.#joins = options?.joins ?? new Set();
    this.growth = options?.clientServer === undefined && this.#joins.size === 0 ? 1 : mostGrowth;
    writeOptions(view, options ?? { joins: this.#joins });
  }

  /** Says when the datagram was received whose records follow, in milliseconds since the epoch. */
  begin(receivedAt: number): void {
    this.#view.setUint32(layout.sketchTick, Math.floor(receivedAt / layout.tickMs) % 0x1_0000_0000, true);
  }

  /** Adds what follows from the fields of both ends, behind all others. */
  complete(record: RecordFields, rendered: RenderedFields[], client: Client | undefined): void {
    if (client === undefined && this.#joins.size === 0) return;
    rendered.push(completeEnds(record, rendered, client, this.#joins));
  }

  /** @returns the client of the line that the kernel wrote last. */
  clientOfLine(): Client | undefined {
    const role = this.#view.getUint32(layout.resultRole, true);
    return role === 0 ? undefined : role === layout.sourceIsClient ? "source" : "destination";
  }

  /** @returns how many flows each rule was for; `none`: flows between two addresses that no rule was for. */
  methods(): readonly (readonly [method: RoleMethod | "none", flows: number])[] {
    return (["none", ...roleMethods] as const).map((method, i) => [
      method,
      this.#view.getUint32(layout.methodCounts + 4 * i, true),
    ]);
  }
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
