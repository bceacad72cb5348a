import { randomBytes } from "node:crypto";
import { workerData } from "node:worker_threads";
import { nodeFileIo } from "../../base/file/index.ts";
import { createMetrics, systemClock } from "../../base/report/index.ts";
import { SamplingJudge } from "../../explore/sampling/index.ts";
import {
  AnswerRefusal,
  openSpeaker,
  Watch,
  type AlertQuery,
  type Answer,
  type FleetAnswer,
  type FleetSession,
} from "../../watch/index.ts";
import type { Decision, PostedLetter, WatchNote, WatchRequest, WatchThreadData } from "./watch-output.ts";
import { FeedInbox } from "./record-feed.ts";
import { postNote, serveThread, threadLog } from "./thread.ts";

// The thread of Watch: it counts lines of records by rules, and evaluates the rules once a second.

/** The poll interval: an alert has to come within two seconds of its cause. */
const lookMs = 100;
const idBytes = 9;

const { watch: options, feed, others, logLevel } = workerData as WatchThreadData;
const metrics = createMetrics();
const newId = (): string => randomBytes(idBytes).toString("base64url");
const watch = new Watch(
  options,
  {
    clock: systemClock,
    log: threadLog(logLevel),
    metrics,
    io: nodeFileIo,
    newId,
    openSpeaker,
    onRecord: (record) => postNote({ record } satisfies WatchNote),
    onNews: (events) => postNote({ events } satisfies WatchNote),
    onFault: (fault) => postNote({ fault: fault ?? null } satisfies WatchNote),
  },
  newId().replaceAll(/[^A-Za-z0-9]/g, "x"),
);
const judge = new SamplingJudge(feed.sampling, feed.rates);
const inbox = new FeedInbox(feed.lines, (lines, records) => watch.take(lines, records));
const othersInbox = new FeedInbox(others.lines, (lines) => watch.takeOthers(lines));
metrics.counterFrom(
  "netgloss_watch_sampled_out_records_total",
  "Records that rules were not asked about because others stood for them: more came than the thread could take.",
  [],
  () => [[{}, judge.sampledOut]],
);
let looking: NodeJS.Timeout | undefined;
const look = (): void => {
  judge.adapt(inbox.backlog(), systemClock.monotonic());
  // Take records of devices first: they are few, however many flows come.
  const isAll = othersInbox.take() && inbox.take();
  looking = setTimeout(look, isAll ? lookMs : 0);
};

/** Returns a refusal as an answer: an error would lose its class between threads. */
function decide(decision: () => Answer | undefined): Decision {
  try {
    return { answer: decision() };
  } catch (error) {
    if (error instanceof AnswerRefusal) return { refused: error.message };
    throw error;
  }
}

serveThread({
  async start() {
    await watch.start();
    look();
  },
  find: (query: AlertQuery) => watch.alerting.find(query),
  alert: (id: string) => watch.alert(id),
  status: () => watch.status(),
  sources: () => watch.sources(),
  acknowledge: ({ id, by }: WatchRequest) => watch.alerting.acknowledge(id, by),
  silences: () => watch.alerting.silences(),
  snooze: ({ id, by, given }: WatchRequest) => watch.alerting.snooze(id, by, given),
  silence: ({ by, given }: WatchRequest) => watch.alerting.silence(by, given),
  endSilence: ({ id, by }: WatchRequest) => watch.alerting.endSilence(id, by),
  test: (name: string) => watch.alerting.test(name),
  letterActions: () => watch.alerting.notifier.letterActions(),
  post: ({ action, letter }: PostedLetter) => watch.alerting.notifier.post(action, letter),
  takeBack: (id: string) => watch.alerting.notifier.takeBackLetter(id),
  answers: () => watch.answers.list(),
  allow: ({ id, by, isToken }: WatchRequest) => decide(() => watch.answers.allow(id, by, isToken !== true)),
  withdraw: ({ id, by }: WatchRequest) => decide(() => watch.answers.withdraw(id, by)),
  resend: (name: string) => watch.alerting.notifier.resend(name),
  fleetRound: (me: FleetSession) => watch.fleetRound(me),
  fleetTake: (answer: FleetAnswer | undefined) => watch.fleetTake(answer),
  goAlone: (why: string | undefined) => watch.goAlone(why),
  reload: () => watch.reload(),
  metrics: () => metrics.families(),
  stop() {
    clearTimeout(looking);
    while (!othersInbox.take());
    while (!inbox.take());
    return watch.stop();
  },
});
