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

/** Fills in the pages of the issuer: the name, then the consent. */
async function signIn(browse: Browser, api: string, name: string): Promise<Response> {
  let page = await browse(`${api}/login`);
  for (const prompt of ["login", "consent"]) {
    const action = actionOf(await page.text());
    const body = new URLSearchParams({ prompt, ...(prompt === "login" && { login: name, password: "x" }) });
    page = await browse(action, { method: "POST", body });
  }
  return page;
}

test("users sign in at a real issuer, with the role of their group", async (t) => {
  const port = await freePort();
  const redirect = `http://127.0.0.1:${port}/login/callback`;
  const partner = await startPartner(t, "oidc", { OIDC_REDIRECT: redirect });
  const directory = tempDirectory(t);
  const secretFile = join(directory, "secret");
  writeFileSync(secretFile, `${String(partner["secret"])}\n`);
  const collector = await startCollectorProcess({
    settings: {
      SVC_API_PORT: String(port),
      SVC_API_OIDC_ENABLE: "true",
      SVC_API_OIDC_ISSUER: String(partner["issuer"]),
      SVC_API_OIDC_CLIENT_ID: String(partner["client"]),
      SVC_API_OIDC_CLIENT_SECRET_FILE: secretFile,
      SVC_API_OIDC_REDIRECT_URL: redirect,
      SVC_API_OIDC_ROLES: "netgloss-admins=admin,netgloss-viewers=viewer",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: join(directory, "udm.yml"),
    },
  });
  cleanUp(t, () => collector.end());
  const { api } = collector;
  assert.equal((await fetch(`${api}/session`)).status, 401);
  const csrfOf = async (browse: Browser): Promise<string> =>
    ((await (await browse(`${api}/session`)).json()) as { csrfToken: string }).csrfToken;
  const create = async (browse: Browser, key: string, origin: string): Promise<Response> =>
    browse(`${api}/udm.v1.UdmService/CreateUdm`, {
      method: "POST",
      headers: { "content-type": "application/json", origin, "x-csrf-token": await csrfOf(browse) },
      body: JSON.stringify({ udm: { key } }),
    });

  const [admin, viewer, stranger] = [createBrowser(), createBrowser(), createBrowser()];
  const landed = await signIn(admin, api, "admin");
  assert.deepEqual([landed.status, new URL(landed.url).pathname], [200, "/"]);
  const session = await admin(`${api}/session`);
  const { name, role, by, proof } = (await session.json()) as Record<string, string>;
  assert.deepEqual({ name, role, by, proof }, { name: "admin", role: "admin", by: "session", proof: "issuer" });
  assert.equal((await create(admin, "192.0.2.1", "https://evil.example")).status, 403);
  assert.equal((await create(admin, "192.0.2.1", api)).status, 200);
  const written = collector.log().find(({ msg }) => msg === "metadata written");
  assert.ok(JSON.stringify(written).includes('"admin"'), JSON.stringify(written));

  assert.equal((await signIn(viewer, api, "viewer")).status, 200);
  assert.equal(((await (await viewer(`${api}/session`)).json()) as { role: string }).role, "viewer");
  assert.equal((await create(viewer, "192.0.2.2", api)).status, 403);

  const refused = await signIn(stranger, api, "mallory");
  assert.equal(refused.status, 403);
  assert.match(await refused.text(), /mallory has no role here/);
  assert.equal((await stranger(`${api}/session`)).status, 401);

  const leave = { method: "POST", headers: { origin: api, "x-csrf-token": await csrfOf(admin) } };
  assert.equal((await admin(`${api}/logout`, leave)).status, 204);
  assert.equal((await admin(`${api}/session`)).status, 401);
});
