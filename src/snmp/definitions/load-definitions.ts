import { hash } from "node:crypto";
import { readFile as readFileCallback } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Clock, Metrics } from "../../base/report/index.ts";
import { CompiledDefinitions } from "./compiled-definitions.ts";
import type { LoadedFile } from "./definition-files.ts";
import { listDefinitionFiles, type DefinitionFile, type DefinitionPaths } from "./definition-files.ts";
import { kinds, type Definitions } from "./definitions.ts";
import type { Finding } from "./definitions.ts";
import { Pacer, inPieces } from "../limits.ts";
import { parseSteps, type ParsedFile } from "./definition-formats.ts";
import { wholeFile } from "./settings-file.ts";
import { resolveDefinitions, type Resolved } from "./resolve-definitions.ts";

/** The mode of a load: `start` leaves out faulty parts and continues; `apply` takes all or nothing. */
export type LoadMode = "start" | "apply";

export interface LoadOutcome {
  /** The definitions; undefined if `apply` found an error. It is the same object as before if no file has changed. */
  readonly definitions: Definitions | undefined;
  /** All findings, in the order of the files. */
  readonly findings: readonly Finding[];
  readonly files: number;
  /** The number of files that were parsed because their content differs from that of the last load. */
  readonly parsedFiles: number;
  readonly durationMs: number;
}

export interface LoaderOptions {
  readonly paths: DefinitionPaths;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** The pacer of the load; if left out, it has one of its own. */
  readonly pacer?: Pacer;
  /** The path of the compiled definitions ({@link compileDefinitionFile}); if left out, the file beside the program. */
  readonly compiled?: string;
  /** Reads a file; tests use it to make the disk fail. */
  readonly read?: (path: string) => Promise<Uint8Array>;
}

/** Reads a file. For many small files it is four times as fast as the function of node:fs/promises. */
const readFile = promisify(readFileCallback);

/** The file that the build writes beside the joined program. Without that program there is none. */
const compiledBeside = join(import.meta.dirname, "definitions.compiled");

/** The most files to read at the same time. */
const concurrency = 16;

interface CachedFile {
  readonly digest: string;
  readonly parsed: ParsedFile;
}

export class DefinitionsLoader {
  readonly #paths: DefinitionPaths;
  readonly #clock: Clock;
  readonly #compiled: string;
  readonly #read: (path: string) => Promise<Uint8Array>;
  readonly #pacer: Pacer;
  readonly #measure: (outcome: LoadOutcome) => void;
  #cache = new Map<string, CachedFile>();
  #last: { readonly content: string; readonly resolved: Resolved } | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: LoaderOptions) {
    this.#paths = options.paths;
    this.#clock = options.clock;
    this.#compiled = options.compiled ?? compiledBeside;
    this.#read = options.read ?? readFile;
    this.#pacer = options.pacer ?? new Pacer(options.clock);
    this.#measure = createMeasures(options.metrics);
  }

  /**
   * Reads all files. It never throws because of their content or the disk; such faults become findings. Loads run one after another.
   */
  load(mode: LoadMode): Promise<LoadOutcome> {
    const load = this.#running.then(() => this.#loadNow(mode));
    this.#running = load.catch(() => {});
    return load;
  }

  async #loadNow(mode: LoadMode): Promise<LoadOutcome> {
    const start = this.#clock.monotonic();
    const listed = await listDefinitionFiles(this.#paths);
    const { loaded, findings, nextCache, parsedFiles } = await this.#readAll(listed.files);
    this.#cache = nextCache;
    const before = [...listed.findings, ...findings];
    // The result depends only on the content of the files, and on which of them could not be read.
    const content = [
      ...loaded.map((file) => `${file.kind} ${file.path} ${nextCache.get(cacheKey(file))?.digest}`),
      ...before.map((finding) => `${finding.file} ${finding.message}`),
    ].join("\n");
    if (this.#last?.content !== content)
      this.#last = { content, resolved: await resolveDefinitions(loaded, before, this.#pacer) };
    const { resolved } = this.#last;
    const isRejected = mode === "apply" && resolved.findings.some((finding) => finding.severity === "error");
    const outcome: LoadOutcome = {
      definitions: isRejected ? undefined : resolved.definitions,
      findings: resolved.findings,
      files: loaded.length,
      parsedFiles,
      durationMs: this.#clock.monotonic() - start,
    };
    this.#measure(outcome);
    return outcome;
  }

  async #readAll(files: readonly DefinitionFile[]): Promise<{
    readonly loaded: LoadedFile[];
    readonly findings: Finding[];
    readonly nextCache: Map<string, CachedFile>;
    readonly parsedFiles: number;
  }> {
    const nextCache = new Map<string, CachedFile>();
    // Later loads find unchanged files in the cache.
    const compiled = this.#cache.size === 0 ? await readCompiled(this.#compiled) : undefined;
    const loaded: LoadedFile[] = [];
    const findings: Finding[] = [];
    let parsedFiles = 0;
    const pending: Promise<Uint8Array | Error>[] = [];
    let asked = 0;
    for (const file of files) {
      while (asked < files.length && pending.length < concurrency) {
        const { path } = files[asked++] as DefinitionFile;
        pending.push(this.#read(path).catch((error: unknown) => error as Error));
      }
      const bytes = (await pending.shift()) as Uint8Array | Error;
      if (this.#pacer.isDue()) await this.#pacer.rest();
      if (bytes instanceof Error) {
        const { code = bytes.name } = bytes as NodeJS.ErrnoException;
        findings.push(wholeFile(file.path, `the file cannot be read (${code})`));
        continue;
      }
      const digest = hash("sha256", bytes, "hex");
      let cached = this.#cache.get(cacheKey(file));
      if (cached?.digest !== digest) {
        const known = compiled?.find(file.kind, digest);
        if (known === undefined) parsedFiles++;
        cached = { digest, parsed: known ?? (await inPieces(parseSteps(file.kind, file.path, bytes), this.#pacer)) };
      }
      nextCache.set(cacheKey(file), cached);
      loaded.push({ ...file, bytes, parsed: cached.parsed });
    }
    return { loaded, findings, nextCache, parsedFiles };
  }
}

/** Reads the compiled definitions; undefined if the file cannot be read, because the YAML has everything, too. */
async function readCompiled(path: string): Promise<CompiledDefinitions | undefined> {
  const bytes = await readFile(path).catch(() => undefined);
  return bytes && new CompiledDefinitions(bytes.toString());
}

function cacheKey(file: DefinitionFile): string {
  return `${file.kind} ${file.path}`;
}

function createMeasures(metrics: Metrics): (outcome: LoadOutcome) => void {
  const definitions = metrics.gauge("netgloss_snmp_definitions", "Definitions in force, by kind", ["kind"]);
  const findings = metrics.gauge("netgloss_snmp_definition_findings", "Findings of the last load, by severity", [
    "severity",
  ]);
  const files = metrics.gauge("netgloss_snmp_definition_files", "Definition files that the last load read");
  const parsed = metrics.counter(
    "netgloss_snmp_definition_files_parsed_total",
    "Definition files parsed because they changed",
  );
  const loads = metrics.counter("netgloss_snmp_definition_loads_total", "Loads of the definitions, by result", [
    "result",
  ]);
  const seconds = metrics.gauge("netgloss_snmp_definition_load_seconds", "Duration of the last load");
  return (outcome) => {
    for (const severity of ["error", "warning"] as const) {
      findings.set(outcome.findings.filter((finding) => finding.severity === severity).length, { severity });
    }
    files.set(outcome.files);
    parsed.add(outcome.parsedFiles);
    loads.add(1, { result: outcome.definitions === undefined ? "rejected" : "loaded" });
    seconds.set(outcome.durationMs / 1000);
    if (outcome.definitions === undefined) return;
    for (const kind of kinds) definitions.set(outcome.definitions.hashes[kind].size, { kind });
  };
}
