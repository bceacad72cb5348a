import assert from "node:assert/strict";
import { test } from "node:test";
import { createWorkspace, createWorkspaceMemory, kernelReserve, spaceFor } from "../../src/record/index.ts";

test("pieces of a workspace begin behind the kernel's share and what others use, and do not touch", () => {
  const memory = createWorkspaceMemory(300_000);
  const workspace = createWorkspace(memory, 128);
  const first = workspace.allocate(100);
  const second = workspace.allocate(1);
  assert.deepEqual([first, first % 64, second], [kernelReserve + 128, 0, first + spaceFor(100)]);
  assert.ok(second >= first + 100 + 64);
  workspace.view.setUint8(second, 7);
  assert.equal(workspace.bytes[second], 7);
  assert.equal(new Uint8Array(memory.buffer)[second], 7);
});

test("what was asked for when the memory was made is there, and more is refused", () => {
  const sizes = [1, 64, 65, 4096, 100_000];
  const workspace = createWorkspace(createWorkspaceMemory(sizes.reduce((sum, bytes) => sum + spaceFor(bytes), 0)));
  for (const bytes of sizes) workspace.allocate(bytes);
  assert.throws(() => workspace.allocate(65_536), RangeError);
});

test("the kernel's share is given once", () => {
  const workspace = createWorkspace(createWorkspaceMemory(0));
  assert.deepEqual([workspace.takeKernel(), workspace.takeKernel()], [true, false]);
});
