import {
  anyObject,
  choice,
  described,
  flag,
  instant,
  integer,
  list,
  number,
  object,
  text,
  looseObject,
  map,
  openObject,
  time,
  numberOrNull,
} from "./shape.ts";

const template = object(
  {
    id: integer("Its id."),
    kind: choice(["flows", "options"]),
    fields: integer("How many fields it has."),
    sampling: choice(["rate", "sampler"], "What its records say of sampling, if anything."),
    namesExporter: flag("Whether its records name the exporter (elements 130, 131)."),
    definedAt: instant("When it came for the first time"),
    refreshedAt: instant("When it came for the last time; for a restored one, when it was read"),
    origin: choice(
      ["received", "restored", "shared"],
      "Restored: known from an earlier run, shared: from another collector of the fleet; not come again yet.",
    ),
  },
  "sampling",
);

const sender = object(
  {
    port: integer("Its number."),
    firstSeen: instant("Its first datagram in this run"),
    lastSeen: instant("Its last datagram"),
    bootTime: instant("When the exporter started, by its export time and uptime"),
  },
  "bootTime",
);

const rateChange = object({
  scope: text(),
  from: number(),
  to: number(),
  count: integer("How often a rate of the domain changed in this run."),
});

const domain = object(
  {
    protocol: text(undefined, "netflow9", "ipfix"),
    id: integer("Observation domain (IPFIX), Source ID (NetFlow v9), engine type and id (v5), sub-agent (sFlow)."),
    agent: text("The agent whose sub-agent this is (sFlow)."),
    port: integer("Of the sender; the first one where it changes. Not for sFlow."),
    templates: list(template),
    waitingSets: integer("Data sets that wait for their template."),
    waitingSince: instant("Since when there are any"),
    waitingFor: list(integer(), "The templates that they wait for."),
    givenUpSets: integer("Data sets that were given up for want of their template."),
    received: integer("Units received, counted like `missing`."),
    missingAt: instant("When some were found missing last"),
    missing: integer(
      "Units that never came, by sequence numbers: flows (NetFlow v5), datagrams (v9), records (IPFIX).",
    ),
    missingSamples: integer("Samples missing by the numbers of their data sources (sFlow)."),
    samplerDrops: integer("Samples that the agent says it dropped (sFlow)."),
    late: integer("Datagrams that came out of order."),
    resets: integer("How often a new count began."),
    sampling: list(object({ scope: text(), rate: number() })),
    samplingChange: rateChange,
    clockOffset: integer(
      "Milliseconds that the exporter's clock is ahead of the collector's: the median over its last datagrams.",
    ),
    senders: list(sender, "The ports that its datagrams came from, 8 at most."),
    names: object({
      interfaces: integer("Interfaces named by options."),
      applications: integer("Applications named by options."),
      vrfs: integer("VRFs named by options."),
    }),
    bootTime: instant("When the exporter started, by its options"),
  },
  "agent",
  "port",
  "waitingSince",
  "missingAt",
  "samplingChange",
  "clockOffset",
  "bootTime",
);

const exporter = object(
  {
    address: text(),
    name: text("Of the most specific entry of metadata that has one."),
    relay: text("The relay whose records named it last."),
    isRelay: flag("Whether its records may name other exporters."),
    firstSeen: instant("Its first datagram"),
    lastSeen: instant("Its last datagram"),
    datagrams: integer("Its own datagrams in this run."),
    records: integer("Flow records in this run."),
    recordsPerSecond: number("Over the last minute."),
    manualRate: number("The operator's sampling rate."),
    fallbackRate: number("The operator's rate for the case that the exporter says none."),
    domains: list(domain),
  },
  "name",
  "relay",
  "manualRate",
  "fallbackRate",
);

export const exporters = object({
  enabled: flag("Whether flows are received. If not, there are no exporters."),
  listening: described(
    object({ addresses: list(text()), udp: list(integer()), tcp: list(integer()) }),
    "Where exporters send to: addresses of this host, ports.",
  ),
  exporters: list(exporter),
});

/** All ids of findings, those of the collector first. */
export const diagnosisIds = [
  "flows-off",
  "not-in-fleet",
  "nothing-received",
  "port-shared",
  "not-understood",
  "kernel-drops",
  "queue-drops",
  "output-failing",
  "output-drops",
  "output-refused",
  "traps-refused",
  "never-heard",
  "silent",
  "template-missing",
  "no-flows",
  "sampler-unknown",
  "sampling-conflict",
  "sampling-overridden",
  "sampling-unknown",
  "gaps",
  "agent-drops",
  "several-devices",
  "clock-off",
  "same-flows",
  "both-directions",
  "counters-disagree",
] as const;

export const diagnosis = object({
  healthy: flag("Whether neither a problem nor a warning was found."),
  at: integer("When, milliseconds since the epoch."),
  ports: list(integer(), "The flow ports that are open."),
  exporters: integer("How many exporters were looked at."),
  diagnoses: list(
    object(
      {
        id: choice(diagnosisIds, "Which kind of finding; docs/doctor.md has them all."),
        severity: choice(
          ["problem", "warning", "note"],
          "Flows are missing; flows are incomplete or wrong; worth knowing.",
        ),
        exporter: text("The exporter that it is about; absent: the collector."),
        sentence: text(),
        evidence: anyObject("What it was found by."),
        advice: text("What to do."),
      },
      "exporter",
    ),
    "The worst first.",
  ),
});

const optionalOfDevice = ["polledBy", "discovery", "plan", "lastPoll", "nextPoll", "lastError"] as const;

const deviceProperties = {
  device: text("Address and port."),
  name: text(),
  ip: text(),
  port: integer(),
  version: choice(["1", "2c", "3"]),
  state: choice(
    ["undiscovered", "up", "down", "elsewhere"],
    "`elsewhere`: another collector of the fleet polls it, and knows more.",
  ),
  polledBy: text("The collector of the fleet that polls it; absent outside of a fleet."),
  discovery: choice(["queued", "running"], "Absent: none is under way."),
  groups: list(text(), "Device groups that count, after the last discovery."),
  plan: described(
    looseObject({ objects: integer(), attributes: integer(), discoveredAt: time() }),
    "What is polled; absent before the first discovery.",
  ),
  lastPoll: time(),
  nextPoll: time(),
  lastError: looseObject({ time: time(), message: text() }),
  pending: list(text(), "Definitions that changed and wait for the next discovery."),
};

export const devices = openObject({
  enabled: flag(),
  devices: list(openObject(deviceProperties, ...optionalOfDevice)),
});

const interfaceState = openObject(
  {
    index: integer("ifIndex."),
    name: text(),
    alias: text(),
    admin: text(),
    oper: text(),
    bitsPerSecond: number("Its speed."),
    inBitsPerSecond: number("From the last two polls, as the following ones."),
    outBitsPerSecond: number("Sent."),
    inErrorsPerSecond: number("Packets with errors."),
    outErrorsPerSecond: number("Packets with errors."),
    inDiscardsPerSecond: number("Packets without errors that were dropped."),
    outDiscardsPerSecond: number("Packets without errors that were dropped."),
  },
  "name",
  "alias",
  "admin",
  "oper",
  "bitsPerSecond",
  "inBitsPerSecond",
  "outBitsPerSecond",
  "inErrorsPerSecond",
  "outErrorsPerSecond",
  "inDiscardsPerSecond",
  "outDiscardsPerSecond",
);

export const device = openObject(
  {
    ...deviceProperties,
    sysName: text(),
    sysDescr: text(),
    sysObjectId: text(),
    objects: map(list(text()), "Attributes that are polled, by object."),
    interfaces: map(text(), "Names by ifIndex."),
    interfaceStates: list(interfaceState),
    addresses: list(text()),
    counts: map(number()),
  },
  ...optionalOfDevice,
  "sysName",
  "sysDescr",
  "sysObjectId",
);

export const definitions = openObject(
  {
    enabled: flag(),
    ok: flag("Whether the files have no errors, so that they can be applied."),
    inUse: looseObject({ revision: text(), devices: integer() }),
    findings: list(looseObject({ place: text(), id: text(), message: text() }), "What is wrong with the files."),
    report: anyObject("As the answer of apply-definitions.", { additionalProperties: true }),
  },
  "ok",
  "inUse",
  "findings",
  "report",
);

const search = {
  isDryRun: flag(),
  networks: list(text()),
  startedAt: time(),
  addresses: integer(),
  probed: integer(),
};

const searchReport = looseObject(
  {
    ...search,
    durationSeconds: number(),
    new: list(
      looseObject(
        {
          name: text(),
          device: text("Address and port."),
          network: text(),
          credential: text("Its place among those of the network, and its version."),
          vendor: text(),
          model: text(),
          serial: text(),
          sysObjectId: text(),
          reason: text("Why it was looked for, where that is not because of the ranges."),
          file: text(),
        },
        "vendor",
        "model",
        "serial",
        "sysObjectId",
        "reason",
        "file",
      ),
      "Devices that were not known.",
    ),
    changed: list(
      looseObject({ name: text(), device: text(), changes: list(text()), problem: text() }, "problem"),
      "Known devices that are different.",
    ),
    gone: list(
      looseObject({ name: text(), device: text(), lastSeen: time() }, "lastSeen"),
      "Devices of discovery that did not answer.",
    ),
    duplicates: list(
      looseObject({ device: text(), of: text(), reason: text() }),
      "Addresses at which a device answered that has another.",
    ),
    known: integer("Known devices that answered."),
    refused: list(
      looseObject({ address: text(), network: text(), reason: text() }),
      "Agents that took no credential; the first thousand.",
    ),
    problem: text("Why what was found is not polled."),
  },
  "problem",
);

export const discovery = openObject(
  {
    enabled: flag(),
    running: described(
      looseObject({ ...search, answered: integer("Devices that answered.") }),
      "The run that is under way.",
    ),
    last: described(searchReport, "The last run that came to its end."),
    lastFailure: looseObject({ time: time(), message: text() }),
    nextRun: time("When the next run begins by itself."),
  },
  "running",
  "last",
  "lastFailure",
  "nextRun",
);

export const candidates = openObject({
  enabled: flag(),
  candidates: list(
    looseObject(
      {
        address: text(),
        source: choice(["lldp", "cdp", "arp", "flow"]),
        reason: text("Who names it."),
        state: choice(
          ["outside", "off", "waiting", "silent", "refused", "duplicate"],
          "Outside: no network allows it. Off: its source is not in SVC_INPUT_SNMP_DISCOVERY_CANDIDATES. Waiting: it is asked next. Else what the last try came to.",
        ),
        network: text("The network that allows it."),
        triedAt: time(),
      },
      "network",
      "triedAt",
    ),
    "In the order of addresses as texts.",
  ),
});

export const overview = object({
  at: integer("When, milliseconds since the epoch."),
  recentSeconds: number("How far `recent` looks back; 0 in the first answer."),
  recordsTotal: number("Flow records decoded since the start."),
  recordsPerSecond: numberOrNull("Over the last half minute; null in the first answer."),
  datagramsPerSecond: numberOrNull("The same of datagrams."),
  losses: list(
    object(
      {
        what: text(),
        of: text("The protocol, port, reason or output."),
        metric: text("The counter at /metrics."),
        unit: choice(["datagrams", "records", "samples", "bytes", "units"]),
        total: number("Since the start."),
        recent: number("Of these, in the last `recentSeconds`."),
      },
      "of",
    ),
    "Counters above zero, in the order of a record's way.",
  ),
});

export const fields = object({
  fields: list(
    object(
      {
        name: text(),
        type: text(),
        isArray: flag("Whether the value is an array."),
        unit: text(),
        description: text(),
        source: text("Where the value comes from: elements, structures, settings."),
        isAdded: flag("Whether enrichment adds it: nothing that an exporter or a device sends has it."),
      },
      "unit",
    ),
  ),
  patterns: list(object({ pattern: text(), description: text(), source: text(), isAdded: flag("As above.") })),
  shortNames: list(object({ name: text(), fields: list(text()), description: text() })),
});

export const progress = object({
  tasks: list(
    object(
      {
        id: integer("Unique in this run."),
        kind: choice(
          [
            "import",
            "import-check",
            "replace",
            "replace-check",
            "apply-definitions",
            "preview-definitions",
            "discover-networks",
          ],
          "A check is a dry run.",
        ),
        subject: text(),
        by: text("Who asked for it."),
        step: text(undefined, "reading", "comparing", "saving"),
        done: integer("How far the step is."),
        total: integer("How many there are; absent: not known."),
        unit: text(undefined, "entries", "characters"),
        startedAt: integer("Milliseconds since the epoch."),
      },
      "by",
      "total",
    ),
    "The oldest first.",
  ),
});

export const settings = object({
  version: text(),
  node: text("The version of Node.js."),
  instance: text(),
  startedAt: integer("Milliseconds since the epoch."),
  settings: list(
    object(
      {
        name: text(),
        group: text(),
        help: text(),
        expected: text("What a value may be."),
        value: text("As in a settings file. Absent: it is a secret."),
        isSecret: flag(),
        isSet: flag("Of a secret: whether there is one."),
        default: text(),
        origin: text("`default`, `environment`, a place in a file, a flag."),
      },
      "value",
      "isSecret",
      "isSet",
    ),
  ),
  unknown: list(text(), "Names that are no settings, with their origins."),
  warnings: list(text()),
  reload: described(looseObject({ readsAgain: list(text()), leavesAlone: list(text()) }), "What SIGHUP does now."),
  restart: described(
    looseObject({
      problems: list(text()),
      changes: list(
        looseObject(
          { name: text(), inForce: text(), next: text(), isSecret: flag(), origin: text() },
          "inForce",
          "next",
          "isSecret",
        ),
      ),
    }),
    "What a restart would change, because settings files have changed; or why it would fail.",
  ),
  packages: list(looseObject({ name: text(), version: text(), license: text() }), "What the program is shipped with."),
});

const changeCounts = looseObject({ added: integer(), changed: integer(), removed: integer(), unchanged: integer() });

const sourceRun = object(
  {
    at: integer("When it began, milliseconds since the epoch."),
    ms: integer("How long it took, milliseconds."),
    result: choice(["updated", "unchanged", "held", "failed"]),
    reason: text("Why it failed or is held."),
    code: text("Which kind of failure it was: the label `reason` of netgloss_source_failures_total."),
    missingScopes: list(text(), "Scopes that rows name and that there are not, the first of them: these rows wait."),
    rows: integer("Rows that were read."),
    faultyRows: integer("Rows that were left out."),
    faults: list(
      looseObject(
        {
          row: integer(),
          line: integer(),
          lines: integer("Lines from there on that could not be read because of it."),
          column: text(),
          field: text(),
          reason: text(),
        },
        "line",
        "lines",
        "field",
      ),
      "The first of them.",
    ),
    changes: described(changeCounts, "How many entries it changed, or would when it is held."),
  },
  "reason",
  "code",
  "missingScopes",
  "changes",
);

export const sources = object({
  enabled: flag(),
  sources: list(
    object(
      {
        name: text(undefined, "netbox"),
        kind: text(),
        place: text("URL without parameters, or path."),
        priority: integer("Lower comes first."),
        entries: integer("Entries in use."),
        state: choice(
          ["waiting", "restored", "working", "held", "failing"],
          "Restored: the last good copy is in use until the first run.",
        ),
        lastGood: integer("When entries last came or were confirmed, milliseconds since the epoch."),
        nextRun: integer("When it runs again, milliseconds since the epoch."),
        run: sourceRun,
      },
      "lastGood",
      "nextRun",
      "run",
    ),
  ),
});

const output = object(
  {
    name: text(undefined, "file", "http"),
    state: choice(
      ["connecting", "working", "failing", "restarting"],
      "Connecting: the store has not answered yet. Restarting: the output's thread died.",
    ),
    fault: text("What is wrong."),
    faultSince: instant("Since when"),
    blame: choice(["operator", "store"], "Who mends what is wrong with the store: somebody, or it passes by itself."),
    queueBytes: integer("Bytes in memory, what is being sent included."),
    waitingRecords: integer("Records in batches that are not delivered: in memory, on disk and being sent."),
    oldestAt: instant("When the oldest of them arrived"),
    spoolMode: choice(["off", "overflow", "always"]),
    spoolBytes: integer("Bytes that the spool has on disk."),
    spoolMaxBytes: integer("Bytes that it may have; 0 without one."),
    inFlight: integer("Batches that are being sent."),
    deliveredRecords: integer("Records that the store acknowledged, or that were written, in this run."),
    retriedRecords: integer("Records that had to be sent again, in this run."),
    refusedRecords: integer("Records that the store will never take, in this run."),
    droppedRecords: integer("Records that were lost, in this run."),
    drops: list(
      looseObject({
        reason: choice(
          ["queue_full", "closed", "stopped", "spool_full", "spool_damaged", "thread_died"],
          "As `netgloss_output_dropped_records_total` has it.",
        ),
        records: integer("In this run."),
      }),
      "Why they were lost.",
    ),
    latency: described(
      looseObject({ medianMs: number(), slowestMs: number() }),
      "How long the last 64 requests took, milliseconds.",
    ),
    refusals: list(
      looseObject({ reason: text(), records: integer("In this run."), at: instant("When last") }),
      "The last reasons for refusals in the words of the store, the newest first.",
    ),
    deadLetters: described(
      looseObject({
        records: integer("How many."),
        bytes: integer("Of their files."),
        isResending: flag("Whether they are being sent again."),
        reasons: list(
          looseObject({
            reason: text("In the words of the store, without what it says of single records."),
            records: integer("How many."),
            firstAt: instant("When the first was refused"),
            at: integer("When the last was."),
          }),
          "Why they were refused, the most frequent first.",
        ),
      }),
      "Refused records that are kept, and can be sent again; absent without a state directory.",
    ),
    canTest: flag("Whether it can be tested: it is an output to a store."),
  },
  "fault",
  "faultSince",
  "blame",
  "queueBytes",
  "waitingRecords",
  "oldestAt",
  "spoolMode",
  "spoolBytes",
  "spoolMaxBytes",
  "inFlight",
  "deliveredRecords",
  "retriedRecords",
  "refusedRecords",
  "droppedRecords",
  "drops",
  "latency",
  "refusals",
  "deadLetters",
  "canTest",
);

export const outputs = object({ outputs: list(output) });

/** The subject of rules: each record, or once an exporter or its interface of incoming or outgoing flows. */
export const ruleScope = choice(
  ["exporter", "in", "out", "record"],
  "What it is asked of: `record` is each record, the others are decided once.",
);

export const rules = object(
  {
    enabled: flag("Whether there are to be rules."),
    fault: text("Why the file cannot be used. The rules that were read before stay in use."),
    text: text("The file."),
    rules: list(
      object({ name: text(), of: ruleScope, fields: list(text(), "That it gives.") }),
      "In their order; none where the file cannot be used.",
    ),
  },
  "fault",
  "text",
);
