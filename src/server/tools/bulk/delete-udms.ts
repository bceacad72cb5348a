import { create } from "@bufbuild/protobuf";
import { KeyError, parseKey } from "../../../base/ip/index.ts";
import { maxViolations, type UdmWrite } from "../../../metadata/index.ts";
import { quote } from "../../../base/text/index.ts";
import type { FieldViolation } from "../../error/api-error.ts";
import {
  BatchDeleteUdmsResponseSchema,
  type BatchDeleteUdmsRequest,
  type BatchDeleteUdmsResponse,
} from "../../gen/udm/v1/tools_pb.ts";
import { badRequest } from "../../udm/store-fault.ts";
import { requireBatchSize } from "../../udm/batch-size.ts";
import { elementsPerTurn, turn, type ToolsCaller, type ToolsContext } from "../common/tools-context.ts";

export async function batchDeleteUdms(
  context: ToolsContext,
  { keys, ignoreMissing }: BatchDeleteUdmsRequest,
  caller: ToolsCaller,
): Promise<BatchDeleteUdmsResponse> {
  context.store();
  requireBatchSize(keys.length, context.maxBatchSize);
  const writes: UdmWrite[] = [];
  const violations: FieldViolation[] = [];
  let deleted = 0;
  for (const [i, text] of keys.entries()) {
    if (i % elementsPerTurn === elementsPerTurn - 1) await turn();
    try {
      const key = parseKey(text);
      writes.push({
        op: "edit",
        key,
        edit(found) {
          if (found !== undefined) deleted++;
          else if (!ignoreMissing) {
            return { refused: "not_found", field: "", description: `key ${quote(key.text)} does not exist` };
          }
          return { entry: undefined };
        },
      });
    } catch (error) {
      if (!(error instanceof KeyError)) throw error;
      if (violations.push({ field: `keys[${i}]`, description: error.message }) === maxViolations) break;
    }
  }
  if (violations.length > 0) throw badRequest(violations);
  const change = await context.commit("BatchDeleteUdms", writes, caller, (i) => `keys[${i}]`);
  return create(BatchDeleteUdmsResponseSchema, { deleted, change });
}
