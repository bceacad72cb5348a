import { spawn } from "node:child_process";
import { once } from "node:events";
import { list, mapping, optional, required, scalar, textLine } from "../../base/yaml/index.ts";
import { birdText, exabgpText, type Route } from "./route.ts";

const gobgp = mapping({
  url: required(
    scalar("an address such as http://127.0.0.1:50051", (text) => {
      const url = URL.canParse(text) ? new URL(text) : undefined;
      const isPlain = url?.username === "" && url.password === "" && url.pathname === "/";
      return isPlain && (url.protocol === "http:" || url.protocol === "https:") ? url.origin : undefined;
    }),
    "The gRPC API of gobgpd, version 3.",
  ),
});

const placeholders: Readonly<Record<string, (route: Route) => string>> = {
  exabgp: exabgpText,
  bird: birdText,
  prefix: ({ prefix }) => prefix,
  next_hop: ({ nextHop = "" }) => nextHop,
  communities: ({ communities }) => communities.join(" "),
};
const placeholder = /\{(\w+)\}/g;

const argv = list(textLine).to((given: readonly string[], at) => {
  const [program = ""] = given;
  if (!program.startsWith("/")) return at.error("expected the absolute path of a program first");
  for (const [, name = ""] of given.join(" ").matchAll(placeholder))
    if (!Object.hasOwn(placeholders, name))
      return at.error(`there is no {${name}}, expected one of ${Object.keys(placeholders).join(", ")}`);
  return given;
});

const command = mapping({
  announce: required(
    argv,
    "The program and its arguments, in which {exabgp}, {bird}, {prefix}, {next_hop} and {communities} are replaced; no shell. It gets the route as JSON, too, by its standard input.",
  ),
  withdraw: required(argv, "The same for the end of a route. It has to succeed for one that is not there."),
});

/** The shape of a speaker in the file: exactly one of these kinds. */
export const speakerShape = mapping(
  {
    gobgp: optional(gobgp, "Announces through GoBGP."),
    command: optional(command, "Announces by a program, such as exabgpcli. SVC_WATCH_COMMANDS_ENABLE allows it."),
  },
  {
    check(_given, at) {
      if (at.children().length !== 1) at.error("expected one of gobgp, command");
    },
  },
);

/** The configuration of a speaker; plain data, without secrets. */
export type SpeakerConfig = NonNullable<ReturnType<typeof speakerShape.read>>;

/** Announces routes to routers. Both calls may be repeated, and withdrawing an unknown route succeeds. */
export interface Speaker {
  /** Announces a route. @throws Error that says why it failed. */
  announce(route: Route, signal: AbortSignal): Promise<void>;
  /** Withdraws a route. @throws Error that says why it failed. */
  withdraw(route: Route, signal: AbortSignal): Promise<void>;
  close(): void;
}

/** Returns a speaker without connecting to it yet. @throws Error where programs are not allowed. */
export async function openSpeaker(config: SpeakerConfig, allowsCommands: boolean): Promise<Speaker> {
  if (config.gobgp !== undefined) {
    const { GobgpSpeaker } = await import("./gobgp-speaker.ts");
    return new GobgpSpeaker(config.gobgp.url);
  }
  if (config.command === undefined) throw new TypeError("a speaker of no kind");
  if (!allowsCommands) throw new Error("programs are not allowed: SVC_WATCH_COMMANDS_ENABLE");
  return new CommandSpeaker(config.command);
}

const maxSaid = 300;

/** A speaker that announces by running a program. */
class CommandSpeaker implements Speaker {
  readonly #config: NonNullable<SpeakerConfig["command"]>;

  constructor(config: NonNullable<SpeakerConfig["command"]>) {
    this.#config = config;
  }

  announce(route: Route, signal: AbortSignal): Promise<void> {
    return this.#run(this.#config.announce, route, signal);
  }

  withdraw(route: Route, signal: AbortSignal): Promise<void> {
    return this.#run(this.#config.withdraw, route, signal);
  }

  close(): void {}

  async #run(argument: readonly string[], route: Route, signal: AbortSignal): Promise<void> {
    const [program = "", ...rest] = argument.map((text) =>
      text.replaceAll(placeholder, (all, name: string) => placeholders[name]?.(route) ?? all),
    );
    const child = spawn(program, rest, { stdio: ["pipe", "ignore", "pipe"], signal, killSignal: "SIGKILL", env: {} });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-maxSaid)));
    // A program that does not read its input may have ended already.
    child.stdin.on("error", () => {});
    child.stdin.end(`${JSON.stringify(route)}\n`);
    const [code, killedBy] = (await once(child, "close")) as [number | null, string | null];
    if (code !== 0)
      throw new Error(`${program} ended with ${code ?? killedBy}${said === "" ? "" : `: ${said.trim()}`}`);
  }
}
