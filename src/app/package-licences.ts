import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { packagePath } from "./package-root.ts";

/** A package that is shipped with the program. */
export interface ShippedPackage {
  readonly name: string;
  readonly version: string;
  /** SPDX expression, as the package has it. */
  readonly license: string;
}

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
 * The packages that the program runs with, by name: those that its manifest names, theirs, and so on, as far as they are installed.
 *
 * @param root the manifest that is begun with; that of the program when it is left out.
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

/** As Node.js looks for packages: in the folder, and in those above. */
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

/** What the build put into the pages, as it noted it; nothing where they have not been built. */
async function readBundled(path: string): Promise<readonly ShippedPackage[]> {
  try {
    const noted = JSON.parse(gunzipSync(await readFile(path)).toString("utf8")) as readonly BundledPackage[];
    return noted.map(({ name, version, identifier }) => ({ name, version, license: identifier ?? "" }));
  } catch {
    return [];
  }
}
