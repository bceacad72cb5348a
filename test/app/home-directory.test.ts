import assert from "node:assert/strict";
import { homedir } from "node:os";
import { test } from "node:test";
import { homeDirectory } from "../../src/app/cli/client/profile.ts";

test("a user without a home directory has the root directory", () => {
  assert.equal(
    homeDirectory(() => {
      throw new Error("uv_os_homedir returned ENOENT");
    }),
    "/",
  );
  assert.equal(homeDirectory(), homedir());
});
