import { parseAddress } from "../../base/ip/index.ts";
import { defaulted, list, mapping, optional, required, scalar, textLine } from "../../base/yaml/index.ts";

const address = (family: 4 | 6): ReturnType<typeof scalar<string>> =>
  scalar(`an address of IPv${family}`, (text) => (parseAddress(text)?.family === family ? text : undefined));
const community = scalar("a community such as 65535:666", (text) => {
  const parts = /^(\d{1,5}):(\d{1,5})$/.exec(text)?.slice(1).map(Number) ?? [Infinity];
  return parts.every((part) => part <= 65_535) ? text : undefined;
});
const factors: Readonly<Record<string, number>> = { "": 1, k: 1e3, M: 1e6, G: 1e9 };
const rate = scalar("bits a second, such as 10M; 0 for none", (text) => {
  const [, digits, factor = ""] = /^(\d{1,9})([kMG]?)$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * (factors[factor] ?? 1);
});
const speaker = required(textLine, "The name of one of `speakers`.");
const maxCommunities = 32;
const communities = list(community).to((given, at) =>
  given.length > maxCommunities ? at.error(`expected at most ${maxCommunities} communities`) : given,
);

/** RFC 7999: routers that receive it discard the packets. */
const blackholeCommunity = "65535:666";

/** The shape of an action that discards all packets to an address (RFC 5635). */
export const blackhole = mapping(
  {
    speaker,
    next_hop: optional(address(4), "Where routers send packets to be discarded, for destinations of IPv4."),
    next_hop6: optional(address(6), "The same for destinations of IPv6."),
    communities: defaulted(communities, [blackholeCommunity], "The communities of the route."),
  },
  {
    check(_given, at) {
      if (!at.has("next_hop") && !at.has("next_hop6")) at.error("expected next_hop or next_hop6");
    },
  },
);

/** The shape of an action that discards the packets of the attack, as far as they differ from the rest (RFC 8955). */
export const flowspec = mapping({
  speaker,
  rate: defaulted(rate, 0, "How much may pass, bits a second such as 10M. 0 is nothing."),
  communities: defaulted(communities, [], "The communities of the route."),
});

/** An action that answers an alert; plain data. */
export type AnswerConfig =
  | {
      readonly kind: "blackhole";
      readonly speaker: string;
      readonly nextHop: string | undefined;
      readonly nextHop6: string | undefined;
      readonly communities: readonly string[];
    }
  | {
      readonly kind: "flowspec";
      readonly speaker: string;
      readonly rate: number;
      readonly communities: readonly string[];
    };

/** Returns the answer of an action; undefined for an action that sends notices. */
export function answerConfig(given: {
  readonly blackhole?: NonNullable<ReturnType<typeof blackhole.read>> | undefined;
  readonly flowspec?: NonNullable<ReturnType<typeof flowspec.read>> | undefined;
}): AnswerConfig | undefined {
  if (given.blackhole !== undefined) {
    const { next_hop: nextHop, next_hop6: nextHop6, ...rest } = given.blackhole;
    return { kind: "blackhole", ...rest, nextHop, nextHop6 };
  }
  return given.flowspec && { kind: "flowspec", ...given.flowspec };
}
