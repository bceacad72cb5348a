import { homedir } from "node:os";
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/**
 * Returns the home directory of the user. It is `/`, as in container runtimes, where HOME is not set and the system has no entry
 * for the user: a container may run under a user id without a name.
 */
export function homeDirectory(read: () => string = homedir): string {
  try {
    return read();
  } catch {
    return "/";
  }
}

/** The URL of a collector, with the credentials and certificates for it. Paths are absolute. */
export interface Profile {
  readonly url?: string;
  readonly user?: string;
  readonly passwordFile?: string;
  readonly tokenFile?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Returns the path of the file of profiles: `~/.config/netgloss/config.yml`, or below XDG_CONFIG_HOME. */
export function pathOfProfiles(env: Readonly<Record<string, string | undefined>>): string {
  const configured = env["XDG_CONFIG_HOME"];
  const base =
    configured === undefined || configured === "" ? join(env["HOME"] ?? homeDirectory(), ".config") : configured;
  return join(base, "netgloss", "config.yml");
}

const names: Readonly<Record<string, keyof Profile>> = {
  url: "url",
  user: "user",
  password_file: "passwordFile",
  token_file: "tokenFile",
  ca: "ca",
  cert: "cert",
  key: "key",
};
const paths: ReadonlySet<keyof Profile> = new Set(["passwordFile", "tokenFile", "ca", "cert", "key"]);

/** Returns the names of the profiles in a file. */
export async function profileNames(path: string, fail: (message: string) => never): Promise<readonly string[]> {
  const text = textOrMissing(path, fail);
  if (text === undefined) return [];
  const { parseProfiles } = await import("./parse-profiles.ts");
  return [...parseProfiles(path, text, names, fail).profiles.keys()];
}

/**
 * Reads one profile of the file; without a name, the current one. Relative paths are below the folder of the file, `~/` is the home.
 *
 * @param fail ends the command with a message; it names file:line:column.
 * @returns an empty profile when there is no file and no name is given.
 */
export async function readProfile(
  path: string,
  name: string | undefined,
  fail: (message: string) => never,
): Promise<Profile> {
  const text = textOrMissing(path, fail);
  if (text === undefined) return name === undefined ? {} : fail(`profile ${name}: there is no file ${path}`);
  const { parseProfiles } = await import("./parse-profiles.ts");
  const { current, profiles } = parseProfiles(path, text, names, fail);
  const wanted = name ?? current;
  if (wanted === undefined) return {};
  const found = profiles.get(wanted);
  if (found === undefined) {
    const { nearName } = await import("../../../base/text/index.ts");
    const near = nearName(wanted, [...profiles.keys()]);
    return fail(`there is no profile ${wanted} in ${path}${near === undefined ? "" : `: is ${near} meant?`}`);
  }
  const values = Object.entries(found).map(([field, value]) => [
    field,
    paths.has(field as keyof Profile) ? resolve(dirname(path), value.replace(/^~(?=\/)/, homeDirectory())) : value,
  ]);
  return Object.fromEntries(values) as Profile;
}

function textOrMissing(path: string, fail: (message: string) => never): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    return fail(`the profiles cannot be read: ${(error as Error).message}`);
  }
}
