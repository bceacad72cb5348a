import { Option, type Command } from "commander";
import type { DefineCommand } from "../command.ts";
import { addConfigOption } from "../command.ts";
import { addOutput, type OutputFormat } from "../print.ts";

/** The roles of src/server/access/role.ts, which no start loads. */
const roleNames = ["viewer", "editor", "operator", "admin"] as const;
const areaNames = ["metadata", "flow", "snmp", "collector"] as const;

export interface UsersFileOptions {
  readonly usersFile?: string;
}

interface ListOptions extends UsersFileOptions {
  readonly output: OutputFormat;
}

export interface UserOptions extends UsersFileOptions {
  readonly role?: string;
  readonly passwordFile?: string;
  readonly password?: boolean;
  readonly certificate?: string;
  readonly scope?: readonly string[] | false;
}

export interface TokenOptions extends UsersFileOptions {
  readonly role: string;
  readonly area?: readonly string[];
  readonly scope?: readonly string[];
  readonly expires: string;
}

const onFile = (parent: Command, name: string, description: string): Command =>
  addConfigOption(parent.command(name).description(description)).option(
    "--users-file <file>",
    "the file of users (default: SVC_API_USERS_PATH of the settings)",
  );
const role = (): Option => new Option("--role <role>", "what the user may do").choices(roleNames);

/** Defines `user …`: users in the file of users, on the host of the collector. The collector rereads the file by itself. */
export const defineUser: DefineCommand = (user, { terminal }) => {
  const set = onFile(user, "set <name>", "add a user, or change one; the password is asked for, or read from a file")
    .addOption(role())
    .option("--password-file <file>", "a file whose first line is the password")
    .option("--no-password", "leave the password as it is, or have none")
    .option("--certificate <subject>", "the subject of the user's client certificate: CN=alice,O=Example")
    .option("--scope <scope...>", "the scopes of the metadata that the user is limited to")
    .option("--no-scope", "the user is not limited to scopes")
    .action(async (name: string, options: UserOptions) => {
      await (await import("./edit-users.ts")).setUser(name, options, set, terminal);
    });
  const listUsers = addOutput(onFile(user, "list", "show the users")).action(async (options: ListOptions) => {
    await (await import("./edit-users.ts")).listAccess("users", options, listUsers, terminal);
  });
  const removeUser = onFile(user, "delete <name>", "delete a user").action(
    async (name: string, options: UsersFileOptions) => {
      await (await import("./edit-users.ts")).removeAccess("users", name, options, removeUser, terminal);
    },
  );
};

/** Defines `token …`: API tokens in the same file. */
export const defineToken: DefineCommand = (token, { terminal }) => {
  const create = onFile(token, "create <name>", "make a token and show it; the file keeps its hash alone")
    .addOption(role().default("viewer"))
    .addOption(new Option("--area <area...>", "what it is for (default: everything)").choices(areaNames))
    .option("--scope <scope...>", "the scopes of the metadata that it is limited to (default: it is not)")
    .option("--expires <time>", "days such as 90d, a time such as 2027-01-31, or never", "90d")
    .action(async (name: string, options: TokenOptions) => {
      await (await import("./edit-users.ts")).createApiToken(name, options, create, terminal);
    });
  const listTokens = addOutput(onFile(token, "list", "show the tokens")).action(async (options: ListOptions) => {
    await (await import("./edit-users.ts")).listAccess("tokens", options, listTokens, terminal);
  });
  const removeToken = onFile(token, "delete <name>", "delete a token").action(
    async (name: string, options: UsersFileOptions) => {
      await (await import("./edit-users.ts")).removeAccess("tokens", name, options, removeToken, terminal);
    },
  );
};
