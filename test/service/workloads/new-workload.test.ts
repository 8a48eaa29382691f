/**
 * Promise: a new kind of workload needs only an entry in the table. It then has a schema, checks, a form,
 * messages and workers.
 */
import { Ajv } from 'ajv';
import { expect, it, vi } from 'vitest';
import { endpointFields } from '../../../src/service/config/check-endpoint.ts';
import { serviceJsonSchema } from '../../../src/service/config/service-schema.ts';
import { endpointSettings } from '../../../src/service/model/endpoint-settings.ts';
import { isNamedBy, readAllowed, workloadOf } from '../../../src/service/workloads/workload-of.ts';
import { endpointProblemsOf, serviceOf } from '../../runner/config/service-file.ts';
import { enter, openWithConsole } from '../console/visit.ts';

vi.mock(import('../../../src/service/workloads/workloads.ts'), async (importOriginal) => {
  const { workloads } = await importOriginal();
  const { z } = await import('zod');
  const { at, defineWorkload, noCluster } =
    await import('../../../src/service/workloads/workload-definition.ts');
  const { inProcessWorkload } = await import('../in-process-workload.ts');
  const echo = defineWorkload({
    key: 'echo',
    fields: {
      echo: z.string('a word').meta({ title: 'Word', description: 'the word that is said again' }),
      loudness: z.int('a number').default(1).describe('how often it is said'),
    },
    elsewhere: { loudness: 'none: only an echo is loud' },
    without: { ...noCluster, 'gpu.devices': 'no devices, since an echo computes nothing' },
    choice: { title: 'Echo', means: 'Says a word again.' },
    gpu: 'needs no GPU',
    words: (settings) => `Echo of ${settings.echo}`,
    allowed: { notation: 'echo:WORD', beginnings: ['echo:'], read: (text) => ({ echo: text.slice(5) }) },
    nameElsewhere: ({ echo: word }) => `echo:${word}`,
    problems: (settings) => at('echo', settings.echo === '' ? 'a word that is not empty' : undefined),
    start: (settings) =>
      inProcessWorkload('echo', () => Promise.resolve(settings.echo.repeat(settings.loudness))),
  });
  return { workloads: [...workloads, echo] };
});

it('a new kind is read from service.yaml, and known to editors', () => {
  const { settings } = serviceOf('endpoints: [{name: A, echo: ho, loudness: 2, workers: 3}]');
  expect(settings.endpoints).toMatchObject([{ id: 'a', echo: 'ho', loudness: 2, workers: { max: 3 } }]);
  const isValid = new Ajv({ strict: false }).compile(serviceJsonSchema());
  const withKeys = (keys: object): boolean => isValid({ endpoints: [{ name: 'A', ...keys }] });
  expect(withKeys({ echo: 'ho', loudness: 2 })).toBe(true);
  expect(withKeys({ echo: 'ho', remote: true })).toBe(false);
  expect(withKeys({ remote: true, loudness: 2 })).toBe(false);
});

it.each([
  ['echo: 5', 'echo is 5; expected a word'],
  ['echo: ""', 'echo is ""; expected a word that is not empty'],
  ['remote: true, loudness: 2', 'loudness is 2; expected none: only an echo is loud'],
  ['echo: ho, memory: 1GB', 'memory is "1GB"; expected no memory limit: only an image, '],
  ['echo: ho, arguments: [--init]', 'arguments is a list; expected none: only an image takes options'],
  ['echo: ho, gpu: {devices: [0]}', 'gpu.devices is a list; expected no devices, since an echo computes'],
  [
    'workers: 1',
    'is keys and values; expected exactly one of quickDeploy, image, command, module, comfyui, ',
  ],
])('refuses {%s} with a message', (keys, problem) => {
  const expected = endpointProblemsOf(keys).map(() => expect.stringContaining(problem) as string);
  expect(endpointProblemsOf(keys)).toEqual(expected);
  expect(expected).not.toEqual([]);
});

it('a new kind is run by `nightrender work` if --allow names it', () => {
  const read = readAllowed('scene, echo:ho, ho, image:acme/box:1');
  const workloads = 'workloads' in read ? read.workloads : [];
  expect(workloads.map(({ keys }) => keys)).toEqual([
    { quickDeploy: 'scene-renderer' },
    { echo: 'ho, ho' },
    { image: 'acme/box:1' },
  ]);
  expect(workloads.map((each) => isNamedBy(each, 'echo:ho, ho'))).toEqual([false, true, false]);
  const misspelt = { text: 'eco:ho', expected: expect.stringContaining(' or echo:WORD') as string };
  expect(readAllowed('eco:ho')).toEqual(misspelt);
});

it('a new kind has the fields that it takes in the form of the console', () => {
  const form = endpointFields(1).workloads.find(({ key }) => key === 'echo');
  expect(form).toMatchObject({ choice: { title: 'Echo' }, gpu: 'needs no GPU', isElsewhere: false });
  const keys = form?.cards.map(({ title, fields }) => [title, fields.map(([key]) => key)]);
  expect(keys).toEqual([
    ['Workload', ['echo', 'loudness']],
    ['Workers and GPU', ['workers', 'quickStart', 'gpu']],
    ['Cluster, memory and processors', []],
    ['Limits of jobs', ['executionTimeout', 'ttl', 'retries', 'maxQueued']],
    ['Replacing workers', ['recycle', 'stall']],
    ['Environment', ['environment']],
    ['More', []],
  ]);
  expect(form?.cards[0]?.fields[0]?.[1]).toMatchObject({ title: 'Word' });
  expect(JSON.stringify(form)).not.toContain('"devices"');
});

it('a new kind is created in the console, described there, and does jobs', async () => {
  const service = await openWithConsole({
    workloadOf: (settings, context) => {
      const containerTool = () => Promise.reject(new Error('none is needed'));
      return workloadOf(settings).start?.(settings, { ...context, containerTool, serviceId: '' });
    },
    endpoints: [endpointSettings({ id: 'given', workers: 0 })],
  });
  const visit = await enter(service.url);
  const asked = { name: 'Mine', echo: 'ho', loudness: 3 };
  const { status, body } = await visit.ask('POST', 'endpoints', asked);
  expect([status, body]).toMatchObject([201, { settings: asked, runs: 'Echo of ho' }]);
  const job = await visit.submit('mine', { any: 'thing' });
  expect((await visit.jobOnce(job, ({ output }) => output !== null)).output).toBe('"hohoho"');
});
