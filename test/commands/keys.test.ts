/**
 * Promise: keys are listed as a table if the terminal is wide enough. On a narrow terminal, nothing is lost.
 */
import { expect, it } from 'vitest';
import { widthOf } from '../../src/terminal/fit-text.ts';
import { keyLines } from '../../src/commands/keys.ts';
import { noLimits } from '../../src/service/model/key.ts';

const at = new Date(2026, 10, 21, 22, 5, 59).getTime();
const noTerms = {
  limits: noLimits,
  quotaMs: null,
  price: null,
  hasOwnJobsOnly: false,
  isReadOnly: false,
  lastUsedFrom: null,
  expiresAt: null,
};
const unused = { usage: [], createdAt: at, lastUsedAt: null, revokedAt: null, ...noTerms };
const keys = [
  { id: 'key-1', name: 'laptop', kind: 'client' as const, endpoints: null, ...unused },
  {
    id: 'key-2',
    name: 'attic',
    kind: 'worker' as const,
    endpoints: ['scene-renderer', 'b'],
    ...unused,
    lastUsedAt: at + 60_000,
    revokedAt: at + 120_000,
    usage: [
      { endpointId: 'scene-renderer', jobs: 1_200, gpuMs: 3_600_000 },
      { endpointId: 'b', jobs: 1, gpuMs: 40 },
    ],
  },
];

it('the list of keys has a line for each key', () => {
  expect(keyLines(keys, 120)).toEqual([
    'NAME    KIND    ENDPOINTS          CREATED           LAST USED         JOBS   WORKER SECONDS  REVOKED',
    'laptop  client  all endpoints      2026-11-21 22:05  never             0      0.0',
    'attic   worker  scene-renderer, b  2026-11-21 22:05  2026-11-21 22:06  1,201  3,600.0         2026-11-21 22:07',
  ]);
});

it('the list of keys shows the usage of a key from the environment, of which nothing else is stored', () => {
  const unknown = { createdAt: null, lastUsedAt: null, revokedAt: null, ...noTerms };
  const usage = [{ endpointId: 'b', jobs: 2, gpuMs: 1_500 }];
  const given = {
    id: 'given-1',
    name: 'given-1',
    kind: 'admin' as const,
    endpoints: null,
    ...unknown,
    usage,
  };
  expect(keyLines([given], 120)).toEqual([
    'NAME     KIND   ENDPOINTS      CREATED              LAST USED  JOBS  WORKER SECONDS  REVOKED',
    'given-1  admin  all endpoints  NIGHTRENDER_API_KEY  not kept   2     1.5',
  ]);
  expect(keyLines([given], 60)).toEqual([
    'given-1',
    '  admin for all endpoints; from NIGHTRENDER_API_KEY; 2 jobs',
    '  of 1.5 worker seconds',
  ]);
});

it('the list of keys shows cost and limits if any key has a price or a quota', () => {
  const usage = [{ endpointId: 'b', jobs: 2, gpuMs: 1_500 }];
  const terms = { quotaMs: 36_000_000, price: 0.5 };
  const night = {
    ...unused,
    id: 'key-3',
    name: 'night',
    kind: 'client' as const,
    endpoints: null,
    usage,
    ...terms,
  };
  expect(keyLines([night], 120)[1]).toMatch(/ 2 +1\.5 +0\.75 USD +10h a day$/);
  expect(keyLines([night], 60).join(' ')).toContain('0.75 USD; 10h a day');
  expect(keyLines(keys, 120)[0]).not.toContain('QUOTA');
  const guest = {
    ...night,
    isReadOnly: true,
    lastUsedAt: at,
    lastUsedFrom: '10.0.0.7',
    expiresAt: at + 60_000,
  };
  expect(keyLines([guest], 200)[1]).toMatch(
    /^night +client, read-only +all.* 2026-11-21 22:05 from 10\.0\.0\.7 +2 .* 2026-11-21 22:06$/,
  );
  expect(keyLines([guest], 60).join(' ')).toMatch(/from 10\.0\.0\.7;.* valid until +2026-11-21 22:06/);
  expect(keyLines([{ ...night, hasOwnJobsOnly: true }], 120)[1]).toMatch(/^night +client, own jobs +all/);
});

it('the list of keys breaks its lines between words on a narrow terminal', () => {
  const lines = keyLines(keys, 60);
  expect(lines).toEqual([
    'laptop',
    '  client for all endpoints; created 2026-11-21 22:05; never',
    '  used',
    'attic',
    '  worker for scene-renderer, b; created 2026-11-21 22:05;',
    '  last used 2026-11-21 22:06; 1,201 jobs of 3,600.0 worker',
    '  seconds; revoked 2026-11-21 22:07',
  ]);
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(60);
});
