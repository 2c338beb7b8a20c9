// What the gateway answers to `GET /v1/analysis` after a day of sessions, which no test can wait for.

import { NEW, OLD } from "./open.mjs";

const counts = (sessions, failed, requests) =>
  ({ sessions, failed, completed: Math.round(sessions * 0.62), slow: 5, requests, failed_requests: failed });

export const ANALYSIS = {
  revision: 1800000018,
  step_revision: 1800000017,
  since: 1800000100,
  now: 1800000850,
  min_effect: 0.01,
  alpha: 0.05,
  measures: ["failures"],
  abort_on_worse: false,
  stable: { group: OLD, counts: counts(10981, 111, 88213) },
  canaries: [{
    group: NEW,
    counts: counts(1204, 38, 9610),
    verdict: "worse",
    needed: 0,
    failures: { canary: 0.0316, stable: 0.0101, difference: 0.0215, lower: 0.0103, upper: 0.0433, alpha: 0.05, verdict: "worse", needed: 0 },
    completions: { canary: 0.613, stable: 0.62, difference: -0.007, lower: -0.051, upper: 0.038, alpha: 0.05, verdict: "not_enough_yet", needed: 900 },
    slow: { canary: null, stable: 0.004, difference: null, lower: -1, upper: 1, alpha: 0.05, verdict: "not_enough_yet", needed: null },
    naive: { canary: 0.004, stable: 0.0083, difference: -0.0043, off: -0.0258 },
  }],
};
