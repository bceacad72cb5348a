import { create } from "@bufbuild/protobuf";
import { formatAddress } from "../../../ip/index.ts";
import type { LayeredEntry } from "../../../udm/index.ts";
import {
  ExplainAddressResponseSchema,
  ExplainedContextSchema,
  ExplainedFieldSchema,
  ExplainedOriginSchema,
  type ExplainAddressRequest,
  type ExplainAddressResponse,
  type ExplainedContext,
  type ExplainedLoser,
  type ExplainedOrigin,
} from "../../gen/udm/v1/tools_pb.ts";
import { apiError } from "../../error/api-error.ts";
import { fullUdm } from "../common/full-udm.ts";
import type { ExplainObject, ObjectQuestion, ToolsContext, ToolsStore } from "../common/tools-context.ts";
import { contexts, readQuestion, type ContextPlace } from "./read-question.ts";
import { foldEntries, type Fold } from "./fold-entries.ts";
import { rawFields } from "./raw-fields.ts";

/** What gives fields that are no metadata, by what follows the object in their names. */
const sources: readonly (readonly [suffix: string, source: string])[] = [
  ["geo.", "mmdb"],
  ["as.", "mmdb"],
  ["host.", "dns"],
  ["locality", "locality"],
];

/** @throws ConnectError `invalid_argument`; `unimplemented` where nothing is enriched. */
export async function explainAddress(
  context: ToolsContext,
  request: ExplainAddressRequest,
): Promise<ExplainAddressResponse> {
  const store = context.store();
  if (context.explainObject === undefined)
    throw apiError("unimplemented", "API_DISABLED", "nothing is known of addresses here");
  const { address, names, end } = readQuestion(request);
  const covering = store.layers.covering(address);
  const ip = formatAddress(address);
  // The same in all contexts. Asked for first: another thread finds the lines, and has done so when the rest is done.
  const finding = originsOf(covering, store);
  const explain = await context.explainObject();
  const objects = names.map((name) => askObject(name, { address: ip, ...end }, explain));
  const entries = covering.map(({ entry, layer }) => fullUdm(entry, layer));
  const origins = await finding;
  const explained = objects.map((one) => explainContext(one, origins));
  return create(ExplainAddressResponseSchema, { ip, contexts: explained, entries });
}

/** What a record gets in a context. */
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
  const fold = foldEntries(origins, object, applies);
  const ignored: ExplainedLoser[] = [...fold.ignored];
  const fields = shown.map(([field, value]) => {
    const claim = fold.claims.get(field);
    const source = given.sources.get(field) ?? sourceOf(field, object);
    const from = claim?.origins ?? [create(ExplainedOriginSchema, { source })];
    return create(ExplainedFieldSchema, { field, value, origins: [...from], losers: [...(claim?.losers ?? [])] });
  });
  ignored.push(...unplaced(fold, new Set(shown.map(([field]) => field))));
  return create(ExplainedContextSchema, { context: name, object: given.json, fields, ignored });
}

/** What metadata says under names that other names are in the way of. */
function unplaced({ claims }: Fold, shown: ReadonlySet<string>): readonly ExplainedLoser[] {
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
  const written = covering.filter(({ layer }) => layer === undefined);
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
      if (layer !== undefined) return [from, origin];
      Object.assign(origin, { file: places.file, line: lineOf.get(from) ?? 0 });
      const last = lastOf.get(from);
      if (last === undefined) return [from, origin];
      const { number, author, time } = last;
      return [from, Object.assign(origin, { change: number, author, time: new Date(time).toISOString() })];
    }),
  );
}
