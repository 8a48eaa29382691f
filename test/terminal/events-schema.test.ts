/** Promise: every event of a run matches the published JSON Schema. */
import { Ajv } from 'ajv';
import { expect, it } from 'vitest';
import type { JsonValue } from '../../src/lib/text/json.ts';
import type { Failure } from '../../src/runner/core/failure.ts';
import { eventLines, eventsSchema } from '../../src/terminal/event-lines.ts';
import { manifestOf, World } from '../fakes/world.ts';
import { checkLine } from './check-line.ts';
import { jsonLine } from '../../src/terminal/terminal.ts';

const list = manifestOf(Array.from({ length: 12 }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]));

it('the schema of events allows added lines and fields, and describes each line', () => {
  const isValid = new Ajv({ strictTypes: false }).compile(eventsSchema());
  const at = '2026-11-21T21:45:00.000Z';
  expect(isValid({ type: 'warning', at, text: 'mind', hint: 'new' })).toBe(true);
  expect(isValid({ type: 'moon-rises', at })).toBe(true);
  expect(isValid({ type: 'warning', at })).toBe(false);
  expect(isValid({ type: 'warning', at: 'today', text: 'mind' })).toBe(false);
  for (const { description } of Object.values(eventLines)) expect(description).toMatch(/\w/);
});

const broken: Failure = { kind: 'job-failed', text: 'FAILED: out of memory' };

/**
 * Returns a world in which most scenes are saved, some fail once or for good, an answer is lost, and some
 * polls fail.
 */
function troubledWorld(): World {
  const world = new World((scene, nth) => {
    if (scene === 'scene 3') return { failure: broken };
    if (scene === 'scene 5' && nth === 1) return { isAnswerLost: true };
    return { executionMs: 6_000, ...(scene === 'scene 7' && nth === 1 && { failure: broken }) };
  });
  let asked = 0;
  world.service.instead.status = () => {
    asked += 1;
    if (asked % 9 !== 4) return undefined;
    return { kind: 'failure', failure: { kind: 'poll-failed', text: 'the service answered 502' } };
  };
  const health = { workers: { running: 2 }, jobs: { inQueue: 3 } };
  world.service.instead.health = () => ({ kind: 'answers', health });
  return world;
}

it('the schema of events holds for troubled, resumed, halted, stopped and cancelled nights', async () => {
  const pricing = { perSecond: 0.001, currency: 'USD' };
  const settings = { service: { kind: 'jobs' }, pricing, limits: { cost: 5 } };
  const world = troubledWorld();
  await world.run({ manifest: list, settings, until: 7_000 });
  await world.run({ manifest: list, settings });
  const halting = new World(() => ({ failure: broken }));
  await halting.run({ manifest: list, settings: { halt: { ...strictHalt } } });
  const cancelled = troubledWorld();
  await cancelled.run({ manifest: list, settings, until: 3_000 });
  await cancelled.cancel({ settings });
  const refused = new World();
  let asked = 0;
  const once = { kind: 'key-refused', text: '401' } as const;
  refused.service.instead.status = () => (++asked === 9 ? { kind: 'failure', failure: once } : undefined);
  await refused.run({ manifest: list, settings });
  const events = [world, halting, cancelled, refused].flatMap((each) => each.events);
  for (const { type, ...facts } of events) {
    checkLine(JSON.parse(JSON.stringify(jsonLine(type, facts, 0))) as JsonValue);
  }
  expect(new Set(events.map(({ type }) => type))).toEqual(
    new Set([
      'plan-made',
      'recovered',
      'scene-submitted',
      'job-status',
      'scene-saved',
      'attempt-failed',
      'request-troubled',
      'access-refused',
      'access-regained',
      'service-health',
    ]),
  );
});

const strictHalt = { consecutive: 3, percent: 50, minimum: 50, unreachable: 60_000, refused: 30_000 };
