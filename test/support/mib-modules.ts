import { existsSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { homeDirectory } from "../../src/app/cli/client/profile.ts";

/** Where modules are that Debian's free part has. */
const free = "/usr/share/snmp/mibs";

/**
 * Directories with the MIB modules of the IETF, of IANA and of net-snmp, which are no part of the project.
 * `test/partners/mibs.sh --install` brings them. Without them the test is skipped, or fails when
 * `NETGLOSS_SYSTEM_STRICT=1`.
 */
export function mibModules(t: Pick<TestContext, "skip">): readonly string[] | undefined {
  const cache = process.env["NETGLOSS_PARTNERS_CACHE"] ?? join(homeDirectory(), ".cache/netgloss-partners");
  const directory = join(cache, "mibs-1");
  if (existsSync(directory)) return existsSync(free) ? [directory, free] : [directory];
  const message = `no MIB modules in ${directory}: test/partners/mibs.sh --install`;
  if (process.env["NETGLOSS_SYSTEM_STRICT"] === "1") throw new Error(message);
  t.skip(message);
  return undefined;
}
