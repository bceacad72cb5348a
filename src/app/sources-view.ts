import { SourceRefusal, type SourceOperations, type ViewDescription } from "../server/index.ts";
import { SourceFault, type SourceDiff, type Sources, udmJson, type UdmEntry } from "../metadata/index.ts";

/** What `GET /api/v1/enrich/sources` answers. */
export function sourcesView(sources: Sources | undefined): unknown {
  return { enabled: sources !== undefined, sources: sources?.states() ?? [] };
}

/** The operations of the API on sources. */
export function sourceOperations(sources: Sources): SourceOperations {
  const refused = (error: unknown): never => {
    if (error instanceof SourceFault) throw new SourceRefusal("unavailable", error.message);
    throw error;
  };
  return (operation, name) => {
    if (operation === "run") return sources.run(name);
    if (operation === "diff") return sources.diff(name)?.then(diffView).catch(refused);
    return sources.accept(name)?.then((state) => {
      if (state === "nothing") throw new SourceRefusal("not_found", `nothing of the source ${name} is held`);
      return state;
    });
  };
}

function diffView({ added, changed, removed, ...diff }: SourceDiff): unknown {
  const plain = (entries: readonly UdmEntry[]): unknown[] =>
    entries.map((entry) => JSON.parse(udmJson(entry)) as unknown);
  return { ...diff, added: plain(added), changed: plain(changed), removed: plain(removed) };
}

const integer = (description: string): ViewDescription["schema"] => ({ type: "integer", description });

const runSchema: ViewDescription["schema"] = {
  type: "object",
  additionalProperties: false,
  required: ["at", "ms", "result", "rows", "faultyRows", "faults"],
  properties: {
    at: integer("When it began, milliseconds since the epoch."),
    ms: integer("How long it took, milliseconds."),
    result: { enum: ["updated", "unchanged", "held", "failed"] },
    reason: { type: "string", description: "Why it failed or is held." },
    code: {
      type: "string",
      description: "Which kind of failure it was: the label `reason` of netgloss_source_failures_total.",
    },
    rows: integer("Rows that were read."),
    faultyRows: integer("Rows that were left out."),
    faults: {
      type: "array",
      description: "The first of them.",
      items: {
        type: "object",
        properties: {
          row: { type: "integer" },
          line: { type: "integer" },
          lines: integer("Lines from there on that could not be read because of it."),
          column: { type: "string" },
          field: { type: "string" },
          reason: { type: "string" },
        },
      },
    },
    changes: {
      type: "object",
      description: "How many entries it changed, or would when it is held.",
      properties: {
        added: { type: "integer" },
        changed: { type: "integer" },
        removed: { type: "integer" },
        unchanged: { type: "integer" },
      },
    },
  },
};

export const sourcesDescription: ViewDescription = {
  summary: "The sources of metadata and their last runs",
  schema: {
    type: "object",
    additionalProperties: false,
    required: ["enabled", "sources"],
    properties: {
      enabled: { type: "boolean" },
      sources: {
        type: "array",
        items: {
          type: "object",
          additionalProperties: false,
          required: ["name", "kind", "place", "priority", "entries", "state"],
          properties: {
            name: { type: "string", examples: ["netbox"] },
            kind: { type: "string" },
            place: { type: "string", description: "URL without parameters, or path." },
            priority: integer("Lower comes first."),
            entries: integer("Entries in use."),
            state: {
              enum: ["waiting", "restored", "working", "held", "failing"],
              description: "Restored: the last good copy is in use until the first run.",
            },
            lastGood: integer("When entries last came or were confirmed, milliseconds since the epoch."),
            nextRun: integer("When it runs again, milliseconds since the epoch."),
            run: runSchema,
          },
        },
      },
    },
  },
};
