import { choice, constant, described, flag, instant, integer, list, map, number, object, text } from "./shape.ts";

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
    unit: text(undefined, "bits/s"),
    text: text("In the words of the rule."),
    top: map(
      list(object({ value: text(), share: number("0 to 1.") })),
      "By field the largest values of the records that it is about. Empty where they were not looked at.",
    ),
    series: object({
      stepMs: number("Milliseconds of each step."),
      values: list(number(), "The values before it fired, oldest first."),
    }),
    snoozed: object({ by: text("The user."), until: instant("When it is told again") }),
    untold: described(constant(true), "Nobody was told: it has a silence."),
    silence: object({ id: text(), until: instant("When it ends") }),
    acknowledged: object({ by: text("The user; empty where nobody has to sign in."), at: instant("When") }),
    note: text("How the value, or the limit, was come by, where that is not plain."),
    because: text("Why it ended where its value did not."),
  },
  "firedAt",
  "clearedAt",
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
  alerts: list(alert, "Those that have not ended first, then the newest first."),
});

/** Alerts of which nobody is told for a time. */
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
