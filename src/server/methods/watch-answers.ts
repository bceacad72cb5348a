import {
  choice,
  constant,
  described,
  flag,
  instant,
  integer,
  list,
  map,
  number,
  object,
  text,
  type Value,
} from "./shape.ts";

const series = object({
  stepMs: number("Milliseconds of each step."),
  values: list(number(), "Oldest first."),
});

/** An alert of one rule and one key. */
export const alert = object(
  {
    id: text(),
    rule: text("The name of its rule."),
    key: map(text(), "The fields of the rule's `by` with their values."),
    state: choice(
      ["pending", "firing", "cleared"],
      "Pending: the condition holds, but not long enough. Cleared: it has ended.",
    ),
    since: instant("When what it is about began"),
    firedAt: instant("When it began to fire"),
    clearedAt: instant("When it ended"),
    value: number("The last value, in its unit."),
    peak: number("The greatest value."),
    limit: number("What the value was compared with when it fired, in its unit."),
    unit: text(undefined, "bits/s"),
    text: text("In the words of the rule."),
    top: map(
      list(object({ value: text(), share: number("0 to 1.") })),
      "By field the largest values of the records that it is about. Empty where they were not looked at; absent where evidence was not asked for.",
    ),
    series: described(series, "The values before it fired; absent where evidence was not asked for."),
    snoozed: object({ by: text("The user."), until: instant("Until when no notices of it are sent") }),
    untold: described(constant(true), "No notices were sent: it has a silence."),
    silence: object({ id: text(), until: instant("When it ends") }),
    acknowledged: object({ by: text("The user; empty where nobody has to sign in."), at: instant("When") }),
    note: text("How the value, or the limit, was come by, where that is not plain."),
    because: text("Why it ended where its value did not."),
  },
  "firedAt",
  "clearedAt",
  "limit",
  "top",
  "series",
  "note",
  "snoozed",
  "untold",
  "silence",
  "acknowledged",
  "because",
);

/** The answer about alerts. */
export const alerts = object({
  enabled: flag("Whether SVC_WATCH_RULES_PATH names rules."),
  firing: integer("How many alerts fire."),
  pending: integer("How many are pending."),
  cleared: integer("How many that have ended are kept."),
  matched: integer("How many of all of them are asked for; more than are listed where that is limited."),
  alerts: list(
    alert,
    "Up to 1000 of them: those that fire first, then the pending, then those that have ended, the newest first.",
  ),
});

/** A line of the stream of alerts. */
export const alertEvent = object(
  {
    id: text("Of this line, for who comes back."),
    at: instant("When it happened"),
    change: choice(
      ["list", "pending", "firing", "cleared", "gone", "acknowledged", "snoozed", "silenced", "resumed"],
      "List: all alerts, up to 1000, which take the place of those known before. Gone: it was pending, and the condition holds no more. Resumed: its silence or snooze has ended.",
    ),
    alert: described(alert, "As it is now, without evidence; absent in a list."),
    firing: integer("In a list: how many alerts fire."),
    pending: integer("In a list: how many are pending."),
    cleared: integer("In a list: how many that have ended are kept."),
    alerts: list(alert, "In a list: without evidence."),
  },
  "alert",
  "firing",
  "pending",
  "cleared",
  "alerts",
);

export type AlertStreamEvent = Value<typeof alertEvent>;

/** The answer about one alert. */
export const alertDetails = object(
  {
    alert: alert,
    recent: described(series, "The values up to now; absent where it has ended."),
    notices: list(
      object(
        {
          action: text("The name of the action."),
          kind: choice(["firing", "cleared", "summary"]),
          state: choice(
            ["waiting", "sent", "aside"],
            "Aside: the receiver refuses it though it takes others; it can be sent again.",
          ),
          at: instant("When it was taken or set aside"),
          because: text("Why the last try failed."),
        },
        "at",
        "because",
      ),
      "By action: the notices that were taken since the start, as far as they are remembered, and those that were not.",
    ),
  },
  "recent",
);

/** The parameters that select alerts. */
export const alertParameters = {
  state: "pending, firing, cleared, or several of them with commas between; all when left out.",
  rule: "The name of a rule.",
  filter:
    "An expression over the fields of keys, and alert.rule.name, alert.text, alert.value, alert.peak, as silences have.",
  from: "RFC 3339, or milliseconds since the epoch: those that went on then or later.",
  to: "The same: those that began before.",
  names:
    "A value of their key or one of the largest in their evidence; an address or a network is in those around it and has those in it, too.",
  limit: "How many to list, 1 to 1000.",
  evidence: "false: without series and top, which are most of an alert.",
} as const;

/** A silence: alerts for which no notices are sent for some time. */
export const silence = object({
  id: text(),
  filter: text("Over the fields of keys, and alert.rule.name, alert.text, alert.value, alert.peak."),
  from: instant("When it begins"),
  until: instant("When it ends"),
  by: text("The user; empty where nobody has to sign in."),
  comment: text(),
});

/** The answer about silences. */
export const silences = object({
  enabled: flag("Whether SVC_WATCH_RULES_PATH names rules."),
  silences: list(silence, "The newest first; those that have ended for a week."),
});

const match = object(
  {
    source: text("A prefix.", "198.51.100.0/24"),
    protocol: integer("Its number."),
    sourcePorts: list(integer()),
    destinationPorts: list(integer()),
    packetLength: object({ from: integer(), to: integer() }),
    fragment: flag("Parts of datagrams only."),
    syn: flag("Packets that ask for a connection only."),
  },
  "source",
  "protocol",
  "sourcePorts",
  "destinationPorts",
  "packetLength",
  "fragment",
  "syn",
);

const route = object(
  {
    kind: choice(["blackhole", "flowspec"]),
    prefix: text("The destinations.", "192.0.2.1/32"),
    nextHop: text("Of a blackhole.", "192.0.2.66"),
    communities: list(text(undefined, "65535:666")),
    match: match,
    bytesPerSecond: number("What may pass of a flowspec; 0 is nothing."),
  },
  "nextHop",
  "match",
  "bytesPerSecond",
);

const evidence = object(
  {
    takes: number("The part of the attack's bytes that the routes take, 0 to 1."),
    harms: number(
      "The part of the bytes of the hour before that they would have taken, 0 to 1; absent where too little is known of it.",
    ),
    fits: flag("Whether they take 95 % of the attack or more, and 1 % of the hour before or less."),
    attackRows: integer("Rows of the attack that this was chosen by."),
    usualRows: integer("Rows of before to the same destinations."),
    usualSeconds: integer("How long before is, up to an hour and some minutes."),
  },
  "harms",
);

/** The answer about routes against attacks. */
export const answers = object({
  enabled: flag("Whether SVC_WATCH_RULES_PATH names rules."),
  mode: choice(["dry-run", "approve", "automatic"], "SVC_WATCH_ANSWERS"),
  approvals: integer("How many users have to allow one."),
  answers: list(
    object(
      {
        id: text(),
        alert: text("The id of the alert."),
        rule: text("The name of its rule."),
        action: text("The action that answers it."),
        reason: text("The text of the alert."),
        routes: list(route),
        text: text("What the routes do, in words."),
        evidence: evidence,
        state: choice(
          ["proposed", "announcing", "announced", "withdrawing", "ended", "refused"],
          "Announcing and withdrawing: the speaker has not taken it yet. Refused: it is never announced.",
        ),
        because: text("Why it waits, is refused, or has ended."),
        proposedAt: instant("When it was proposed"),
        allowed: list(object({ by: text("The user; `automatic` by SVC_WATCH_ANSWERS."), at: instant("When") })),
        announcedAt: instant("When the speaker took it"),
        endsAt: instant("When it is withdrawn if it is not renewed"),
        endedAt: instant("When it was withdrawn"),
        endedBy: text("Who had it withdrawn, where somebody did."),
        fault: text("Why the speaker did not do what it was asked for, the last time."),
        speaker: text("The name of what announces it."),
      },
      "evidence",
      "because",
      "announcedAt",
      "endsAt",
      "endedAt",
      "endedBy",
      "fault",
    ),
    "The newest first.",
  ),
});

/** The answer about rules and actions. */
export const watchState = object(
  {
    enabled: flag("Whether SVC_WATCH_RULES_PATH names rules."),
    fault: text("What is wrong with the file of rules, or with keeping alerts."),
    rules: list(
      object(
        {
          name: text(),
          keys: integer("How many keys are watched at present."),
          firing: integer("Alerts that fire."),
          refused: integer("Records of keys that were more than there may be."),
          history: text("How much it knows of the time before, where it needs that."),
          act: list(text(), "The actions that get notices."),
        },
        "history",
      ),
    ),
    actions: list(
      object(
        {
          name: text(),
          waiting: integer("Notices that it has not taken yet."),
          sent: integer("Notices that it took."),
          failures: integer("Tries that failed."),
          dropped: integer("Notices that were lost."),
          aside: integer("Notices that it refuses though it takes others; they can be sent again."),
          fault: text("Why the last try failed."),
        },
        "fault",
      ),
    ),
  },
  "fault",
);
