/** Values of a valid pipeline.yaml: quantities, URLs, paths, defaults and warnings. */
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { pricingOf } from '../../../src/runner/core/spending.ts';
import { readConfig } from '../../../src/runner/config/read-config.ts';
import { noProxies } from '../../../src/lib/net/addresses.ts';
import { configOf, marked, placesOf, problemsOf, withRequired, writePipeline } from './pipeline-file.ts';

const env = { NIGHTRENDER_API_KEY: 'key' };

function remote(baseUrl: string): string {
  return withRequired('').replace('local', JSON.stringify(baseUrl));
}

it('every key except manifest, endpoint and folder has a default', () => {
  const file = writePipeline(withRequired(''));
  const { placeOf, output, ...config } = readConfig(file, [], env);
  expect(placeOf(['output', 'dir'])).toMatch(/pipeline\.yaml:6:8$/);
  expect(output.name).toBeUndefined();
  expect({ ...config, dir: output.dir }).toEqual({
    file,
    folder: dirname(file),
    env,
    manifest: [join(dirname(file), 'scenes.csv')],
    manifestFiles: [{ path: join(dirname(file), 'scenes.csv'), at: ['manifest'] }],
    isManifestOverridden: false,
    endpoint: { baseUrl: 'local', id: 'scene-renderer', version: 'v2' },
    service: { kind: 'jobs' },
    apiKey: undefined,
    input: undefined,
    columns: new Map(),
    encoding: undefined,
    scenes: undefined,
    proxy: 'public',
    proxies: noProxies,
    concurrency: 16,
    // The service runs on this machine, so more jobs in flight would not bring more workers.
    maxConcurrency: 0,
    retry: {
      attempts: 3,
      submissions: 10,
      firstWait: 2_000,
      longestWait: 120_000,
      unanswered: 'resubmit',
    },
    polling: { lag: 0.05, shortest: 10, longest: 30_000 },
    halt: { consecutive: 20, percent: 50, minimum: 50, unreachable: 1_800_000, refused: 30_000 },
    rate: { submit: { atOnce: 200, perTenSeconds: 1_000 }, status: { atOnce: 400, perTenSeconds: 2_000 } },
    notify: [],
    timeouts: { request: 30_000, queue: 3_600_000, execution: 1_800_000 },
    freshness: 150_000,
    keepsMs: 1_800_000,
    limits: {
      body: 64_000_000,
      download: 2_000_000_000,
      kept: 2_000_000_000,
      memory: 64_000_000,
      pixels: 100_000_000,
    },
    check: { blank: false, decode: false },
    report: { thumbnails: true, every: 300_000, bom: false, separator: ',' },
    shutdown: { grace: 10_000 },
    terminal: { json: false, quiet: false, stats: false },
    skipBadRows: false,
    skipRepeatedRows: false,
    allowFewer: false,
    statuses: {},
    outputDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
    warnings: [],
    dir: join(dirname(file), 'renders'),
  });
});

it.each([
  ['250ms', 250],
  ['30s', 30_000],
  ['5m', 300_000],
  ['2h', 7_200_000],
  ['1.5h', 5_400_000],
  [' 1 d ', 86_400_000],
])('the duration %j', (text, ms) => {
  expect(configOf(withRequired(`timeouts: {queue: "${text}"}`)).timeouts.queue).toBe(ms);
});

it.each(['30', '30S', '-5s', '5 constructor', '1e3s', '1h30m', '', 's', '99999999999999999999d'])(
  'no duration: %j',
  (text) => {
    expect(placesOf(problemsOf(withRequired(`limits: {for: "${text}"}`)))).toEqual(['7:15']);
  },
);

it.each([
  ['500kB', 500_000],
  ['64MB', 64_000_000],
  ['128MiB', 134_217_728],
  ['2000B', 2_000],
])('the size %s', (text, bytes) => {
  expect(configOf(withRequired(`limits: {body: ${text}}`)).limits.body).toBe(bytes);
});

it.each([
  ['never', undefined],
  ['90s', 90_000],
])('a report every %s', (text, ms) => {
  expect(configOf(withRequired(`report: {every: ${text}}`)).report.every).toBe(ms);
});

it.each(['64', '64Mb', '64 M', '-1MB', '5 constructor'])('no size: %s', (text) => {
  expect(placesOf(problemsOf(withRequired(`limits: {body: "${text}"}`)))).toEqual(['7:16']);
});

it.each([
  ['https://api.example.com', 'https://api.example.com'],
  ['https://api.example.com/', 'https://api.example.com'],
  ['https://api.example.com/some/prefix//', 'https://api.example.com/some/prefix'],
  ['HTTPS://API.Example.com:443', 'https://api.example.com'],
  ['http://127.0.0.1:4747', 'http://127.0.0.1:4747'],
  ['http://[::1]:80/x/', 'http://[::1]/x'],
])('the address %s is one spelling of a service', (baseUrl, endpoint) => {
  expect(configOf(remote(baseUrl), { env }).endpoint.baseUrl).toBe(endpoint);
});

it.each([
  ['ftp://api.example.com', 'beginning with http:// or https://'],
  ['api.example.com', 'beginning with http:// or https://'],
  ['Local', 'beginning with http:// or https://'],
  ['', 'beginning with http:// or https://'],
  ['https:api.example.com', 'beginning with http:// or https://'],
  [' https://api.example.com', 'beginning with http:// or https://'],
  ['https://api.example.com/a b', 'beginning with http:// or https://'],
  ['https://api.example.com?', 'without ? and #'],
  ['https://api.example.com/?a=b', 'without ? and #'],
  ['https://api.example.com/#a', 'without ? and #'],
  ['https://user@api.example.com', 'the key belongs in apiKey'],
  ['https://:@api.example.com', 'the key belongs in apiKey'],
  ['https://:', 'http(s) URL'],
  [
    'https://api.example.com/v2/',
    'expected https://api.example.com alone; nightrender adds the version and the id',
  ],
])('no address: %j', (baseUrl, expected) => {
  expect(problemsOf(remote(baseUrl), { env })).toEqual([
    expect.stringMatching(/^3:12: endpoint.baseUrl is (""|"\w+"|"[^"]{1,14}"|not valid); expected /),
  ]);
  expect(problemsOf(remote(baseUrl), { env })[0]).toContain(expected);
});

it.each(['v1', 'v2'])('the version %s', (version) => {
  expect(configOf(withRequired('').replace('local', `local\n  version: ${version}`)).endpoint.version).toBe(
    version,
  );
});

it.each(['v3', '2', 'V2'])('no version: %s', (version) => {
  const problems = problemsOf(withRequired('').replace('local', `local\n  version: ${version}`));
  expect(problems).toEqual([expect.stringMatching(/^4:12: endpoint.version is .*; expected v1, v2 or dev$/)]);
});

it.each([
  ['http://render.example.com', 1],
  ['HTTP://10.0.0.7:8000', 1],
  ['http://127.example.com', 1],
  ['https://render.example.com', 0],
  ['http://localhost:4747', 0],
  ['http://127.0.0.1:4747', 0],
  ['http://[::1]:4747', 0],
])('plain http to another machine warns: %s', (baseUrl, count) => {
  const { warnings } = configOf(remote(baseUrl), { env });
  expect(warnings).toHaveLength(count);
  for (const warning of warnings) expect(warning).toMatch(/pipeline\.yaml:3:12: plain http/);
});

it('manifests are relative to the file, one or several, and - is standard input', () => {
  const file = writePipeline(withRequired('').replace('scenes.csv', `[../a.csv, '-', /lists/b.csv]`));
  expect(readConfig(file, [], env).manifest).toEqual([
    join(dirname(dirname(file)), 'a.csv'),
    '-',
    '/lists/b.csv',
  ]);
});

it.each(['7:00', '24:00', '07:60', '07', 'morning'])('an invalid time of day is refused: %j', (text) => {
  expect(placesOf(problemsOf(withRequired(`limits: {until: "${text}"}`)))).toEqual(['7:17']);
});

it('a limit of the cost requires a price', () => {
  const [problem] = problemsOf(withRequired('limits: {cost: 5}'));
  expect(problem).toContain('pricing.perSecond');
  const priced = configOf(withRequired('limits: {cost: 5}\npricing: {perSecond: 0.0004}'));
  expect(priced).toMatchObject({ limits: { cost: 5 }, pricing: { perSecond: 0.0004, currency: 'USD' } });
  const more = 'pricing: {perPicture: 0.003, perMegapixel: 0.01, currency: EUR, expect: 8s}';
  const pricing = { perPicture: 0.003, perMegapixel: 0.01, currency: 'EUR', expect: 8_000 };
  const config = configOf(withRequired(`limits: {cost: 5}\n${more}`));
  expect(config.pricing).toEqual(pricing);
  expect(pricingOf(config)).toMatchObject({ perPicture: 0.003, expectMs: 8_000, maxMs: 1_800_000 });
});

it('the path of a price that the service states is the default, except if none does', () => {
  const config = configOf(withRequired('limits: {cost: 5}\npricing: {at: "output[0].cost"}'));
  expect(pricingOf(config)).toMatchObject({ at: 'output[0].cost' });
  for (const at of ['output.', '[x]', '"output[*].cost"', '""', '"a\\tb"', `${'a'.repeat(32)}.`])
    expect(problemsOf(withRequired(`pricing: {at: ${at}}`)).join()).toContain(
      'the path of one price, such as',
    );
});

it('accepts an expected time without a price, but no pricing without either', () => {
  const timed = configOf(withRequired('pricing: {expect: 8s}'));
  expect(timed.pricing?.expect).toBe(8_000);
  expect(pricingOf(timed)).toBeUndefined();
  expect(placesOf(problemsOf(withRequired('limits: {cost: 5}\npricing: {expect: 8s}')))).toEqual(['7:16']);
  const [problem] = problemsOf(withRequired('pricing: {currency: EUR}'));
  expect(problem).toContain('perSecond, perPicture, perMegapixel, perSecondOfVideo or at');
  expect(placesOf(problemsOf(withRequired('pricing: {perPicture: 0, expect: fast}')))).toHaveLength(2);
});

it('`check` has its settings and their defaults', () => {
  const { check } = configOf(withRequired('check: {blank: true, minSide: 512}'));
  expect(check).toEqual({ blank: true, decode: false, minSide: 512 });
});

it('`columns` keeps the order of the file', () => {
  const { columns } = configOf(withRequired('columns: {steps: number, "My hd": boolean, constructor: json}'));
  expect([...columns]).toEqual([
    ['steps', 'number'],
    ['My hd', 'boolean'],
    ['constructor', 'json'],
  ]);
});

it.each([
  ['columns: {a: number, b: ▸int}', 'columns.b is "int"; expected number, boolean or json'],
  ['columns: {__proto__: ▸number}', 'columns.__proto__ is "number"; expected another name'],
  ['columns: ▸[steps]', 'columns is a list; expected columns with their types, such as {steps: number'],
])('invalid types of columns are refused: %s', (line, expected) => {
  const { text, places } = marked(withRequired(line));
  const problems = problemsOf(text);
  expect(placesOf(problems)).toEqual(places);
  expect(problems[0]).toContain(expected);
});

it.each(['blank: "yes"', 'minSide: 0', 'minSide: 1.5', 'minSide: 64px', 'least: 5'])(
  'an invalid setting of `check` is refused: %s',
  (text) => {
    expect(placesOf(problemsOf(withRequired(`check:\n  ${text}`)))).toEqual([
      expect.stringMatching(/^8:\d+$/),
    ]);
  },
);

it('`output.metadata` is none by default, and refuses an unknown place', () => {
  const given = withRequired('').replace('dir: renders', 'dir: renders\n  metadata: embed');
  expect(configOf(given).output.metadata).toBe('embed');
  expect(problemsOf(given.replace('embed', 'inside'))).toEqual([
    '7:13: output.metadata is "inside"; expected embed, sidecar or none',
  ]);
  expect(configOf(withRequired('')).output.metadata).toBe('none');
});

it('`report.thumbnails` can be disabled, and refuses an unknown value', () => {
  expect(configOf(withRequired('report: {thumbnails: false}')).report).toMatchObject({
    thumbnails: false,
  });
  expect(placesOf(problemsOf(withRequired('report:\n  thumbnails: few')))).toEqual(['8:15']);
});

it('`output.formats` has copies in other formats and sizes, each with its own name', () => {
  const formats = (list: string): string =>
    withRequired('').replace('dir: renders', `dir: renders\n  formats: ${list}`);
  expect(
    configOf(formats('[{format: webp}, {format: avif, size: 512}, {format: jpeg, quality: 90}]')).output
      .formats,
  ).toEqual([
    { format: 'webp', quality: 80 },
    { format: 'avif', size: 512, quality: 50 },
    { format: 'jpeg', quality: 90 },
  ]);
  expect(problemsOf(formats('[{format: png, size: 8}, {size: 64, siz: 3}]'))).toEqual([
    expect.stringMatching(/output\.formats\[0\]\.format is "png"; expected webp, jpeg or avif$/),
    expect.stringMatching(
      /size is 8; expected pixels of the longer side of the copy, a whole number from 16 to 16383$/,
    ),
    expect.stringMatching(/"siz" is unknown in output\.formats\[1\]; did you mean size\?$/),
  ]);
  expect(configOf(formats('[{size: 3072, enlarge: true}]')).output.formats).toEqual([
    { format: 'jpeg', size: 3072, enlarge: true, quality: 80 },
  ]);
  expect(problemsOf(formats('[{enlarge: true}]'))).toEqual([
    expect.stringContaining('expected size as well, the longer side in pixels'),
  ]);
  expect(problemsOf(formats('[{format: webp}, {format: webp, quality: 3}]'))).toEqual([
    expect.stringContaining('expected a copy with another name: .webp appears twice'),
  ]);
});

it('a log that would be written into the checkpoint is refused', () => {
  expect(problemsOf(withRequired('terminal: {log: renders/checkpoint.sqlite-wal}'))).toEqual([
    expect.stringContaining('expected the path of a log file, not of a database'),
  ]);
});
