/**
 * Promise: pictures in a bucket are as safe as in a folder, and the same commands find, check, show and move
 * them.
 */
import { hash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { noCeph, secretAccessKey, startCeph, type Ceph } from '../engines/ceph.ts';
import { clip } from '../fakes/clips.ts';
import { exr } from '../runner/images/whole-files.ts';
import { verifyBatch } from '../../src/index.ts';
import { noPostgres, startPostgres } from '../engines/postgres.ts';
import {
  type Finished,
  inProcess,
  jobsOf,
  linesOf,
  nightrender,
  nightWith,
  pipeline,
  Program,
  scenes,
  serve,
  type Started,
  withKey,
} from './cli.ts';
import { listenOnLoopback } from './listen-on-loopback.ts';
import { blackPicture, startInstantService } from './stand-ins.ts';

const count = 12;

describe.skipIf(noCeph !== undefined)('a batch with its pictures in a bucket (skipped without Ceph)', () => {
  let ceph: Ceph;
  let folders = 0;
  beforeAll(async () => {
    ceph = await startCeph();
    await ceph.ask('PUT', '/night');
  });
  afterAll(() => ceph?.stop());

  interface Batch {
    cwd: string;
    /** Prefix of its keys in the bucket. */
    prefix: string;
    start(...args: string[]): Promise<Finished>;
    keys(below?: string): Promise<string[]>;
  }

  function batch({ inBucket = true, more = '', fileAt = pipelineAt } = {}): Batch {
    const prefix = `batch-${++folders}/`;
    const night = nightWith({
      'pipeline.yaml': fileAt(inBucket ? `s3://night/${prefix}` : undefined, more),
      'scenes.csv': scenes(count),
    });
    return {
      cwd: night.cwd,
      prefix,
      start: (...args) => night.with({ env: ceph.env }).start(...args),
      keys: async (below = '') => {
        const listed = await ceph.ask('GET', `/night?list-type=2&prefix=${prefix}${below}`);
        const text = await listed.text();
        return [...text.matchAll(/<Key>(.*?)<\/Key>/g)].map(([, key = '']) => key.slice(prefix.length));
      },
    };
  }

  it('stores them there with thumbnails, copies and the report, says so, and checks them', async () => {
    const { cwd, start, keys } = batch({ more: '  formats: [{format: webp}]\n  metadata: sidecar\n' });
    const run = await start('run', 'pipeline.yaml');
    expect([run.code, run.stderr]).toEqual([0, expect.any(String)]);
    expect(run.stdout).toMatch(/ {2}pictures {2}s3:\/\/night\/batch-\d+\/images\n/);
    const images = await keys('images/');
    for (const ending of ['png', 'webp', 'json'])
      expect(images.filter((key) => key.endsWith(`.${ending}`))).toHaveLength(count);
    expect(images.filter((key) => /^images\/s0-\d+-[0-9a-f]{8}\.png$/.test(key))).toHaveLength(1);
    expect(existsSync(join(cwd, 'out/images'))).toBe(false);
    const report = await keys('report/');
    for (const name of ['index.html', 'results.csv', 'results.jsonl', 'summary.json'])
      expect(report).toContain(`report/${name}`);
    expect(report.filter((key) => /gallery\/rows-.*\/1\.js$/.test(key))).toHaveLength(1);
    for (const deep of [[], ['--deep']]) {
      const verified = await start('verify', 'pipeline.yaml', ...deep);
      expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining(`good      ${count}\n`)]);
    }
    // A program that uses the library passes the key of the bucket as its own environment.
    expect(await verifyBatch(cwd, { deep: true, env: { ...process.env, ...ceph.env } })).toMatchObject({
      kind: 'verified',
      good: count,
    });
    expect(await verifyBatch(cwd, { env: {} })).toMatchObject({ kind: 'wrong-use' });
    const listed = await start('list', 'pipeline.yaml', '--limit', '1');
    expect(listed.stdout).toMatch(/s3:\/\/night\/batch-\d+\/images\/s0-/);
    const again = await start('run', 'pipeline.yaml');
    expect([again.code, jobsOf(join(cwd, 'out/local-service'))]).toEqual([0, count]);
    // The rows of the earlier report were removed.
    expect((await keys('report/gallery/')).length).toBe(1);
  });

  it('stores original pictures there too, and checks, adopts and moves them', async () => {
    const jpeg = await sharp(Buffer.from(await blackPicture(), 'base64'))
      .jpeg()
      .toBuffer();
    const service = await startInstantService([{ rendered_image: jpeg.toString('base64') }]);
    const { cwd, start, keys } = batch({
      more: '  keep: original\n  metadata: embed\n  formats: [{format: jpeg}, {format: webp, size: 32}]\n',
      fileAt: (pictures, more) =>
        pipelineAt(pictures, more).replace('baseUrl: local', `baseUrl: ${service.url}`),
    });
    const key = { ...ceph.env, ...withKey.env };
    const run = (...args: string[]): Started => inProcess(args, { cwd, env: key });
    const first = await run('run', 'pipeline.yaml');
    expect([first.code, first.stderr]).toEqual([0, expect.any(String)]);
    const images = await keys('images/');
    for (const ending of ['.jpg', '-32.webp', '.json'])
      expect(images.filter((name) => name.endsWith(ending))).toHaveLength(count);
    expect(images).toHaveLength(3 * count);
    for (const deep of [[], ['--deep']])
      expect((await start('verify', 'pipeline.yaml', ...deep)).stdout).toContain(`good      ${count}\n`);
    rmSync(join(cwd, 'out'), { recursive: true });
    await run('run', 'pipeline.yaml', '--adopt').exits(0).warns(`${count} pictures`);
    expect(service.inputs).toHaveLength(count);
    const exportTo = async (to: string): Promise<string[]> => {
      const exported = await run('export', 'pipeline.yaml', to, '--to', 'webdataset');
      expect([exported.code, exported.stderr]).toEqual([0, expect.any(String)]);
      return ['00000.tar', '00000_stats.json'].map((name) =>
        hash('sha256', readFileSync(join(cwd, to, name))),
      );
    };
    const fromBucket = await exportTo('from-bucket');
    const file = join(cwd, 'pipeline.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace(/ {2}pictures: .*\n/, ''));
    await run('verify', 'pipeline.yaml', '--move').exits(0, `good      ${count}\n`);
    expect(await exportTo('from-folder')).toEqual(fromBucket);
    const there = readdirSync(join(cwd, 'out/images'));
    expect(there).toHaveLength(3 * count);
    const name = there.find((each) => each.endsWith('.jpg')) ?? '';
    expect(readFileSync(join(cwd, 'out/images', name)).equals(jpeg)).toBe(true);
    await run('verify', 'pipeline.yaml').exits(0);
  });

  it('stores named files there too, and checks, moves and adopts them with their pictures', async () => {
    const passes = { depth: exr().toString('base64') };
    const service = await startInstantService([
      { rendered_image: await blackPicture(), files: passes, camera: { fov: 50 } },
    ]);
    const asked = '{depth: {at: files.depth, kind: exr}, camera: {at: camera, kind: json}}';
    const { cwd, start, keys } = batch({
      more: `  files: ${asked}\n`,
      fileAt: (pictures, more) =>
        pipelineAt(pictures, more).replace('baseUrl: local', `baseUrl: ${service.url}`),
    });
    const key = { ...ceph.env, ...withKey.env };
    const run = (...args: string[]): Started => inProcess(args, { cwd, env: key });
    const first = await run('run', 'pipeline.yaml');
    expect([first.code, first.stderr]).toEqual([0, expect.any(String)]);
    const images = await keys('images/');
    expect(images.filter((name) => /^images\/s0-depth-\d+-[0-9a-f]{8}\.exr$/.test(name))).toHaveLength(1);
    expect(images.filter((name) => name.endsWith('.json'))).toHaveLength(count);
    for (const deep of [[], ['--deep']])
      expect((await start('verify', 'pipeline.yaml', ...deep)).stdout).toContain(`good      ${3 * count}\n`);
    // Without the checkpoint, all files are adopted by name, each with the files of the same attempt.
    rmSync(join(cwd, 'out'), { recursive: true });
    const adopted = await run('run', 'pipeline.yaml', '--adopt');
    expect([adopted.code, adopted.stderr]).toEqual([
      0,
      expect.stringContaining(`adopted for ${count} scenes`),
    ]);
    expect(service.inputs).toHaveLength(count);
    const file = join(cwd, 'pipeline.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace(/ {2}pictures: .*\n/, ''));
    await run('verify', 'pipeline.yaml', '--move').exits(0, `good      ${3 * count}\n`);
    expect(readdirSync(join(cwd, 'out/images')).filter((name) => name.endsWith('.exr'))).toHaveLength(count);
  });

  it('stores clips there too, sends them in parts, checks them, and plays them in parts by `watch`', async () => {
    const whole = clip('MP4', { bytes: 9_000_000 });
    const host = await listenOnLoopback(createServer((_, response) => response.end(whole)));
    const service = await startInstantService({ video: `${host}/a.mp4` });
    const { cwd, start, keys, prefix } = batch({
      more: `  media: video\n  hosts: ['${host}']\n`,
      fileAt: (pictures, more) =>
        pipelineAt(pictures, more).replace('baseUrl: local', `baseUrl: ${service.url}`),
    });
    const env = { ...ceph.env, ...withKey.env };
    await inProcess(['run', 'pipeline.yaml', '--limit', '2'], { cwd, env }).exits(0);
    const clips = (await keys('images/')).filter((key) => key.endsWith('.mp4'));
    expect(clips).toHaveLength(2);
    const [first = ''] = clips;
    // The ETag of an object that was sent in parts ends with their number.
    const facts = await ceph.ask('HEAD', `/night/${prefix}${first}`);
    expect(facts.headers.get('etag')).toMatch(/-2"?$/);
    expect((await start('verify', 'pipeline.yaml', '--deep')).stdout).toContain('good      2\n');
    const watch = new Program(['watch', 'pipeline.yaml', '--port', '0', '--json'], { cwd, env });
    const url = String((await watch.event('watching'))['url']);
    // These bytes lie on both sides of the end of the first part.
    const range = [8_388_600, 8_388_619] as const;
    const part = await fetch(`${url}${first}`, { headers: { range: `bytes=${range.join('-')}` } });
    expect([part.status, part.headers.get('content-range')]).toEqual([
      206,
      `bytes ${range.join('-')}/${whole.length}`,
    ]);
    expect(Buffer.from(await part.arrayBuffer()).equals(whole.subarray(range[0], range[1] + 1))).toBe(true);
  });

  it('continues after a kill, every submission on record and every picture whole', async () => {
    const { cwd, start } = batch();
    const killed = new Program(['run', 'pipeline.yaml', '--json'], { cwd, env: ceph.env });
    await expect
      .poll(() => linesOf(killed).filter(({ type }) => type === 'scene-saved').length)
      .toBeGreaterThan(2);
    killed.child.kill('SIGKILL');
    await killed.finish();
    const run = await start('run', 'pipeline.yaml');
    expect([run.code, run.stderr]).toEqual([0, expect.any(String)]);
    expect((await start('verify', 'pipeline.yaml')).stdout).toContain(`good      ${count}\n`);
    const summary = JSON.parse(readFileSync(join(cwd, 'out/report/summary.json'), 'utf8')) as {
      attempts: { total: number };
    };
    // Submissions that were being sent at the kill are recorded too, as unanswered.
    expect(jobsOf(join(cwd, 'out/local-service'))).toBeLessThanOrEqual(summary.attempts.total);
  });

  it('notices missing and replaced pictures, and renders them again on demand, under another key', async () => {
    const { start, keys, prefix } = batch();
    await start('run', 'pipeline.yaml');
    const [gone = '', changed = ''] = (await keys('images/')).filter((key) => key.endsWith('.png'));
    await ceph.ask('DELETE', `/night/${prefix}${gone}`);
    await ceph.ask('PUT', `/night/${prefix}${changed}`, 'no picture');
    const run = await start('run', 'pipeline.yaml');
    expect([run.code, run.stdout]).toEqual([3, expect.stringContaining('2 of 12 saved files are missing')]);
    const verified = await start('verify', 'pipeline.yaml', '--repair');
    expect(verified.code).toBe(0);
    expect(verified.stdout).toMatch(/missing +1\ndamaged +1\n/);
    expect((await start('run', 'pipeline.yaml')).code).toBe(0);
    const after = await keys('images/');
    expect(after.filter((key) => key.endsWith('.png'))).toHaveLength(count + 1);
    expect(after).not.toContain(gone);
    expect((await start('verify', 'pipeline.yaml', '--deep')).code).toBe(0);
  });

  it('refuses to pay again for pictures that an older checkpoint, or another batch, does not know', async () => {
    const { cwd, start, prefix } = batch();
    const half = new Program(['run', 'pipeline.yaml', '--limit', '4'], { cwd, env: ceph.env });
    await half.finish();
    cpSync(join(cwd, 'out'), join(cwd, 'backup'), { recursive: true });
    expect((await start('run', 'pipeline.yaml')).code).toBe(0);
    rmSync(join(cwd, 'out'), { recursive: true });
    cpSync(join(cwd, 'backup'), join(cwd, 'out'), { recursive: true });
    // The rejected start itself must not make the next one succeed.
    for (let starts = 1; starts <= 2; starts++) {
      const older = await start('run', 'pipeline.yaml');
      expect([older.code, older.stderr]).toEqual([
        2,
        expect.stringContaining('an older copy of it was put back'),
      ]);
    }
    rmSync(join(cwd, 'out'), { recursive: true });
    const planned = await start('plan', 'pipeline.yaml', '--check');
    expect([planned.code, planned.stderr]).toEqual([
      2,
      expect.stringContaining('before its checkpoint was lost'),
    ]);
    const lost = await start('run', 'pipeline.yaml');
    expect([lost.code, lost.stderr]).toEqual([2, expect.stringContaining('before its checkpoint was lost')]);
    const other = nightWith({
      'pipeline.yaml': pipelineAt(`s3://night/${prefix}`),
      'scenes.csv': scenes(2),
    });
    await other
      .with({ env: ceph.env })
      .built('run', 'pipeline.yaml')
      .fails(2, 'the pictures of another batch');
    expect(other.localJobs()).toBe(0);
    const moving = nightWith({ 'pipeline.yaml': pipelineAt(undefined), 'scenes.csv': scenes(1) });
    await moving.built('run', 'pipeline.yaml').exits(0);
    moving.write('pipeline.yaml', pipelineAt(`s3://night/${prefix}`));
    await moving
      .with({ env: ceph.env })
      .built('verify', 'pipeline.yaml', '--move')
      .fails(2, 'the pictures of another batch');
    const adopted = await start('run', 'pipeline.yaml', '--adopt');
    expect([adopted.code, adopted.stderr]).toEqual([0, expect.stringContaining(`${count} pictures`)]);
    expect(jobsOf(join(cwd, 'out/local-service'))).toBe(0);
    expect((await start('verify', 'pipeline.yaml')).stdout).toContain(`good      ${count}\n`);
  });

  it('refuses a copy of the checkpoint that was taken during a run', async () => {
    const { cwd, start } = batch();
    const run = new Program(['run', 'pipeline.yaml', '--json', '--concurrency', '1'], { cwd, env: ceph.env });
    await run.event('scene-saved', 3);
    run.child.kill('SIGSTOP');
    cpSync(join(cwd, 'out'), join(cwd, 'backup'), { recursive: true });
    run.child.kill('SIGCONT');
    await run.finish().exits(0);
    rmSync(join(cwd, 'out'), { recursive: true });
    cpSync(join(cwd, 'backup'), join(cwd, 'out'), { recursive: true });
    const jobs = jobsOf(join(cwd, 'out/local-service'));
    const older = await start('run', 'pipeline.yaml');
    expect([older.code, older.stderr]).toEqual([
      2,
      expect.stringContaining('an older copy of it was put back'),
    ]);
    expect(jobsOf(join(cwd, 'out/local-service'))).toBe(jobs);
    expect((await start('run', 'pipeline.yaml', '--fresh')).code).toBe(0);
  });

  it('renders everything again on demand, and overwrites nothing', async () => {
    const { cwd, start, keys } = batch();
    await start('run', 'pipeline.yaml');
    const before = await keys('images/');
    rmSync(join(cwd, 'out'), { recursive: true });
    expect((await start('run', 'pipeline.yaml', '--fresh')).code).toBe(0);
    const after = await keys('images/');
    expect(after).toEqual(expect.arrayContaining(before));
  });

  it('is renamed there with its sidecars, and no name is given twice', async () => {
    const { cwd, start, keys } = batch({ more: '  metadata: sidecar\n' });
    await start('run', 'pipeline.yaml');
    const path = join(cwd, 'pipeline.yaml');
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replace('  dir: out\n', "  dir: out\n  name: 'all/{{ id }}'\n"),
    );
    expect((await start('plan', 'pipeline.yaml')).stdout).toMatch(/would\s+be\s+all\/s\d+\.png/);
    const renamed = await start('verify', 'pipeline.yaml', '--rename');
    expect([renamed.code, renamed.stdout, renamed.stderr]).toEqual([0, `${count} files renamed.\n`, '']);
    const images = await keys('images/');
    expect(images).toHaveLength(2 * count);
    for (const key of images) expect(key).toMatch(/^images\/all\/s\d+-\d+-[0-9a-f]{8}\.(png|json)$/);
    const verified = await start('verify', 'pipeline.yaml', '--deep');
    expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining(`good      ${count}\n`)]);
    const again = await start('verify', 'pipeline.yaml', '--rename');
    expect(again.stdout).toBe('No file needed another name.\n');
    expect((await start('run', 'pipeline.yaml')).code).toBe(0);
    expect(jobsOf(join(cwd, 'out/local-service'))).toBe(count);
  });

  it('is not moved in silence, and moved on demand, to a bucket and back', async () => {
    const { cwd, start, keys, prefix } = batch({
      inBucket: false,
      more: '  formats: [{format: webp}]\n',
      fileAt: wide,
    });
    await start('run', 'pipeline.yaml');
    const local = readdirSync(join(cwd, 'out/images')).toSorted();
    writeFileSync(join(cwd, 'pipeline.yaml'), wide(`s3://night/${prefix}`));
    const refused = await start('run', 'pipeline.yaml');
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('pipeline.yaml:');
    expect(refused.stderr).toContain('`nightrender verify pipeline.yaml --move`');
    const damaged = readFileSync(join(cwd, 'out/images/s3.png'));
    writeFileSync(join(cwd, 'out/images/s3.png'), damaged.subarray(0, -1));
    const half = await start('verify', 'pipeline.yaml', '--move');
    expect([half.code, half.stdout]).toEqual([3, expect.stringMatching(/good +11\n.*damaged +1\n/s)]);
    expect((await start('run', 'pipeline.yaml')).code).toBe(2);
    writeFileSync(join(cwd, 'out/images/s3.png'), damaged);
    const moved = await start('verify', 'pipeline.yaml', '--move');
    expect([moved.code, moved.stdout]).toEqual([0, expect.stringContaining(`good      ${count}\n`)]);
    expect(moved.stdout).toContain('Those in out/images are still there');
    expect((await keys('images/')).map((key) => key.slice('images/'.length)).toSorted()).toEqual(local);
    const shown = galleryFiles(cwd);
    expect(shown).toHaveLength(count);
    for (const link of shown) expect(link).toMatch(/^http.*\/images\/s\d+\.png$/);
    expect((await keys('report/')).filter((key) => key.endsWith('.csv'))).toHaveLength(1);
    // The report equals one that was interrupted.
    writeFileSync(join(cwd, 'out/report/results.csv'), '');
    const twice = await start('verify', 'pipeline.yaml', '--move');
    expect([twice.code, twice.stdout]).toEqual([0, expect.stringContaining('already there')]);
    expect(readFileSync(join(cwd, 'out/report/results.csv'), 'utf8')).toContain('images/s1.png');
    rmSync(join(cwd, 'out/images'), { recursive: true });
    expect((await start('run', 'pipeline.yaml')).code).toBe(0);
    expect((await start('verify', 'pipeline.yaml', '--deep')).code).toBe(0);
    expect((await start('report', 'pipeline.yaml')).code).toBe(0);
    expect(await keys('report/thumbnails/')).toHaveLength(count);
    writeFileSync(join(cwd, 'pipeline.yaml'), wide(undefined));
    expect((await start('verify', 'pipeline.yaml', '--move')).code).toBe(0);
    expect(readdirSync(join(cwd, 'out/images')).toSorted()).toEqual(local);
    for (const link of galleryFiles(cwd)) expect(existsSync(join(cwd, 'out/report', link)), link).toBe(true);
    expect((await start('run', 'pipeline.yaml')).code).toBe(0);
    expect((await start('report', 'pipeline.yaml', '--signed', '1h')).code).toBe(2);
    // Moves the batch back to its first prefix.
    writeFileSync(join(cwd, 'pipeline.yaml'), wide(`s3://night/${prefix}`));
    expect((await start('verify', 'pipeline.yaml', '--move')).code).toBe(0);
    expect((await start('run', 'pipeline.yaml')).code).toBe(0);
    expect(jobsOf(join(cwd, 'out/local-service'))).toBe(count);
  });

  it('renders edited rows again, and keeps their earlier pictures', async () => {
    const { cwd, start, keys } = batch();
    await start('run', 'pipeline.yaml');
    const before = await keys('images/');
    const list = readFileSync(join(cwd, 'scenes.csv'), 'utf8');
    writeFileSync(join(cwd, 'scenes.csv'), list.replace('Hills and 3 trees', 'A lighthouse'));
    expect((await start('run', 'pipeline.yaml')).code).toBe(0);
    const after = await keys('images/');
    expect(after).toEqual(expect.arrayContaining(before));
    expect(after).toHaveLength(count + 1);
    writeFileSync(join(cwd, 'scenes.csv'), list);
    expect((await start('run', 'pipeline.yaml')).code).toBe(0);
    expect((await start('verify', 'pipeline.yaml')).code).toBe(0);
    expect(jobsOf(join(cwd, 'out/local-service'))).toBe(count + 1);
  });

  it.skipIf(noPostgres !== undefined)(
    'has the pictures of all runs that share a checkpoint (skipped without PostgreSQL)',
    async () => {
      const postgres = await startPostgres();
      onTestFinished(() => postgres.stop());
      const { cwd, prefix } = batch();
      const { url } = await serve(cwd);
      const shared = pipelineAt(`s3://night/${prefix}`)
        .replace('baseUrl: local', `baseUrl: "${url}", apiKey: "\${NIGHTRENDER_API_KEY}"`)
        .replace('output:', 'checkpoint: ${DATABASE_URL}\noutput:');
      writeFileSync(join(cwd, 'pipeline.yaml'), shared);
      const env = { ...ceph.env, ...withKey.env, DATABASE_URL: postgres.url };
      const ask = (command: string, ...more: string[]): Started =>
        nightrender([command, 'pipeline.yaml', ...more], { cwd, env });
      const runs = await Promise.all([ask('run'), ask('run')]);
      runs.push(await ask('run'));
      for (const run of runs) expect([run.code, run.stderr]).toEqual([0, expect.any(String)]);
      await ask('verify').prints(`good      ${count}\n`);
      // After the checkpoint is moved to a file, it still knows the pictures that were recorded in the
      // database.
      writeFileSync(join(cwd, 'pipeline.yaml'), shared.replace('checkpoint: ${DATABASE_URL}\n', ''));
      await ask('verify', '--move').exits(0);
      const own = await ask('run');
      expect([own.code, own.stderr]).toEqual([0, expect.any(String)]);
      await ask('verify').prints(`good      ${count}\n`);
    },
  );

  it('is the list of a stage, which sends the pictures as they are on record', async () => {
    const { cwd, start } = batch();
    expect((await start('run', 'pipeline.yaml')).code).toBe(0);
    const service = await startInstantService([{ image: await blackPicture() }]);
    const input = "input: {image: '{{ picture | file_base64 }}', of: '{{ id }}'}\n";
    const stage = pipeline(service.url, input)
      .replace('manifest: scenes.csv\n', 'scenes: {from: pipeline.yaml}\n')
      .replace('dir: out', 'dir: next');
    writeFileSync(join(cwd, 'next.yaml'), stage);
    const run = await nightrender(['run', 'next.yaml'], { cwd, env: { ...ceph.env, ...withKey.env } });
    expect([run.code, run.stderr]).toEqual([0, expect.any(String)]);
    const listed = linesOf<{ id: string; pictures: { sha256: string }[] }>(
      await start('list', 'pipeline.yaml', '--json'),
    );
    const sent = service.inputs.map(({ of, image }) => [
      of,
      hash('sha256', Buffer.from(image as string, 'base64')),
    ]);
    expect(new Map(sent as [string, string][])).toEqual(
      new Map(listed.map(({ id, pictures }) => [id, pictures[0]?.sha256])),
    );
  });

  it('writes signed links only on request, on this machine only, and credentials nowhere', async () => {
    const { cwd, start, keys, prefix } = batch();
    await start('run', 'pipeline.yaml', '--log', 'run.log');
    const signed = await start('report', 'pipeline.yaml', '--signed', '1h');
    expect(signed.code).toBe(0);
    const [link = ''] = galleryFiles(cwd);
    expect((await fetch(link)).status).toBe(200);
    for (const key of await keys('report/')) {
      const content = await (await ceph.ask('GET', `/night/${prefix}${key}`)).text();
      expect(content.includes('X-Amz-Signature'), key).toBe(false);
    }
    for (const file of readdirSync(cwd, { recursive: true, encoding: 'utf8', withFileTypes: true }))
      if (file.isFile())
        expect(readFileSync(join(file.parentPath, file.name)).includes(secretAccessKey), file.name).toBe(
          false,
        );
  });

  it('is refused before anything is sent if the store does not take the key', async () => {
    const { cwd } = batch();
    const env = { ...ceph.env, AWS_SECRET_ACCESS_KEY: 'another-secret' };
    const run = await nightrender(['run', 'pipeline.yaml'], { cwd, env });
    expect(run.code).not.toBe(0);
    expect(run.stdout + run.stderr).toContain('the secret key (AWS_SECRET_ACCESS_KEY) is wrong');
    expect(run.stdout + run.stderr).not.toContain('another-secret');
    expect(jobsOf(join(cwd, 'out/local-service'))).toBe(0);
    await nightrender(['run', 'pipeline.yaml'], { cwd }).fails(2, 'AWS_ACCESS_KEY_ID is not set');
  });
});

function pipelineAt(pictures: string | undefined, more = ''): string {
  const place = pictures === undefined ? '' : `  pictures: ${pictures}\n`;
  return `manifest: scenes.csv
endpoint: {baseUrl: local, id: scene-renderer}
input: {scene: "{{ scene }}", width: 48, height: 32}
output:
  dir: out
${place}${more}`;
}

/** Returns the place of each picture in the gallery of this machine, as its page reads it. */
function galleryFiles(cwd: string): string[] {
  const page = readFileSync(join(cwd, 'out/report/index.html'), 'utf8');
  const [, at = '../images/'] = /"picturesAt":"([^"]+)"/.exec(page) ?? [];
  const gallery = join(cwd, 'out/report/gallery');
  const [rows = ''] = readdirSync(gallery);
  const text = readFileSync(join(gallery, rows, '1.js'), 'utf8');
  return [...text.matchAll(/"file":"([^"]+\.png[^"]*)"/g)].map(([, link = '']) =>
    link.replace('../images/', at),
  );
}

/** Returns a pipeline.yaml for pictures that are large enough for thumbnails. */
function wide(pictures: string | undefined, more = ''): string {
  return pipelineAt(pictures, more).replace('width: 48, height: 32', 'width: 400, height: 300');
}
