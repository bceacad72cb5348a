import assert from "node:assert/strict";
import { test } from "node:test";
import { afterEvent, type AlertEvent } from "../../web/src/pages/alerts/known-alerts.ts";

type Alert = NonNullable<AlertEvent["alert"]>;

const alert = (id: string, state: Alert["state"]): Alert => ({ id, state }) as Alert;

test("however many alerts come and go, those that are open stay known, and those that ended last", () => {
  const list = [alert("old", "firing"), alert("new", "cleared"), alert("before", "cleared")];
  let known = afterEvent(new Map(), { id: "1", change: "list", alerts: list });
  const seen = (id: string, change: Alert["state"]): void => {
    known = afterEvent(known, { id: "2", change, alert: alert(id, change) });
  };
  for (let i = 0; i < 1997; i++) for (const change of ["firing", "cleared"] as const) seen(`a${String(i)}`, change);
  assert.equal(known.size, 2000);
  seen("b", "firing");
  assert.deepEqual([known.size, known.has("before"), known.has("new")], [2000, false, true]);
  for (let i = 0; i < 3000; i++) for (const change of ["firing", "cleared"] as const) seen(`c${String(i)}`, change);
  assert.equal(known.size, 2000);
  assert.deepEqual([known.get("old")?.state, known.get("b")?.state], ["firing", "firing"]);
  assert.ok(known.has("c2999"));
  known = afterEvent(known, { id: "3", change: "gone", alert: alert("b", "pending") });
  assert.equal(known.has("b"), false);
});
