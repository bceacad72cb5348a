import { quote } from "../../base/text/index.ts";
import { readMapFile, type ReadFile } from "../files/read-map-file.ts";
import { readApp, type App } from "./read-app.ts";

/** Applications by the id that exporters send, as `app.id` has it: `13:495`. */
export type AppIds = ReadonlyMap<string, App>;

/**
 * Reads a file of application ids: `13:495: {name: zoom, category: meetings}`. A key is what `app.id` has: engine, colon, selector, or
 * engine, enterprise number, selector; or the same as one number, of which the upper eight of 32 bits are the engine.
 *
 * @throws FileFindings
 */
export function readAppIds(bytes: Uint8Array): ReadFile<AppIds> {
  return readMapFile(bytes, (root, report) => {
    const apps = new Map<string, App>();
    for (const { key, value } of root?.pairs ?? []) {
      const id = canonicalId(key.text);
      if (id === undefined) {
        report.error(key, `${quote(key.text)} is no application id: expected engine:selector, as in 13:495`);
      } else if (apps.has(id)) report.error(key, `application ${quote(key.text)} is given twice`);
      else apps.set(id, readApp(value, false, report));
    }
    return apps;
  });
}

const maxEngine = 0xff;
const selectorBits = 2 ** 24;

function canonicalId(text: string): string | undefined {
  if (/^\d{1,10}$/.test(text)) {
    const number = Number(text);
    const engine = Math.floor(number / selectorBits);
    return engine >= 1 && engine <= maxEngine ? `${engine}:${number % selectorBits}` : undefined;
  }
  if (!/^\d{1,3}(?::\d{1,20}){1,2}$/.test(text)) return undefined;
  const parts = text.split(":").map(BigInt);
  return (parts[0] as bigint) <= BigInt(maxEngine) ? parts.join(":") : undefined;
}
