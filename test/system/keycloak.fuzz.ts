// Sign-in at Keycloak. It takes a minute or more to start, so it is no part of the system tests: npm run fuzz -- system/keycloak
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cleanUp } from "../support/clean-up.ts";
import { actionOf, createBrowser, type Browser } from "../support/cookie-browser.ts";
import { startCollectorProcess } from "../support/collector-process.ts";
import { freePort } from "../support/free-port.ts";
import { startPartner } from "../support/partner.ts";
import { tempDirectory } from "../support/temp-directory.ts";

async function signIn(browse: Browser, api: string, username: string, password = "secret"): Promise<Response> {
  const page = await browse(`${api}/login?to=/session`);
  const action = actionOf(await page.text());
  return browse(action, { method: "POST", body: new URLSearchParams({ username, password, credentialId: "" }) });
}

test("users sign in at Keycloak by code and PKCE, with their realm roles, and sign out", async (t) => {
  const partner = await startPartner(t, "keycloak");
  const directory = tempDirectory(t);
  const secretFile = join(directory, "secret");
  writeFileSync(secretFile, `${String(partner["secret"])}\n`);
  const port = await freePort();
  const collector = await startCollectorProcess({
    settings: {
      SVC_API_PORT: String(port),
      SVC_API_OIDC_ENABLE: "true",
      SVC_API_OIDC_ISSUER: String(partner["issuer"]),
      SVC_API_OIDC_CLIENT_ID: String(partner["client"]),
      SVC_API_OIDC_CLIENT_SECRET_FILE: secretFile,
      SVC_API_OIDC_REDIRECT_URL: `http://127.0.0.1:${port}/login/callback`,
      SVC_API_OIDC_ROLE_CLAIM: "realm_access.roles",
      SVC_API_OIDC_ROLES: "admin=admin,viewer=viewer",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: join(directory, "udm.yml"),
    },
  });
  cleanUp(t, () => collector.end());
  const { api } = collector;
  const create = async (browse: Browser, key: string): Promise<number> => {
    const response = await browse(`${api}/udm.v1.UdmService/CreateUdm`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: api },
      body: JSON.stringify({ udm: { key } }),
    });
    return response.status;
  };

  const [admin, viewer, guest, thief] = [createBrowser(), createBrowser(), createBrowser(), createBrowser()];
  assert.equal(await create(admin, "192.0.2.1"), 401);
  const landed = await signIn(admin, api, "admin");
  assert.deepEqual([landed.status, await landed.json()], [200, { name: "admin", role: "admin", by: "session" }]);
  assert.equal(await create(admin, "192.0.2.1"), 200);
  assert.equal(((await (await signIn(viewer, api, "viewer")).json()) as { role: string }).role, "viewer");
  assert.equal(await create(viewer, "192.0.2.2"), 403);
  const refused = await signIn(guest, api, "guest");
  assert.equal(refused.status, 403);
  assert.match(await refused.text(), /guest has no role here/);
  // Keycloak shows its form again.
  assert.match(await (await signIn(thief, api, "admin", "guess")).text(), /kc-form-login|Invalid username or password/);
  assert.equal((await thief(`${api}/session`)).status, 401);

  assert.equal((await admin(`${api}/logout`, { method: "POST", headers: { origin: api } })).status, 204);
  assert.equal((await admin(`${api}/session`)).status, 401);
  assert.equal((await viewer(`${api}/session`)).status, 200);
});
