import * as layout from "../../kernel/layout.ts";
import type { Step, StepBook } from "../steps/step-book.ts";
import type { StepList } from "../steps/step-list.ts";

/** Why a packet was discarded ("sFlow Version 5", the codes of ICMP; "sFlow Dropped Packet Notification Structures"). */
const icmpReasons = [
  "net_unreachable",
  "host_unreachable",
  "protocol_unreachable",
  "port_unreachable",
  "frag_needed",
  "src_route_failed",
  "dst_net_unknown",
  "dst_host_unknown",
  "src_host_isolated",
  "dst_net_prohibited",
  "dst_host_prohibited",
  "dst_net_tos_unreachable",
  "dst_host_tos_unreachable",
  "comm_admin_prohibited",
  "host_precedence_violation",
  "precedence_cutoff",
];

const firstOther = 256;
const otherReasons = [
  "unknown",
  "ttl_exceeded",
  "acl",
  "no_buffer_space",
  "red",
  "traffic_shaping",
  "pkt_too_big",
  "src_mac_is_multicast",
  "vlan_tag_mismatch",
  "ingress_vlan_filter",
  "ingress_spanning_tree_filter",
  "port_list_is_empty",
  "port_loopback_filter",
  "blackhole_route",
  "non_ip",
  "uc_dip_over_mc_dmac",
  "dip_is_loopback_address",
  "sip_is_mc",
  "sip_is_loopback_address",
  "ip_header_corrupted",
  "ipv4_sip_is_limited_bc",
  "ipv6_mc_dip_reserved_scope",
  "ipv6_mc_dip_interface_local_scope",
  "unresolved_neigh",
  "mc_reverse_path_forwarding",
  "non_routable_packet",
  "decap_error",
  "overlay_smac_is_mc",
  "unknown_l2",
  "unknown_l3",
  "unknown_l3_exception",
  "unknown_buffer",
  "unknown_tunnel",
  "unknown_l4",
];

/** Codes from here on have no name. */
const dropReasonCount = firstOther + otherReasons.length;

/** Undefined for a code without a name here. */
export function dropReasonName(code: number): string | undefined {
  return code < firstOther ? icmpReasons[code] : otherReasons[code - firstOther];
}

/** How the interface of a packet is given. */
export const interfaceFormats = { index: 0, discarded: 1, multiple: 2 } as const;

/** In place of an index: the packet came from the device itself, or was for it. */
const internal = 0x3fff_ffff;
/** Whether a value of the format `index` is one. */
export function isIndex(format: number, value: number): boolean {
  return format === interfaceFormats.index && value !== internal;
}

/** What {@link InterfaceSteps.add} returns in place of an index. */
const none = -1;
const several = -2;

/** Makes steps of where a packet came in and went out. */
export interface InterfaceSteps {
  /** Those of an index, for who knows that there is one: {@link isIndex}. */
  readonly indexes: Readonly<Record<"in" | "out", Step>>;
  /** Those that the kernel lists by itself, by the numbers that its layout has. */
  readonly listed: readonly (readonly [number: number, step: Step])[];
  /**
   * Adds the interface at which a packet came in or went out: its index, or why the packet was discarded, or to how many interfaces it
   * went (0: to several, it is not known how many).
   *
   * @returns the index; a negative number where there is none.
   */
  add(list: StepList, side: "in" | "out", format: number, value: number): number;
  /** Adds why a packet was discarded: the code, and the name that it has. */
  addReason(list: StepList, code: number): void;
  /**
   * The interface at which the packet was sampled says the direction, where it is one of the two and not both. Where the packet went to
   * several, the data source is one of them when it is not the interface at which it came in.
   *
   * @param input, output as {@link InterfaceSteps.add} returned them.
   */
  addDirection(list: StepList, sourceType: number, sourceIndex: number, input: number, output: number): void;
}

const reasonId = "flow.drop.reason.id";
const direction = "flow.direction.name";

export function createInterfaceSteps(book: StepBook): InterfaceSteps {
  const sides = { in: sideSteps(book, "flow.in.netif"), out: sideSteps(book, "flow.out.netif") };
  const reasonNumber = book.field(reasonId, "number");
  const reason = book.entry(dropReasonCount, (code) => [
    [reasonId, code],
    ["flow.drop.reason.name", dropReasonName(code)],
  ]);
  const ingress = book.fixed([[direction, "ingress"]], direction);
  const egress = book.fixed([[direction, "egress"]], direction);

  const addReason = (list: StepList, code: number): void =>
    list.add(code < dropReasonCount ? reason : reasonNumber, code);
  return {
    indexes: { in: sides.in.index, out: sides.out.index },
    listed: [
      [layout.inIndexStep, sides.in.index],
      [layout.inInternalStep, sides.in.isInternal],
      [layout.outIndexStep, sides.out.index],
      [layout.outInternalStep, sides.out.isInternal],
      [layout.outCountStep, sides.out.count],
      [layout.ingressStep, ingress],
      [layout.egressStep, egress],
    ],
    addReason,
    add(list, side, format, value) {
      const steps = sides[side];
      if (format === interfaceFormats.index) {
        list.add(value === internal ? steps.isInternal : steps.index, value);
        return value === internal ? none : value;
      }
      if (side === "out" && format === interfaceFormats.discarded) addReason(list, value);
      else if (side === "out" && format === interfaceFormats.multiple) {
        list.add(steps.count, value);
        return several;
      } else {
        list.add(steps.format, format);
        list.add(steps.value, value);
      }
      return none;
    },
    addDirection(list, sourceType, sourceIndex, input, output) {
      const isIn = input === sourceIndex;
      const isOut = output === sourceIndex || (output === several && !isIn);
      if (sourceType === 0 && isIn !== isOut) list.add(isIn ? ingress : egress, isIn ? 0 : 1);
    },
  };
}

function sideSteps(
  book: StepBook,
  group: string,
): Readonly<Record<"index" | "isInternal" | "count" | "format" | "value", Step>> {
  return {
    index: book.field(`${group}.index`, "number"),
    isInternal: book.fixed([[`${group}.isInternal`, true]]),
    count: book.field(`${group}.count`, "number"),
    format: book.field(`${group}.format.id`, "number"),
    value: book.field(`${group}.value`, "number"),
  };
}
