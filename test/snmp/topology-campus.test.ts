import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { isWhole } from "../support/runs.ts";
import { Campus, type Switch } from "./campus-lab.ts";
import { linkText, rigOf, type LinkView, type Rig } from "./topology-rig.ts";

/** 500 devices in `.ci/run`; `npm test` has 120, of which the same can be said. */
const { pods, stacksOfPod } = isWhole ? { pods: 10, stacksOfPod: 48 } : { pods: 4, stacksOfPod: 28 };

/** After a long inference, as on a busy host, the next one comes later. */
const restMs = 600_000;

async function mapOf(t: TestContext, campus: Campus): Promise<Rig> {
  const rig = rigOf(t);
  for (const device of campus.devices) rig.say(campus.tablesOf(device));
  await rig.pass(restMs);
  return rig;
}

const bridged = ({ topology }: Rig, state: LinkView["state"] = "up"): readonly LinkView[] =>
  topology.links().filter((link) => link.layer === 2 && link.state === state);

/** Says anew what these devices have now, and of those that see them. */
async function sayAgain(rig: Rig, campus: Campus, devices: Iterable<Switch>): Promise<void> {
  for (const device of devices) rig.say(campus.tablesOf(device), true, device.boot);
  await rig.pass(restMs);
}

test("stacks at pairs of switches: each link is found at its ports, an uplink that is heard one way is unsure", async (t) => {
  const campus = new Campus(pods, stacksOfPod);
  const rig = await mapOf(t, campus);
  const links = bridged(rig);
  assert.equal(campus.devices.length, isWhole ? 500 : 120);
  assert.deepEqual(new Set(links.map(linkText)), campus.links());
  assert.equal(links.length, campus.links().size);
  const deaf = campus.stacks.filter((stack) => stack.deaf.size > 0);
  const unsure = links.filter(({ confidence }) => confidence !== "confirmed");
  assert.ok(deaf.length > pods);
  assert.equal(unsure.length, deaf.length);
  for (const { a, b, confidence, doubts } of unsure) {
    const stack = [a, b].find(({ name }) => name?.startsWith("stack-"));
    const spine = [a, b].find(({ name }) => name?.startsWith("dist-"));
    assert.equal(confidence, "unsure");
    assert.deepEqual(doubts, [`${stack?.name} lists other LLDP neighbors, but not ${spine?.name}.`]);
  }
  const uplinks = links.flatMap(({ a, b }) => [a, b]).filter(({ name }) => name?.startsWith("stack-"));
  assert.deepEqual(new Set(uplinks.map(({ aggregate }) => aggregate?.name)), new Set(["Port-channel1"]));
  const misplaced = campus.hosts.filter(({ ip, at }, i) => {
    if (i % 20 !== 0 || !at.device.learns) return false;
    const [first] = rig.topology.locate(ip)?.locations ?? [];
    return first?.device !== at.device.id || first.port.index !== at.port.index || !first.isEdge;
  });
  assert.deepEqual(misplaced, []);
});

test("of a campus one link goes, one device is replaced, one endpoint moves: nothing else changes", async (t) => {
  const campus = new Campus(pods, stacksOfPod);
  const rig = await mapOf(t, campus);
  const before = new Map(bridged(rig).map((link) => [link.id, link]));
  const [first, second, third] = campus.stacks as [Switch, Switch, Switch];
  const pair = campus.devices.slice(0, 2);

  const lost = first.ports.find(({ name }) => name.endsWith("2/0/49"));
  assert.ok(lost?.peer);
  const text = [`${first.id}|${lost.index}`, `${lost.peer.device.id}|${lost.peer.port.index}`].sort().join(" ");
  first.part(lost);
  await sayAgain(rig, campus, [first, ...pair]);
  assert.deepEqual(bridged(rig, "gone").map(linkText), [text]);
  assert.deepEqual(new Set(bridged(rig).map(linkText)), campus.links());

  second.replace();
  await sayAgain(rig, campus, [second, ...pair, ...campus.stacks.slice(0, stacksOfPod)]);
  assert.deepEqual(bridged(rig, "gone").map(linkText), [text]);
  const others = bridged(rig).filter(({ id, confidence }) => before.get(id)?.confidence !== confidence);
  assert.deepEqual(others.map(linkText), []);

  const host = campus.hosts.find(({ at }) => at.device === third);
  const target = campus.stacks[3];
  const port = target?.ports.find(({ name }) => name === "GigabitEthernet2/0/1");
  assert.ok(host && target && port);
  host.at = { device: target, port };
  await sayAgain(rig, campus, [third, target, ...pair, ...campus.stacks.slice(0, stacksOfPod)]);
  const [place] = rig.topology.locate(host.ip)?.locations ?? [];
  assert.deepEqual([place?.device, place?.port.name, place?.isEdge], [target.id, port.name, true]);
  assert.deepEqual(new Set(bridged(rig).map(linkText)), campus.links());
});
