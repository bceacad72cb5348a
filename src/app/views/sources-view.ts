import { SourceRefusal, type SourceOperations, type CollectorAnswer } from "../../server/index.ts";
import { SourceFault, type SourceDiff, type Sources, udmJson, type UdmEntry } from "../../metadata/index.ts";

/** What `GET /api/v1/enrich/sources` answers. */
export function sourcesView(sources: Sources | undefined): CollectorAnswer<"listSources"> {
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
