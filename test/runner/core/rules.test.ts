/** The rules for retries, waits, halts, states and identity. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sizeOfPart } from '../../../src/runner/checkpoint/due-scenes.ts';
import {
  assertAttemptMove,
  attemptMoves,
  endpointAddress,
  type AttemptState,
} from '../../../src/runner/core/attempt.ts';
import { endings } from '../../../src/runner/core/ending.ts';
import { failureRules, type FailureKind } from '../../../src/runner/core/failure.ts';
import {
  noSilence,
  isBlind,
  withSilence,
  haltReason,
  unreachableReason,
} from '../../../src/runner/core/halting.ts';
import { backoffMs, sceneAfter } from '../../../src/runner/core/retry-policy.ts';
import {
  filesAsked,
  kindOfFile,
  lackingText,
  noPicture,
  type FilePlace,
} from '../../../src/runner/core/picture.ts';
import {
  fingerprintOf,
  formatPart,
  sceneIdOf,
  sceneMoves,
  sentColumns,
  sentInput,
} from '../../../src/runner/core/scene.ts';
import { hasNoJob, hasNoWorker } from '../../../src/terminal/describe-ending.ts';

const settings = {
  attempts: 3,
  submissions: 10,
  firstWait: 1_000,
  longestWait: 60_000,
  unanswered: 'resubmit',
} as const;
const before = { failed: 0, unanswered: 0, expired: 0, failedKinds: [], digests: [] };
const at = { now: 0, random: 0.5, isOutage: false };

describe('the state of an attempt', () => {
  it('moves as the table says and no other way', () => {
    const states = Object.keys(attemptMoves) as AttemptState[];
    for (const from of states) {
      for (const to of states) {
        const isAllowed = (attemptMoves[from] as readonly string[]).includes(to);
        const move = (): void => assertAttemptMove(from, to);
        if (isAllowed) expect(move).not.toThrow();
        else expect(move).toThrow(`cannot move from ${from} to ${to}`);
      }
    }
  });

  it('names only states that exist, and every state can be reached', () => {
    for (const table of [attemptMoves, sceneMoves]) {
      const [first, ...others] = Object.keys(table);
      const reached = new Set([first, ...Object.values(table).flat()]);
      expect(reached).toEqual(new Set([first, ...others]));
    }
  });
});

describe('what follows a failure', () => {
  it('bounds the submissions of a scene, whatever the failures', () => {
    const kinds = fc.constantFrom(
      ...(Object.keys(failureRules) as FailureKind[]).filter(
        (kind) => !['stop', 'try-again', 'put-back'].includes(failureRules[kind].next),
      ),
    );
    fc.assert(
      fc.property(fc.infiniteStream(kinds), (stream) => {
        const history = { failed: 0, unanswered: 0, expired: 0, failedKinds: [] as string[], digests: [] };
        for (let submissions = 1; ; submissions++) {
          const kind = stream.next().value as FailureKind;
          const after = sceneAfter({ kind, text: '' }, history, settings, at);
          if (after.state === 'failed') return submissions <= settings.submissions;
          if (kind === 'unanswered' || kind === 'expired') history[kind] += 1;
          else {
            history.failed += 1;
            history.failedKinds.push(kind);
          }
          if (submissions > 100) return false;
        }
      }),
    );
  });

  it('gives a scene its attempts, and does not count attempts with an unknown result', () => {
    const job = { kind: 'job-failed', text: '' } as const;
    expect(sceneAfter(job, { ...before, failed: 1 }, settings, at).state).toBe('waiting');
    expect(sceneAfter(job, { ...before, failed: 2 }, settings, at).state).toBe('failed');
    expect(sceneAfter(job, { ...before, unanswered: 5, expired: 2 }, settings, at).state).toBe('waiting');
  });

  it('sets a scene aside at once when the very same damage comes again, and only then', () => {
    const damage = (digest: string) => ({ kind: 'bad-picture', text: '', digest }) as const;
    const once = { ...before, failed: 1, digests: ['aa'] };
    expect(sceneAfter(damage('aa'), once, settings, at).state).toBe('failed');
    expect(sceneAfter(damage('bb'), once, settings, at).state).toBe('waiting');
    expect(sceneAfter(damage('aa'), before, settings, at).state).toBe('waiting');
  });

  it('holds submissions that may run and bill if a person wants to decide', () => {
    const lost = { kind: 'unanswered', text: '' } as const;
    expect(sceneAfter(lost, before, settings, at).state).toBe('waiting');
    expect(sceneAfter(lost, before, { ...settings, unanswered: 'hold' }, at)).toEqual({
      state: 'failed',
      failure: lost,
    });
    const gone = { kind: 'expired', text: '' } as const;
    expect(sceneAfter(gone, before, { ...settings, unanswered: 'hold' }, at).state).toBe('waiting');
  });

  it('sets no scene aside while the service answers no request, and says that the limit is reached', () => {
    const lost = { kind: 'unanswered', text: '' } as const;
    const often = { ...before, unanswered: 9 };
    expect(sceneAfter(lost, often, settings, at).state).toBe('failed');
    expect(sceneAfter(lost, often, settings, { ...at, isOutage: true })).toMatchObject({
      state: 'waiting',
      isAtBound: true,
    });
  });
});

it('waits longer each time, never beyond the bound, and not at the same moment as the others', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 200 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (count, random) => {
        const wait = backoffMs(count, settings, random);
        const full = Math.min(60_000, 1_000 * 2 ** (count - 1));
        expect(wait).toBeGreaterThanOrEqual(Math.floor(full / 2));
        expect(wait).toBeLessThanOrEqual(full);
      },
    ),
  );
  expect(backoffMs(3, settings, 0)).not.toBe(backoffMs(3, settings, 0.9));
});

it.each([
  [{ baseUrl: 'https://host', id: 'ep', version: 'v2' }, 'https://host/v2/ep'],
  [
    { baseUrl: 'https://queue.fal.run', id: 'owner/model', version: 'fal' },
    'https://queue.fal.run/owner/model',
  ],
  [{ baseUrl: 'http://host:8000', id: '', version: 'fal' }, 'http://host:8000'],
  [{ baseUrl: 'http://host:8000', id: 'ep', version: 'dev' }, 'http://host:8000'],
])('the address of %j is %s', (endpoint, address) => {
  expect(endpointAddress(endpoint)).toBe(address);
});

it('a service has no worker if it says so of all that could work, and no job if it says so of both kinds', () => {
  const workers = [
    {},
    { idle: 0 },
    { running: 0, idle: 0, ready: 1 },
    { throttled: 3 },
    { running: 0, throttled: 3 },
  ];
  expect(workers.map((each) => hasNoWorker({ workers: each, jobs: {} }))).toEqual([
    false,
    true,
    false,
    false,
    true,
  ]);
  const jobs = [
    {},
    { inQueue: 0 },
    { inQueue: 0, inProgress: 1 },
    { inQueue: 1, inProgress: 0 },
    { inQueue: 0, inProgress: 0 },
  ];
  expect(jobs.map((each) => hasNoJob({ workers: {}, jobs: each }))).toEqual([
    false,
    false,
    false,
    false,
    true,
  ]);
});

it('a part of a batch is the smaller of the given limits, rounded up, and shown as given', () => {
  const parts = [{ share: 0.07 }, { share: 0.5, limit: 20 }, { limit: 500 }];
  expect(parts.map((part) => sizeOfPart(part, 100))).toEqual([7, 20, 100]);
  expect(parts.map(formatPart)).toEqual(['--sample 7%', '--sample 50% --limit 20', '--limit 500']);
});

it('if only values of a job are wanted, its whole output is kept', () => {
  const depth: FilePlace = { label: 'depth', kind: 'exr', at: ['depth'] };
  expect(filesAsked(noPicture, [])).toEqual([{ label: 'output', kind: 'json', at: [] }]);
  expect([filesAsked(noPicture, [depth]), filesAsked(undefined, [])]).toEqual([[depth], []]);
  expect(['a.depth.exr', 'a.exr.png', 'a'].map(kindOfFile)).toEqual(['exr', 'png', 'png']);
});

it('says which saved scenes lack a file, if any does', () => {
  expect(lackingText([])).toBeUndefined();
  expect(
    lackingText([
      { label: 'depth', scenes: 1 },
      { label: 'mesh', scenes: 2_000 },
    ]),
  ).toMatch(/^1 saved scene has no file depth, 2,000 saved scenes have no file mesh: saved before/);
});

it("a requested seed takes the place of the input's own, and of the column if there is one", () => {
  expect([sentInput({ seed: 1 }, 2), sentInput({ a: 1 }, undefined)]).toEqual([{ seed: 2 }, { a: 1 }]);
  expect([sentColumns({ seed: 1 }, 2), sentColumns({ a: 1 }, 2)]).toEqual([{ seed: 2 }, { a: 1 }]);
});

describe('a halt', () => {
  const last = { kind: 'job-failed', text: 'out of memory' } as const;
  const halt = { consecutive: 5, percent: 40, minimum: 10, unreachable: 60_000, refused: 30_000 };

  it('comes at the bound of failed attempts in a row, and says why', () => {
    expect(haltReason({ saved: 90, failed: 4, inARow: 4, last }, halt)).toBeUndefined();
    expect(haltReason({ saved: 90, failed: 5, inARow: 5, last }, halt)).toMatch(
      /5 attempts in a row.*out of memory/,
    );
  });

  it('comes at the share of failed attempts, once enough have finished', () => {
    expect(haltReason({ saved: 5, failed: 4, inARow: 1, last }, halt)).toBeUndefined();
    expect(haltReason({ saved: 61, failed: 39, inARow: 1, last }, halt)).toBeUndefined();
    expect(haltReason({ saved: 60, failed: 40, inARow: 1, last }, halt)).toMatch(/40 of 100 attempts/);
    expect(haltReason({ saved: 0, failed: 99, inARow: 1, last }, { ...halt, percent: 100 })).toBeUndefined();
  });

  it('comes when the service has been silent for long enough, not before', () => {
    const contact = withSilence(withSilence(noSilence, 1_000), 50_000);
    expect(unreachableReason('status', contact, 60_999, halt, '502')).toBeUndefined();
    expect(unreachableReason('status', contact, 61_000, halt, '502')).toMatch(
      /status requests for 1 min.*502/,
    );
    expect(unreachableReason('status', noSilence, 99_000_000, halt, '502')).toBeUndefined();
  });
});

it('nothing is submitted once five status requests in a row and a minute have brought nothing', () => {
  const silence = (requests: number) =>
    Array.from({ length: requests }).reduce<typeof noSilence>(
      (state) => withSilence(state, 1_000),
      noSilence,
    );
  expect([isBlind(silence(4), 99_000), isBlind(silence(5), 60_999), isBlind(silence(5), 61_000)]).toEqual([
    false,
    false,
    true,
  ]);
});

describe('the identity of a scene', () => {
  it('is its input whatever the order of the keys', () => {
    expect(fingerprintOf({ a: 1, b: { c: 2, d: [1, 2] } })).toBe(
      fingerprintOf({ b: { d: [1, 2], c: 2 }, a: 1 }),
    );
    expect(fingerprintOf({ a: [1, 2] })).not.toBe(fingerprintOf({ a: [2, 1] }));
    expect(fingerprintOf({ a: 1 })).not.toBe(fingerprintOf({ a: '1' }));
  });

  it('distinguishes inputs', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const same = fingerprintOf({ a: a as never }) === fingerprintOf({ a: b as never });
        // In JSON text, -0 and 0 are the same.
        expect(same).toBe(sorted(a) === sorted(b));
      }),
    );
  });

  it('numbers equal rows', () => {
    const print = fingerprintOf({ scene: 'sea' });
    expect(sceneIdOf(print, 1)).toMatch(/^[0-9a-f]{12}$/);
    expect(sceneIdOf(print, 2)).toBe(`${sceneIdOf(print, 1)}-2`);
  });
});

it('each ending has one exit code', () => {
  const codes = Object.values(endings).map(({ exitCode }) => exitCode);
  expect(new Set(codes).size).toBe(codes.length);
});

/** Returns JSON with sorted keys, by a second implementation. */
function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}:${sorted(inner)}`);
  return `{${entries.toSorted((a, b) => (a < b ? -1 : 1)).join(',')}}`;
}
