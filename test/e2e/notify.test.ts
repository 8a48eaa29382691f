/** Promise: a monitor is notified of success only if every scene is saved, and a failing monitor does not change the outcome. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startStandIn, startPatientService } from './stand-ins.ts';
import { firstTier, isWhole } from '../fakes/tier.ts';
import { linesOf, type Night, nightOf, small, testKey } from './cli.ts';
import { listenOnLoopback } from './listen-on-loopback.ts';

const env = { NIGHTRENDER_API_KEY: testKey, HC_UUID: 'secret-uuid' };

firstTier.it('a complete run sends start and success, and shows no address and no key anywhere', async () => {
  const { url, heard } = await startMonitor();
  const batch = night('local', `${small}notify:\n  - ping: ${url}/\${HC_UUID}\n  - command: env > env.txt\n`);
  const { stdout, stderr } = await batch
    .with({ env: { ...env, OTHER: `x${testKey}` } })
    .run()
    .exits(0);
  expect(heard).toEqual(['/secret-uuid/start', '/secret-uuid']);
  const seen = batch.read('env.txt');
  expect(seen).toContain('NIGHTRENDER_EVENT=finish');
  expect(seen).not.toContain(testKey);
  expect(stdout + stderr).not.toContain('secret-uuid');
  expect(filesWith(batch, 'secret-uuid')).toEqual([]);
});

firstTier.it('a run that a halt rule stops sends failure', async () => {
  const { url, heard } = await startMonitor();
  const { url: service } = await startStandIn();
  const more = `check: {blank: true}\nhalt: {consecutive: 2}\nretry: {firstWait: 10ms}\nnotify: [{ping: "${url}/x"}]\n`;
  const { code } = await night(service, more).with({ env }).run();
  expect(code).toBe(10);
  expect(heard).toEqual(['/x/start', '/x/fail']);
});

it('a killed run sends nothing more, and an interrupted run sends failure', async () => {
  for (const [signal, told] of [
    ['SIGINT', ['/x/fail']],
    // Only a separate program can be killed.
    ...(isWhole ? [['SIGKILL', []] as const] : []),
  ] as const) {
    const { url, heard } = await startMonitor();
    const service = await startPatientService();
    const batch = night(service.url, `notify: [{ping: "${url}/x"}]\n`);
    const isKilled = signal === 'SIGKILL';
    const program = isKilled && batch.with({ env }).program('run', 'pipeline.yaml', '--json');
    const run = program ? program.finish() : batch.with({ env }).run('--json');
    await expect.poll(() => [heard.length, service.inputs.length]).toEqual([1, 3]);
    if (program) program.child.kill(signal);
    else process.emit(signal, signal);
    await run;
    expect(heard).toEqual(['/x/start', ...told]);
  }
});

firstTier.it(
  'a run that is refused for its list sends failure with the problems, and a run beside a live run sends nothing',
  async () => {
    const { url, heard } = await startMonitor();
    const service = await startPatientService();
    const batch = night(service.url, `notify: [{ping: "${url}/x"}, {command: cat > told.json}]\n`);
    batch.write('bad.csv', 'id,scene\nfox,a fox\nfox,a fox again\n');
    const refused = await batch.with({ env }).run('--manifest', 'bad.csv');
    expect([refused.code, heard]).toEqual([2, ['/x/fail']]);
    expect(batch.has('out')).toBe(false);
    const told = JSON.parse(batch.read('told.json')) as Record<string, unknown>;
    expect(told).toMatchObject({ event: 'finish', exitCode: 2, manifest: ['bad.csv'] });
    expect(told['text']).toContain('bad.csv:3');
    await batch.hold();
    await batch.with({ env }).run().exits(11);
    expect(heard).toEqual(['/x/fail']);
  },
);

firstTier.it('a run without the key of its bucket sends failure', async () => {
  const { url, heard } = await startMonitor();
  const batch = night('local', `${small}notify: [{ping: "${url}/x"}]\n`);
  const file = batch.path('pipeline.yaml');
  const inBucket = readFileSync(file, 'utf8').replace('output:\n', 'output:\n  pictures: s3://bucket/\n');
  writeFileSync(file, inBucket);
  const { code } = await batch.with({ env }).run().warns('AWS_ACCESS_KEY_ID');
  expect([code, heard]).toEqual([2, ['/x/fail']]);
});

firstTier.it(
  'an unreachable monitor is reported once, by its host, and the outcome does not change',
  async () => {
    const batch = night('local', `${small}notify: [{ping: "http://127.0.0.1:1/\${HC_UUID}"}]\n`);
    const { stdout } = await batch.with({ env }).run('--json').exits(0);
    const lines = linesOf<{ type: string; text?: string }>({ stdout });
    const warnings = lines.filter(({ type }) => type === 'warning');
    expect(warnings.map(({ text }) => text)).toEqual([
      expect.stringContaining(
        'notify[0] (ping, 127.0.0.1:1) was not notified (start): the connection was refused',
      ),
    ]);
    expect(lines.at(-1)?.type).toBe('run-ended');
    expect(stdout).not.toContain('secret-uuid');
  },
);

firstTier.it('other commands send no notification', async () => {
  const { url, heard } = await startMonitor();
  const batch = night('local', `${small}notify: [{ping: "${url}/x"}]\n`);
  await batch.with({ env }).run();
  heard.length = 0;
  for (const command of ['status', 'report', 'verify', 'retry', 'cancel'])
    await batch.with({ env }).do(command);
  expect(heard).toEqual([]);
});

function night(baseUrl: string, more: string): Night {
  return nightOf(baseUrl, 3, more);
}

async function startMonitor(): Promise<{ url: string; heard: string[] }> {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    heard.push(request.url ?? '');
    request.resume().on('end', () => response.end('OK'));
  });
  return { url: await listenOnLoopback(server), heard };
}

function filesWith(batch: Night, text: string): string[] {
  const entries = readdirSync(batch.path('out'), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return files.filter((file) => readFileSync(file).includes(text));
}

firstTier.it('no text that a notice quotes can control the terminal of its reader', async () => {
  const { url: service } = await startStandIn();
  const more = 'check: {blank: true}\nretry: {attempts: 1}\nnotify: [{command: cat > told.json}]\n';
  const batch = night(service, more);
  batch.write('scenes.csv', 'id,scene\n\u001B]0;x\u0007,Sea\n');
  await batch.with({ env }).run().exits(3);
  const { log } = JSON.parse(batch.read('told.json')) as { log: string[] };
  expect(log.join('\n')).toContain('\\x1b]0;x');
  expect(log.join('')).not.toMatch(/\p{Cc}/u);
});
