import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { WriteOrigin } from "../../metadata/index.ts";
import { apiError } from "../api-error.ts";
import type { Role } from "../access/role.ts";
import {
  EnrichRuleService,
  ListRuleChangesResponseSchema,
  ListRulesResponseSchema,
  type RuleChangeSchema,
  RuleWrittenSchema,
  TestRuleResponseSchema,
  WatchRuleService,
} from "../gen/rules/v1/rules_pb.ts";
import { unary, type CallContext, type RpcService } from "../rpc/method.ts";
import { badRequest, originOf } from "../udm/udm-service.ts";

/** A rule of a file: its YAML, and the comments right above it. */
export interface RuleText {
  readonly name: string;
  readonly text: string;
}

/** A change of rules; plain data. */
export interface RuleChange {
  readonly number: number;
  /** The time in milliseconds since the Unix epoch. */
  readonly time: number;
  readonly author: string;
  readonly method: string;
  readonly before?: RuleText | undefined;
  readonly after?: RuleText | undefined;
  /** The rule that followed it before the change. */
  readonly nextBefore?: string | undefined;
  readonly nextAfter?: string | undefined;
}

/** The author of a change of rules, and the revision that the author saw. */
export type RuleWriter = WriteOrigin & {
  readonly role: Role;
  /** The revision of the file that the author saw; empty for any. */
  readonly revision: string;
  /** True where nothing is changed. */
  readonly isTrial: boolean;
};

/** The file after a change; without a number where nothing changed, or changes are not kept. */
export type RulesWritten = { readonly revision: string; readonly change: number; readonly rule: RuleText | undefined };

/** A rule, the name of the rule that it replaces, and the rule before which it goes. An empty text stands for none. */
export type RulePut = { readonly text: string; readonly name: string; readonly before: string };

/** A trial of a rule on kept records of a period. */
export type RuleQuestion = Omit<RulePut, "before"> & { readonly from: string; readonly to: string };

/** The findings of a trial, in the form of the schema, but with times in milliseconds since the Unix epoch. */
export type RuleFindings = {
  readonly untried?: string;
  readonly from?: number;
  readonly to?: number;
  readonly records?: number;
  readonly complete?: boolean;
  readonly fits?: number;
  readonly changes?: number;
  readonly windowSeconds?: number;
  readonly found?: readonly {
    readonly key: readonly string[];
    readonly peak: number;
    readonly first: number;
    readonly last: number;
    readonly windows: number;
  }[];
};

/** The operations on rules of one kind. Each throws a ConnectError to refuse. */
export type RuleOperations = {
  list(): Promise<{ readonly rules: readonly RuleText[]; readonly revision: string; readonly fault: string }>;
  set(put: RulePut, writer: RuleWriter): Promise<RulesWritten>;
  move(name: string, before: string, writer: RuleWriter): Promise<RulesWritten>;
  remove(name: string, writer: RuleWriter): Promise<RulesWritten>;
  undo(number: number, writer: RuleWriter): Promise<RulesWritten>;
  test(question: RuleQuestion, signal: AbortSignal): Promise<RuleFindings>;
  changes(before: number, name: string, limit: number): Promise<readonly RuleChange[]>;
};

/** The rules of one kind, or a sentence about the missing setting. */
export type RuleFileOffer = RuleOperations | { readonly disabled: string };

const [usualChanges, mostChanges] = [50, 1000];
const longestName = 1000;

/** Returns a service of rules.v1: one for the rules that add fields to records, one for those that watch. Both have the same methods. */
export function ruleMethods(kind: "enrich" | "watch", offer: RuleFileOffer): RpcService {
  const schema = kind === "enrich" ? EnrichRuleService : WatchRuleService;
  const rules = (): RuleOperations => {
    if ("disabled" in offer) throw apiError("unimplemented", "RULES_DISABLED", offer.disabled);
    return offer;
  };
  const { method } = schema;
  return {
    schema,
    // Rules apply to the whole collector, so callers limited to scopes may not call these methods.
    area: kind === "enrich" ? "metadata" : "flow",
    requireEnabled: () => void rules(),
    methods: [
      unary(method.listRules, "viewer", async () => create(ListRulesResponseSchema, await listed(rules()))),
      unary(method.setRule, "editor", async (request, call) => {
        const { text, name, before, validateOnly } = request;
        if (text.trim() === "") throw badRequest([{ field: "text", description: "text is missing" }]);
        const writer = writerOf("SetRule", request.revision, call, validateOnly);
        return create(RuleWrittenSchema, answerOf(await rules().set({ text, name, before }, writer)));
      }),
      unary(method.moveRule, "editor", async ({ name, before, revision }, call) => {
        const writer = writerOf("MoveRule", revision, call);
        return create(RuleWrittenSchema, answerOf(await rules().move(named(name), before, writer)));
      }),
      unary(method.deleteRule, "editor", async ({ name, revision }, call) => {
        const writer = writerOf("DeleteRule", revision, call);
        return create(RuleWrittenSchema, answerOf(await rules().remove(named(name), writer)));
      }),
      {
        ...unary(method.testRule, "viewer", async ({ text, name, from, to }, { signal }) => {
          if (text.trim() === "" && name === "")
            throw badRequest([{ field: "text", description: "text and name are missing" }]);
          const findings = await rules().test({ text, name, from, to }, signal);
          return create(TestRuleResponseSchema, shownFindings(findings));
        }),
        // The answer shows flows, whatever the kind of the rule.
        area: "flow",
      },
      unary(method.listRuleChanges, "viewer", async ({ before, name, limit }) => {
        const most = Math.min(limit === 0 ? usualChanges : limit, mostChanges);
        const changes = await rules().changes(Number(before), name, most);
        return create(ListRuleChangesResponseSchema, { changes: changes.map(shownChange) });
      }),
      unary(method.undoRuleChange, "editor", async ({ number, revision, dryRun }, call) => {
        if (number === 0n) throw badRequest([{ field: "number", description: "number is missing" }]);
        const writer = writerOf("UndoRuleChange", revision, call, dryRun);
        return create(RuleWrittenSchema, answerOf(await rules().undo(Number(number), writer)));
      }),
    ],
  };
}

async function listed(rules: RuleOperations): Promise<MessageInitShape<typeof ListRulesResponseSchema>> {
  const { rules: found, revision, fault } = await rules.list();
  return { rules: found.map(({ name, text }) => ({ name, text })), revision, fault };
}

function named(name: string): string {
  if (name === "") throw badRequest([{ field: "name", description: "name is missing" }]);
  if (name.length > longestName) throw badRequest([{ field: "name", description: "name is too long" }]);
  return name;
}

function writerOf(method: string, revision: string, call: CallContext, isTrial = false): RuleWriter {
  // Without authentication, everybody has all rights.
  return { ...originOf(method, call), role: call.principal?.role ?? "admin", revision, isTrial };
}

function answerOf({ rule, revision, change }: RulesWritten): MessageInitShape<typeof RuleWrittenSchema> {
  return { ...(rule !== undefined && { rule: { ...rule } }), revision, change: BigInt(change) };
}

function shownFindings(findings: RuleFindings): MessageInitShape<typeof TestRuleResponseSchema> {
  const { from, to, records = 0, fits = 0, changes = 0, found = [], ...rest } = findings;
  return {
    ...rest,
    ...(from !== undefined && { from: timestampFromMs(from) }),
    ...(to !== undefined && { to: timestampFromMs(to) }),
    records: BigInt(records),
    fits: BigInt(fits),
    changes: BigInt(changes),
    found: found.map(({ key, peak, windows, first, last }) => ({
      key: [...key],
      peak,
      windows,
      first: timestampFromMs(first),
      last: timestampFromMs(last),
    })),
  };
}

function shownChange({ number, time, before, after, ...rest }: RuleChange): MessageInitShape<typeof RuleChangeSchema> {
  return {
    number: BigInt(number),
    time: timestampFromMs(time),
    author: rest.author,
    method: rest.method,
    ...(before !== undefined && { before: { ...before } }),
    ...(after !== undefined && { after: { ...after } }),
    nextBefore: rest.nextBefore ?? "",
    nextAfter: rest.nextAfter ?? "",
  };
}
