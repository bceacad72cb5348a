import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import {
  AccessFileError,
  createToken,
  editAccessFile,
  hashPassword,
  isTokenName,
  parseAccessFile,
  type AccessFields,
  type AccessList,
  type AccessSection,
} from "../../../server/index.ts";
import { nodeFileIo, replaceContent, resolveTarget } from "../../../base/file/index.ts";
import { print, type OutputFormat } from "../print.ts";
import { CommandError, type Terminal } from "../terminal.ts";
import { commandSettings } from "../command.ts";
import type { TokenOptions, UserOptions, UsersFileOptions } from "./user-command.ts";

/** The mode of the file: only its owner may read it. */
const fileMode = 0o600;

/** Runs `user set`. @throws CommandError */
export async function setUser(name: string, options: UserOptions, command: Command, terminal: Terminal): Promise<void> {
  const path = await pathOf(options, command, terminal);
  const { users } = parsed(path, textOf(path));
  const isNew = !users.has(name);
  if (isNew && options.role === undefined) throw new CommandError("usage", `there is no user ${name} yet: give --role`);
  const { scope } = options;
  const asksPassword =
    options.password !== false && (isNew || (options.role ?? options.certificate ?? scope) === undefined);
  const password =
    options.passwordFile === undefined
      ? asksPassword
        ? await askTwice(name, terminal)
        : undefined
      : readFirstLine(options.passwordFile);
  if (password === "") throw new CommandError("usage", "the password is empty");
  await save(path, "users", name, {
    ...(options.role !== undefined && { role: options.role }),
    ...(password !== undefined && { password: await hashPassword(password) }),
    ...(options.certificate !== undefined && { certificate: options.certificate }),
    ...(scope !== undefined && { scopes: scope === false ? undefined : scope }),
  });
  terminal.out(`${path}: user ${name} ${isNew ? "added" : "changed"}\n`);
}

async function askTwice(name: string, terminal: Terminal): Promise<string> {
  const first = await terminal.ask(`New password of ${name}: `, { hidden: true });
  if (first === undefined)
    throw new CommandError("usage", "nobody can be asked here: give --password-file or --no-password");
  if ((await terminal.ask("Again: ", { hidden: true })) === first) return first;
  throw new CommandError("failed", "the passwords differ: nothing was changed");
}

/** Runs `token create`. @throws CommandError */
export async function createApiToken(
  name: string,
  { role, area, scope, expires, ...rest }: TokenOptions,
  command: Command,
  terminal: Terminal,
): Promise<void> {
  if (!isTokenName(name)) throw new CommandError("usage", "a token's name has letters, digits, dots and dashes");
  const path = await pathOf(rest, command, terminal);
  if (parsed(path, textOf(path)).tokens.has(name)) {
    throw new CommandError("already_exists", `there is a token ${name} in ${path}: delete it first`);
  }
  const until = expiry(expires);
  const { token, hash } = createToken(name);
  // A token is shown only once, so create none that nobody could read.
  terminal.out(`${token}\n`);
  if (!(await terminal.drained())) throw new CommandError("failed", "the token could not be shown, so none was made");
  await save(path, "tokens", name, { role, areas: area, scopes: scope, hash, expires: until });
  terminal.err(
    `This is shown once. It is for ${(area ?? ["everything"]).join(", ")} ${scope === undefined ? "" : `in ${scope.join(", ")} `}as ${role}, until ${until ?? "it is deleted"}.\n`,
  );
}

function expiry(text: string): string | undefined {
  if (text === "never") return undefined;
  const [, days] = /^([1-9]\d{0,4})d$/.exec(text) ?? [];
  const time = days === undefined ? Date.parse(text) : Date.now() + Number(days) * 86_400_000;
  if (Number.isNaN(time)) throw new CommandError("usage", `--expires: expected 90d, 2027-01-31 or never, not ${text}`);
  if (time <= Date.now()) throw new CommandError("usage", `--expires: ${text} has passed`);
  return new Date(time).toISOString();
}

/** Runs `user list` and `token list`. @throws CommandError */
export async function listAccess(
  section: AccessSection,
  { output, ...options }: UsersFileOptions & { readonly output: OutputFormat },
  command: Command,
  terminal: Terminal,
): Promise<void> {
  const path = await pathOf(options, command, terminal);
  const { users, tokens } = parsed(path, textOf(path));
  if (section === "users") {
    const value = Array.from(users.values(), ({ name, role, password, certificate = [], scopes }) => ({
      name,
      role,
      hasPassword: password !== undefined,
      certificate,
      scopes,
    }));
    const rows = value.map(({ name, role, hasPassword, certificate, scopes }) => [
      name,
      role,
      hasPassword ? "yes" : "",
      certificate.join(","),
      shownScopes(scopes),
    ]);
    await print({ value, head: ["user", "role", "password", "certificate", "scopes"], rows }, output, terminal);
    return;
  }
  const value = Array.from(tokens.values(), ({ name, role, areas = [], scopes, expires }) => ({
    name,
    role,
    areas,
    scopes,
    expires: expires === undefined ? undefined : new Date(expires).toISOString(),
  }));
  const rows = value.map(({ name, role, areas, scopes, expires = "never" }) => [
    name,
    role,
    areas.join(","),
    shownScopes(scopes),
    expires,
  ]);
  await print({ value, head: ["token", "role", "areas", "scopes", "expires"], rows }, output, terminal);
}

/** Returns scopes as text. A user limited to no scope at all sees none; without a limit the text is empty. */
function shownScopes(scopes: readonly string[] | undefined): string {
  return scopes === undefined ? "" : scopes.join(",") || "none";
}

/** Runs `user delete` and `token delete`. @throws CommandError */
export async function removeAccess(
  section: AccessSection,
  name: string,
  options: UsersFileOptions,
  command: Command,
  terminal: Terminal,
): Promise<void> {
  const path = await pathOf(options, command, terminal);
  await save(path, section, name, undefined);
  terminal.out(`${path}: ${section === "users" ? "user" : "token"} ${name} deleted\n`);
}

async function pathOf({ usersFile }: UsersFileOptions, command: Command, terminal: Terminal): Promise<string> {
  const path = usersFile ?? (await commandSettings(command, terminal)).settings.SVC_API_USERS_PATH;
  if (path !== "") return path;
  throw new CommandError("usage", "which file? Give --users-file, or SVC_API_USERS_PATH in the settings");
}

/** Returns the text of the file; empty if there is none yet. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw new CommandError("failed", (error as Error).message);
  }
}

function readFirstLine(path: string): string {
  const [line = ""] = textOf(path).split(/\r?\n/);
  return line;
}

function parsed(path: string, text: string): AccessList {
  return explained(() => parseAccessFile(path, text));
}

function explained<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof AccessFileError)) throw error;
    throw new CommandError("failed", error.faults.join("\nerror: "));
  }
}

async function save(
  path: string,
  section: AccessSection,
  name: string,
  fields: AccessFields | undefined,
): Promise<void> {
  const text = explained(() => editAccessFile(path, textOf(path), section, name, fields));
  if (text === undefined) throw new CommandError("not_found", `there is no ${name} among the ${section} of ${path}`);
  try {
    const target = await resolveTarget(nodeFileIo, path);
    const temporary = `${target}.${randomBytes(6).toString("hex")}.tmp`;
    await replaceContent(nodeFileIo, { target, temporary, mode: fileMode }, Buffer.from(text));
  } catch (error) {
    throw new CommandError("failed", `${path} cannot be written: ${(error as Error).message}`);
  }
}
