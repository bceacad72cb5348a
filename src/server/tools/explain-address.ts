import { create } from "@bufbuild/protobuf";
import type { LayeredEntry, UdmContext, UdmEntry } from "../../metadata/index.ts";
import {
  ExplainedLoserSchema,
  type ExplainedLoser,
  type ExplainedOrigin,
  type ExplainAddressRequest,
  ExplainAddressResponseSchema,
  ExplainedContextSchema,
  ExplainedFieldSchema,
  ExplainedOriginSchema,
  type ExplainAddressResponse,
  type ExplainedContext,
} from "../gen/udm/v1/tools_pb.ts";
import { formatAddress, parseAddress, unmapAddress, type Address } from "../../base/ip/index.ts";
import { quote } from "../../base/text/index.ts";
import { type FieldViolation, apiError } from "../api-error.ts";
import { lacks, type Principal } from "../access/role.ts";
import { badRequest } from "../udm/udm-service.ts";
import type { ObjectQuestion, ExplainObject, ToolsContext, ToolsStore } from "./tools-context.ts";
import { fullUdm } from "./full-udm.ts";

/** The claims of entries about one field. */
interface Claim {
  readonly origins: readonly ExplainedOrigin[];
  readonly losers: readonly ExplainedLoser[];
  /** Returns the claim as an unused value. */
  readonly loserAs: (field: string, reason: string) => ExplainedLoser;
}

interface Merged {
  /** The claims by the name of the field. */
  readonly claims: ReadonlyMap<string, Claim>;
  /** The entries that do not apply in this context. */
  readonly ignored: readonly ExplainedLoser[];
}

interface OpenClaim {
  readonly origins: ExplainedOrigin[];
  readonly losers: ExplainedLoser[];
  readonly first: LayeredEntry;
  readonly values: string[];
  readonly loserAs: Claim["loserAs"];
}

/**
 * Applies the rules that turn entries into fields: for each field, the most specific entry counts; tags are combined; an address is internal
 * when any entry says so.
 *
 * @param origins all entries that cover the address, the most specific first.
 * @param applies the context of the address.
 */
function mergeEntries(
  origins: ReadonlyMap<LayeredEntry, ExplainedOrigin>,
  object: string,
  applies: UdmContext,
): Merged {
  const claims = new Map<string, OpenClaim>();
  const ignored: ExplainedLoser[] = [];

  const claim = (
    from: LayeredEntry,
    origin: ExplainedOrigin,
    field: string,
    value: string,
    isUnited: boolean,
  ): void => {
    const found = claims.get(field);
    if (found === undefined) {
      const loserAs: Claim["loserAs"] = (name, reason) => loser(name, value, origin, reason);
      claims.set(field, { origins: [origin], losers: [], first: from, values: [value], loserAs });
      return;
    }
    if (isUnited && !found.values.includes(value)) {
      found.values.push(value);
      found.origins.push(origin);
      return;
    }
    const reason = isUnited ? "a more specific entry has it already" : reasonOf(found.first, from);
    found.losers.push(loser(field, value, origin, reason));
  };

  for (const [from, origin] of origins) {
    const { entry } = from;
    const only = entry.fileOnly?.contexts;
    if (only !== undefined && !only.includes(applies)) {
      const where = only.length === 0 ? "nowhere: its contexts are not known" : `to ${only.join(" and ")} only`;
      ignored.push(loser("", "null", origin, `the entry applies ${where}`));
      continue;
    }
    for (const [field, value, isUnited] of valuesOf(entry, object)) claim(from, origin, field, value, isUnited);
  }
  return { claims, ignored };
}

function* valuesOf(
  { name, tags, vlan, internal, metadata }: UdmEntry,
  object: string,
): Iterable<readonly [field: string, value: string, isUnited: boolean]> {
  if (name !== "") yield [`${object}.ip.subnet.name`, JSON.stringify(name), false];
  for (const tag of tags) yield [`${object}.ip.subnet.tags`, JSON.stringify(tag), true];
  if (internal) yield [`${object}.isInternal`, "true", true];
  if (vlan !== 0n) yield [`${object}.vlan.tag.id`, vlan.toString(), false];
  for (const [key, value] of metadata) yield [key.startsWith(".") ? object + key : key, JSON.stringify(value), false];
}

function reasonOf(winner: LayeredEntry, other: LayeredEntry): string {
  if (other.isGlobal === true && winner.isGlobal !== true) return "entries of the scope come before global ones";
  const { key } = winner.entry;
  if (key.text !== other.entry.key.text) return `${key.text} is more specific`;
  return winner.layer === undefined
    ? "what people write comes before layers"
    : `the layer ${winner.layer} comes before ${other.layer ?? ""}`;
}

function loser(field: string, value: string, origin: ExplainedOrigin, reason: string): ExplainedLoser {
  return create(ExplainedLoserSchema, { field, value, origin, reason });
}

/** An object of records that has an address, with its context. */
interface ContextPlace {
  readonly object: string;
  readonly applies: UdmContext;
}

/** The contexts by their names in requests. */
const contexts: Readonly<Record<string, ContextPlace>> = {
  src: { object: "flow.src", applies: "endpoint" },
  dst: { object: "flow.dst", applies: "endpoint" },
  exporter: { object: "flow.export", applies: "exporter" },
  system: { object: "system", applies: "exporter" },
};

/** A checked request. */
interface ExplainQuestion {
  readonly address: Address;
  /** The names of contexts. */
  readonly names: readonly string[];
  /** The part of the question that applies only to ends of flows. */
  readonly end: Pick<ObjectQuestion, "port" | "netif">;
}

const tcp = 6;

/** Checks a request. @throws ConnectError `invalid_argument` with all violations. */
function readQuestion(request: ExplainAddressRequest): ExplainQuestion {
  const violations: FieldViolation[] = [];
  const refuse = (field: string, description: string): void => void violations.push({ field, description });
  const readIp = (field: string, text: string): Address | undefined => {
    const address = parseAddress(text);
    if (address === undefined) refuse(field, `${field} ${quote(text)} is not an IP address`);
    return address && unmapAddress(address);
  };
  const { context, port, protocol, exporter, ifIndex } = request;
  const address = readIp("ip", request.ip);
  const names = Object.keys(contexts).filter((name) => context === "" || name === context);
  if (names.length === 0) {
    refuse("context", `context ${quote(context)} is not known: expected ${Object.keys(contexts).join(", ")}`);
  }
  if (port > 0xffff) refuse("port", `port ${port} is more than 65535`);
  if (protocol > 0xff) refuse("protocol", `protocol ${protocol} is more than 255`);
  if (protocol !== 0 && port === 0) refuse("protocol", "protocol belongs to port, which is missing");
  const from = exporter === "" ? undefined : readIp("exporter", exporter);
  if (exporter === "" && ifIndex !== 0) refuse("exporter", "exporter is missing: if_index is of one of its interfaces");
  if (exporter !== "" && ifIndex === 0) refuse("if_index", "if_index is missing: the interface of exporter");
  const isOfEnds = names.some((name) => contexts[name]?.applies === "endpoint");
  if (!isOfEnds && (port !== 0 || ifIndex !== 0)) {
    refuse("context", `context ${quote(context)} has no ports and interfaces: src and dst have`);
  }
  if (address === undefined || violations.length > 0) throw badRequest(violations);
  return {
    address,
    names,
    end: {
      ...(port !== 0 && { port: { number: port, protocol: protocol === 0 ? tcp : protocol } }),
      ...(from !== undefined && { netif: { exporter: formatAddress(from), index: ifIndex } }),
    },
  };
}

const text = String.raw`"(?:[^"\\]|\\.)*"`;
const pair = new RegExp(String.raw`(${text}):(\[[^\]"]*(?:${text}[^\]"]*)*\]|${text}|[^,}]+)`, "gs");

/** Returns the fields of a flat JSON object with the raw texts of their values, because numbers may exceed the precision of JavaScript. */
export function rawFields(json: string): readonly (readonly [name: string, value: string])[] {
  return Array.from(json.matchAll(pair), ([, name = "", value = ""]) => [JSON.parse(name) as string, value] as const);
}

/** The sources of fields other than metadata, by the suffix of their names after the object. */
const sources: readonly (readonly [suffix: string, source: string])[] = [
  ["geo.", "mmdb"],
  ["as.", "mmdb"],
  ["host.", "dns"],
  ["locality", "locality"],
];

/** The access to data of exporters and their interfaces, which belong to no scope. */
const ofWhole = { role: "viewer", area: undefined } as const;

/**
 * Explains the fields of an address.
 *
 * @param principal the caller. A caller limited to scopes cannot ask for interfaces.
 * @throws ConnectError `invalid_argument`; `permission_denied`; `unimplemented` where nothing is enriched.
 */
export async function explainAddress(
  context: ToolsContext,
  request: ExplainAddressRequest,
  principal?: Principal,
): Promise<ExplainAddressResponse> {
  const store = context.store();
  if (context.explainObject === undefined)
    throw apiError("unimplemented", "API_DISABLED", "nothing is known of addresses here");
  const { address, names, end } = readQuestion(request);
  // The name of an interface may reveal its customer.
  const lack = end.netif && principal && lacks(principal, ofWhole);
  if (lack !== undefined) throw apiError("permission_denied", "ROLE_NEEDED", `if_index: ${lack}`);
  const covering = store.layers.covering(address);
  const ip = formatAddress(address);
  // The origins are the same in all contexts. Start this first, because another thread finds the lines meanwhile.
  const finding = originsOf(covering, store);
  const explain = await context.explainObject();
  const objects = names.map((name) => askObject(name, { address: ip, ...end }, explain));
  const entries = covering.map(({ entry, layer }) => fullUdm(entry, layer));
  const origins = await finding;
  const explained: ExplainedContext[] = [];
  for (const one of objects) {
    // An exporter may be in a scope by its own address. Its fields then come from the entries of that scope.
    const own = storeIn(context, one);
    explained.push(
      explainContext(one, own === undefined ? origins : await originsOf(own.layers.covering(address), own)),
    );
  }
  return create(ExplainAddressResponseSchema, { ip, contexts: explained, entries });
}

/** Returns the store of an object's scope that the question did not name; undefined where it is in no scope with entries. */
function storeIn(context: ToolsContext, { name, shown }: AskedObject): ToolsStore | undefined {
  const field = `${(contexts[name] as ContextPlace).object}.scope`;
  const scope = shown.find(([of]) => of === field)?.[1];
  const store = scope === undefined ? undefined : context.scopes?.(JSON.parse(scope) as string);
  return store === undefined || "disabled" in store ? undefined : store;
}

/** The fields that a record gets in a context. */
interface AskedObject {
  readonly name: string;
  readonly given: ReturnType<ExplainObject>;
  readonly shown: ReturnType<typeof rawFields>;
}

function askObject(name: string, question: Omit<ObjectQuestion, "object">, explainObject: ExplainObject): AskedObject {
  const { object, applies } = contexts[name] as ContextPlace;
  const { address, port, netif } = question;
  const given = explainObject({ object, address, ...(applies === "endpoint" && { port, netif }) });
  return { name, given, shown: rawFields(given.json).filter(([field]) => !given.asked.has(field)) };
}

function explainContext(
  { name, given, shown }: AskedObject,
  origins: ReadonlyMap<LayeredEntry, ExplainedOrigin>,
): ExplainedContext {
  const { object, applies } = contexts[name] as ContextPlace;
  const merged = mergeEntries(origins, object, applies);
  const ignored: ExplainedLoser[] = [...merged.ignored];
  const fields = shown.map(([field, value]) => {
    const claim = merged.claims.get(field);
    const source = given.sources.get(field) ?? sourceOf(field, object);
    const byRule = source.startsWith("rule ");
    const from = (byRule ? undefined : claim?.origins) ?? [create(ExplainedOriginSchema, { source })];
    const lost = byRule && claim !== undefined ? [claim.loserAs(field, `the ${source} comes behind metadata`)] : [];
    const losers = [...lost, ...(claim?.losers ?? [])];
    return create(ExplainedFieldSchema, { field, value, origins: [...from], losers });
  });
  ignored.push(...unplaced(merged, new Set(shown.map(([field]) => field))));
  return create(ExplainedContextSchema, { context: name, object: given.json, fields, ignored });
}

/** Returns metadata whose names conflict with other names. */
function unplaced({ claims }: Merged, shown: ReadonlySet<string>): readonly ExplainedLoser[] {
  return [...claims].flatMap(([field, { loserAs }]) =>
    shown.has(field)
      ? []
      : [loserAs(field, "another name of the record is in its way: it goes out under another name")],
  );
}

function sourceOf(field: string, object: string): string {
  const rest = field.startsWith(`${object}.`) ? field.slice(object.length + 1) : field;
  return sources.find(([suffix]) => rest.startsWith(suffix))?.[1] ?? "metadata";
}

async function originsOf(
  covering: readonly LayeredEntry[],
  { history, places }: ToolsStore,
): Promise<ReadonlyMap<LayeredEntry, ExplainedOrigin>> {
  const written = covering.filter(({ layer, isGlobal }) => layer === undefined && isGlobal !== true);
  const keys = written.map(({ entry }) => entry.key);
  const [lines, lasts] =
    keys.length === 0
      ? [[], []]
      : await Promise.all([places.linesOf(keys), history.lastOf(keys).catch(() => keys.map(() => undefined))]);
  const lineOf = new Map(written.map((from, i) => [from, lines[i]]));
  const lastOf = new Map(written.map((from, i) => [from, lasts[i]]));
  return new Map(
    covering.map((from) => {
      const { entry, layer } = from;
      const origin = create(ExplainedOriginSchema, { source: "metadata", key: entry.key.text, layer: layer ?? "" });
      if (layer !== undefined || from.isGlobal === true) return [from, origin];
      Object.assign(origin, { file: places.file, line: lineOf.get(from) ?? 0 });
      const last = lastOf.get(from);
      if (last === undefined) return [from, origin];
      const { number, author, time } = last;
      return [from, Object.assign(origin, { change: number, author, time: new Date(time).toISOString() })];
    }),
  );
}
