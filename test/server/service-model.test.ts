import assert from "node:assert/strict";
import { test } from "node:test";
import { checkService } from "./service-model.ts";

test("the service does what its model does, and so does the file", async () => {
  // Always the same commands, for each kind of outcome must be among them.
  const outcomes = await checkService(15, 30, 1);
  for (const method of ["createUdm", "updateUdm", "batchCreateUdms", "batchUpdateUdms", "deleteUdm"]) {
    assert.ok((outcomes.get(`${method} ok`) ?? 0) > 0, `${method} never succeeded`);
  }
  const codes = new Set(Array.from(outcomes.keys(), (name) => name.split(" ")[1]));
  for (const code of ["invalid_argument", "already_exists", "not_found", "unavailable"]) {
    assert.ok(codes.has(code), `nothing was ${code}`);
  }
});
