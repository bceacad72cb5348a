import { isIP } from "node:net";
import { quote } from "../text/index.ts";

/** How the connection is encrypted, by the names of libpq's `sslmode`. `require` encrypts without knowing the server. */
export type TlsMode = "disable" | "require" | "verify-ca" | "verify-full";

export interface ServerPlace {
  readonly host: string;
  readonly port: number;
}

/** Where a database is and who asks it, as a connection URL says. */
export interface ServerAddress {
  /** In the order in which they are tried. A host that begins with `/` is the folder of a socket. */
  readonly places: readonly ServerPlace[];
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly tls: TlsMode;
}

const tlsModes: readonly string[] = ["disable", "require", "verify-ca", "verify-full"] satisfies TlsMode[];
const defaultPort = 5432;
const known = new Set(["host", "sslmode", "target_session_attrs"]);

/**
 * Reads `postgresql://user:password@host1:5432,host2/database?sslmode=verify-full`. Without `sslmode` a server on this host is not
 * encrypted, any other is verified in full.
 *
 * @throws Error that says what is wrong, without the password.
 */
export function parseServerAddress(url: string): ServerAddress {
  const match =
    /^postgres(?:ql)?:\/\/(?:(?<user>[^:@/?#]*)(?::(?<password>[^@/?#]*))?@)?(?<hosts>[^/?#@]*)(?:\/(?<database>[^?#/]*))?(?:\?(?<query>[^#]*))?$/.exec(
      url,
    );
  if (match?.groups === undefined) {
    throw new Error(
      "is not a URL like postgresql://user:password@host:5432/database; in user and password, characters like @ : / ? # are written as %40 and so on",
    );
  }
  const { user = "", password = "", hosts = "", database = "", query = "" } = match.groups;
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) {
    if (!known.has(name)) throw new Error(`has a parameter that is not known: ${quote(name)}`);
  }
  const target = parameters.get("target_session_attrs") ?? "read-write";
  if (target !== "read-write" && target !== "primary") {
    throw new Error(`target_session_attrs must be read-write, not ${quote(target)}: the database is written`);
  }
  if (user === "") throw new Error("names no user");
  const decoded = { user: decode(user, "user"), password: decode(password, "password") };
  const places = placesOf(parameters.get("host") ?? hosts);
  return {
    places,
    ...decoded,
    database: database === "" ? decoded.user : decode(database, "database"),
    tls: tlsOf(parameters.get("sslmode"), places),
  };
}

function placesOf(hosts: string): readonly ServerPlace[] {
  return hosts.split(",").map((text) => {
    const decoded = decode(text, "host");
    if (decoded.startsWith("/")) return { host: decoded, port: defaultPort };
    const match = /^(?:\[(?<six>[0-9a-fA-F:.]+)\]|(?<name>[^:[\]]+))(?::(?<port>[0-9]{1,5}))?$/.exec(decoded);
    const host = match?.groups?.["six"] ?? match?.groups?.["name"];
    const port = Number(match?.groups?.["port"] ?? defaultPort);
    if (host === undefined || port < 1 || port > 65_535) throw new Error(`has a host that is none: ${quote(decoded)}`);
    return { host, port };
  });
}

function tlsOf(mode: string | null, places: readonly ServerPlace[]): TlsMode {
  if (mode === null) return places.every(isLocal) ? "disable" : "verify-full";
  if (!tlsModes.includes(mode)) {
    throw new Error(`has an sslmode that is none of ${tlsModes.join(", ")}: ${quote(mode)}`);
  }
  return mode as TlsMode;
}

function isLocal({ host }: ServerPlace): boolean {
  return (
    host.startsWith("/") || host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."))
  );
}

function decode(text: string, part: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error(`has a ${part} with a percent sign that begins no character: write %25`);
  }
}

/** `host:port`, for messages. */
export function showPlace({ host, port }: ServerPlace): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The database as a URL without who asks it, for messages. */
export function showDatabase({ places, database }: ServerAddress): string {
  return `postgresql://${places.map(showPlace).join(",")}/${database}`;
}
