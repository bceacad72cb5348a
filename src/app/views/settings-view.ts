import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { packagePath } from "../package-root.ts";
import type { CollectorAnswer } from "../../server/index.ts";
import type { Clock } from "../../base/report/index.ts";
import { Secret } from "../../base/text/index.ts";
import { reloadPlan } from "../service/reload-plan.ts";
import {
  allSettings,
  SettingsError,
  type SettingName,
  type Settings,
  type SettingsReading,
} from "../settings/index.ts";

type ShippedPackage = CollectorAnswer<"getSettings">["packages"][number];

interface Manifest {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string | { readonly type?: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly identifier?: string;
}

/**
 * Returns the installed packages that the program runs with, by name: the dependencies in its manifest, and theirs.
 *
 * @param root the first manifest; by default that of the program.
 */
export async function shippedPackages(root = packagePath("package.json")): Promise<readonly ShippedPackage[]> {
  const found = new Map<string, ShippedPackage>();
  const visit = async (path: string, manifest: Manifest): Promise<void> => {
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
      const installed = await findPackage(dirname(path), name);
      if (installed === undefined || found.has(installed.path)) continue;
      const { version = "", license = "" } = installed.manifest;
      const text = typeof license === "string" ? license : (license.type ?? "");
      found.set(installed.path, { name, version, license: text });
      await visit(installed.path, installed.manifest);
    }
  };
  const manifest = await readManifest(root);
  if (manifest !== undefined) await visit(root, manifest);
  const bundled = await readBundled(packagePath("dist/pages/licences.json.gz"));
  return [...found.values(), ...bundled].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Finds a package as Node.js does: in the folder, and in those above. */
async function findPackage(
  folder: string,
  name: string,
): Promise<{ readonly path: string; readonly manifest: Manifest } | undefined> {
  for (let at = folder; ; at = dirname(at)) {
    const path = join(at, "node_modules", name, "package.json");
    const manifest = await readManifest(path);
    if (manifest !== undefined) return { path, manifest };
    if (at === dirname(at)) return undefined;
  }
}

async function readManifest(path: string): Promise<Manifest | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Manifest;
  } catch {
    return undefined;
  }
}

/** Reads the list of packages that the build put into the pages; empty where they have not been built. */
async function readBundled(path: string): Promise<readonly ShippedPackage[]> {
  try {
    const noted = JSON.parse(gunzipSync(await readFile(path)).toString("utf8")) as readonly BundledPackage[];
    return noted.map(({ name, version, identifier }) => ({ name, version, license: identifier ?? "" }));
  } catch {
    return [];
  }
}

/** The origin of the settings of a collector. */
export interface SettingsPlace {
  readonly reading: SettingsReading;
  /** Reads the same places again. @throws SettingsError */
  readAgain(): Promise<SettingsReading>;
}

export type SettingsView = CollectorAnswer<"getSettings">;
type SettingView = SettingsView["settings"][number];
type SettingChange = SettingsView["restart"]["changes"][number];

export interface SettingsViewParts {
  readonly settings: Settings;
  /** Undefined: the settings were made by a program. */
  readonly place: SettingsPlace | undefined;
  readonly version: string;
  readonly clock: Clock;
  readonly hasMetadata: () => boolean;
}

/** Creates the view. @returns a function that reads it. */
export function createSettingsView(parts: SettingsViewParts): () => Promise<SettingsView> {
  const { settings, place, version, clock } = parts;
  const startedAt = clock.now();
  const inForce = listSettings(settings, place?.reading.origins);
  let packages: Promise<readonly ShippedPackage[]> | undefined;
  return async () => {
    packages ??= shippedPackages();
    return {
      version,
      node: process.versions.node,
      instance: settings.SVC_INSTANCE_NAME,
      startedAt,
      settings: inForce.map(({ view }) => view),
      unknown: place?.reading.unknown ?? [],
      warnings: place?.reading.warnings ?? [],
      reload: reloadPlan(settings, parts.hasMetadata()),
      restart: await whatRestartChanges(inForce, place),
      packages: await packages,
    };
  };
}

interface Listed {
  readonly view: SettingView;
  /** The text for comparing values; for a secret the secret itself. Never shown. */
  readonly text: string;
}

function listSettings(settings: Settings, origins: ReadonlyMap<SettingName, string> | undefined): readonly Listed[] {
  return allSettings(settings, origins).map(({ row, group, shown, value, origin }) => {
    const { type, help, default: fallback } = row;
    const [ownText, defaultText] = [type.format(value), type.format(fallback)];
    const guess = ownText === defaultText ? "default" : "program";
    const rest = { default: defaultText, origin: origin ?? guess };
    const head = { name: shown, group, help, expected: type.expected };
    if (!(value instanceof Secret)) return { view: { ...head, value: ownText, ...rest }, text: ownText };
    return { view: { ...head, isSecret: true, isSet: value.isSet, ...rest, default: "" }, text: value.reveal() };
  });
}

async function whatRestartChanges(
  inForce: readonly Listed[],
  place: SettingsPlace | undefined,
): Promise<SettingsView["restart"]> {
  if (place === undefined) return { changes: [], problems: [] };
  let next: SettingsReading;
  try {
    next = await place.readAgain();
  } catch (error) {
    if (error instanceof SettingsError) return { changes: [], problems: error.problems };
    throw error;
  }
  const after = new Map(listSettings(next.settings, next.origins).map((one) => [one.view.name, one]));
  const before = new Map(inForce.map((one) => [one.view.name, one]));
  const changes = [...new Set([...before.keys(), ...after.keys()])].flatMap((name): SettingChange[] => {
    const [was, becomes] = [before.get(name), after.get(name)];
    if (was?.text === becomes?.text) return [];
    const isSecret = (was ?? becomes)?.view.isSecret;
    const [old, later] = [was?.view.value, becomes?.view.value];
    return [
      {
        name,
        ...(old !== undefined && { inForce: old }),
        ...(later !== undefined && { next: later }),
        ...(isSecret && { isSecret }),
        origin: becomes?.view.origin ?? "no more",
      },
    ];
  });
  return { changes, problems: [] };
}
