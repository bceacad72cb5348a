import { networkInterfaces } from "node:os";

/** Why a test that binds `::1` is skipped on this host; false where it can run. */
export const withoutIpv6: string | false = Object.values(networkInterfaces()).some((list) =>
  list?.some(({ address }) => address === "::1"),
)
  ? false
  : "no IPv6 on the loopback interface";
