/**
 * Promise: each picture is uploaded to ComfyUI once for all scenes that need it, unchanged since the list was
 * read, and before any job that uses it.
 */
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { expect, it, onTestFinished } from 'vitest';
import { ByteSemaphore } from '../../../src/lib/limits.ts';
import type { JsonObject } from '../../../src/lib/text/json.ts';
import type { Workflow } from '../../../src/protocol/comfyui-workflow.ts';
import { ComfyuiDialect } from '../../../src/runner/client/comfyui-dialect.ts';
import { failure as failed, type Failed } from '../../../src/runner/client/exchange.ts';
import { HttpService } from '../../../src/runner/client/http-service.ts';
import { SendingFiles } from '../../../src/runner/client/sending-files.ts';
import { fileText } from '../../../src/runner/core/file-text.ts';
import type { LostSubmission, SubmitReply } from '../../../src/runner/pipeline/ports.ts';
import { type ComfyStandIn, startComfyStandIn } from '../../fakes/comfyui.ts';
import { emptyImage, enlarging, saving } from '../../fakes/comfyui-workflows.ts';
import { reset, send } from '../../faults/answers.ts';
import { tempFolder } from '../config/pipeline-file.ts';
import { canary, failure } from './client.ts';

const never = new AbortController().signal;
const workflowSha256 = 'a'.repeat(64);
const partnerKey = 'comfyui-partner-0815';
const lost: LostSubmission = { sentAt: 0, sentBy: 0, overWithinMs: 0, isTaken: async () => false };

interface Uploading {
  comfy: ComfyStandIn;
  /** Writes a picture of one colour, and returns the `set` of a scene that uses it. */
  picture(name: string, colour?: number): Promise<JsonObject>;
  submit(key: string, set: JsonObject, lost?: LostSubmission): Promise<SubmitReply>;
  write(name: string, text: string): void;
  /** Returns the names of pictures in submitted workflows, in order. */
  named(): unknown[];
  /** Returns the paths of all requests. */
  sent(): string[];
}

async function uploading(
  workflow: Workflow = enlarging('x'),
  room = 1e6,
  refusal?: () => Failed | undefined,
): Promise<Uploading> {
  const comfy = await startComfyStandIn();
  const folder = tempFolder();
  const files = new SendingFiles(folder, new ByteSemaphore(room), async () => undefined, undefined, refusal);
  const service = new HttpService({
    dialect: new ComfyuiDialect({ workflow, workflowSha256, node: undefined, files }),
    connectionOf: ({ baseUrl }) => ({ url: baseUrl, apiKey: canary, comfyApiKey: partnerKey }),
    requestTimeoutMs: 30_000,
    maxBodyBytes: 64_000_000,
    memory: new ByteSemaphore(128_000_000),
  });
  onTestFinished(() => service.close());
  const endpoint = { baseUrl: comfy.url, id: '', version: 'comfyui' };
  const sending = files.around(service);
  return {
    comfy,
    picture: async (name, colour = 0xff0000) => {
      const background = { r: colour >> 16, g: (colour >> 8) & 255, b: colour & 255 };
      const bytes = await sharp({ create: { width: 4, height: 4, channels: 3, background } })
        .png()
        .toBuffer();
      writeFileSync(join(folder, name), bytes);
      const file = { path: name, sha256: hash('sha256', bytes), bytes: bytes.length };
      return { '10.image': fileText([file], 'upload') };
    },
    submit: (key, set, before) =>
      sending.submit(endpoint, { workflow: workflowSha256, set }, never, key, before),
    write: (name, text) => writeFileSync(join(folder, name), text),
    named: () => comfy.accepted.map((job) => job.workflow['10']?.inputs['image']),
    sent: () => comfy.requests.map(({ path }) => path),
  };
}

it('a picture is uploaded once for scenes that need it at the same time and later, under its checksum, with the keys of both', async () => {
  const { comfy, picture, submit, named } = await uploading();
  const [set, other] = [await picture('a.PNG'), await picture('b.jpeg', 0xff)];
  const replies = await Promise.all(['1', '2'].map((key) => submit(key, set)));
  replies.push(await submit('3', set), await submit('4', other));
  for (const reply of replies) expect(reply).toMatchObject({ kind: 'accepted' });
  expect(comfy.uploaded).toEqual([
    expect.stringMatching(/^[0-9a-f]{64}\.png$/),
    expect.stringMatching(/^[0-9a-f]{64}\.jpeg$/),
  ]);
  const [red, blue] = comfy.uploaded.map((name) => `nightrender/${name}`);
  expect(named()).toEqual([red, red, red, blue]);
  for (const { path, key, body } of comfy.requests) {
    expect(key).toBe(`Bearer ${canary}`);
    expect(body.includes(partnerKey)).toBe(path === '/prompt');
  }
  expect(JSON.parse(comfy.requests.find(({ path }) => path === '/prompt')?.body ?? '')).toMatchObject({
    extra_data: { api_key_comfy_org: partnerKey },
  });
});

it('a picture is uploaded although scenes send other files within their input and memory has no room for more', async () => {
  const { comfy, picture, submit } = await uploading(enlarging('x'), 1);
  const { '10.image': image = '' } = await picture('a.png');
  const within = JSON.parse(JSON.stringify(image).replace('$upload', '$file_base64')) as JsonObject;
  const replies = ['1', '2'].map((key) => submit(key, { '10.image': image, '10.text': within }));
  for (const reply of await Promise.all(replies)) expect(reply).toMatchObject({ kind: 'accepted' });
  expect(comfy.uploaded).toHaveLength(1);
});

it('no job follows an upload if another runner may have taken over the batch meanwhile', async () => {
  let isFresh = true;
  const gone = failed('checkpoint-gone', 'no answer');
  const { comfy, picture, submit } = await uploading(enlarging('x'), 1e6, () => (isFresh ? undefined : gone));
  const set = await picture('a.png');
  comfy.meet = (path) => {
    if (path === '/upload/image') isFresh = false;
    return false;
  };
  expect(await submit('1', set)).toEqual(gone);
  expect([comfy.uploaded.length, comfy.accepted]).toEqual([1, []]);
  isFresh = true;
  expect(await submit('1', set)).toMatchObject({ kind: 'accepted' });
  expect(comfy.uploaded).toHaveLength(1);
});

it('the key of partner nodes is in no reply, although ComfyUI repeats it', async () => {
  const { comfy, picture, submit } = await uploading();
  const set = await picture('a.png');
  const error = { type: 'invalid_prompt', message: `odd: ${partnerKey}`, details: '' };
  comfy.meet = (path, response) => {
    if (path === '/prompt') send(response, 400, JSON.stringify({ error, node_errors: {} }));
    return path === '/prompt';
  };
  expect(await submit('1', set)).toEqual(failure('workflow-refused', 'odd: [key]'));
});

it('a picture is uploaded again if the answer is lost, and no job is sent before that', async () => {
  const { comfy, picture, submit, named } = await uploading();
  const set = await picture('a.png');
  comfy.lostUploads = 1;
  expect(await submit('1', set)).toEqual(failure('not-reached', '"a.png" could not be uploaded, and no job'));
  expect(comfy.accepted).toEqual([]);
  expect(await submit('1', set)).toMatchObject({ kind: 'accepted' });
  expect(new Set(comfy.uploaded).size).toBe(1);
  expect(named()).toEqual([`nightrender/${comfy.uploaded[0]}`]);
});

it('a picture is uploaded again, once, if the folder was emptied since, and the scene does not fail', async () => {
  const { comfy, picture, submit } = await uploading();
  const set = await picture('a.png');
  await submit('1', set);
  comfy.removeFiles();
  expect(await submit('2', set)).toMatchObject({ kind: 'accepted' });
  expect(await submit('3', set)).toMatchObject({ kind: 'accepted' });
  expect(comfy.uploaded).toHaveLength(2);
  expect(comfy.accepted).toHaveLength(3);
});

it('a picture is uploaded again, once, if ComfyUI took the rest of the workflow', async () => {
  const second = { class_type: 'SaveImage', inputs: { images: ['1', 0], filename_prefix: 'x' } };
  const { comfy, picture, submit } = await uploading({ ...enlarging('x'), ...emptyImage(1), 12: second });
  const set = await picture('a.png');
  await submit('1', set);
  comfy.removeFiles();
  expect(await submit('2', set)).toMatchObject({ kind: 'accepted' });
  const [, part, whole] = comfy.accepted;
  expect([comfy.accepted.length, part?.id]).toEqual([3, whole?.id]);
});

it('a picture is uploaded no third time: the run stops, and no scene fails for it', async () => {
  const { comfy, picture, submit, sent } = await uploading();
  const set = await picture('a.png');
  comfy.meet = (path) => {
    if (path === '/prompt') comfy.removeFiles();
    return false;
  };
  const refused = failure(
    'workflow-refused',
    'ComfyUI has taken a file twice and refuses it all the same: node 10',
  );
  expect(await submit('1', set)).toEqual(refused);
  expect(sent()).toEqual(['/upload/image', '/prompt', '/upload/image', '/prompt']);
  expect(await submit('2', set)).toEqual(refused);
  expect(sent()).toHaveLength(4);
});

it('a picture is uploaded no third time: a file that a node refuses fails its scene alone, once another was taken', async () => {
  const { comfy, picture, submit, sent } = await uploading();
  const [good, bad] = [await picture('a.png'), await picture('b.png', 0xff)];
  await submit('1', good);
  comfy.meet = (path) => {
    if (path === '/prompt' && comfy.uploaded.length > 1) comfy.removeFiles();
    return false;
  };
  expect(await submit('2', bad)).toEqual(failure('input-refused', 'Invalid image file: nightrender/'));
  comfy.meet = undefined;
  expect(await submit('3', good)).toMatchObject({ kind: 'accepted' });
  expect(sent().filter((path) => path === '/prompt')).toHaveLength(5);
});

it('a picture is uploaded under the name that ComfyUI gives it, if another file has its own', async () => {
  const { comfy, picture, submit, named } = await uploading();
  const set = await picture('a.png');
  const [, sha256 = ''] = /"sha256":"(\w+)"/.exec(JSON.stringify(set)) ?? [];
  const form = new FormData();
  form.append('subfolder', 'nightrender');
  form.append('image', new Blob(['cut']), `${sha256}.png`);
  await fetch(`${comfy.url}/upload/image`, { method: 'POST', body: form });
  await submit('1', set);
  expect(named()).toEqual([`nightrender/${sha256} (1).png`]);
});

it('a picture is not uploaded if it has changed, and another file of the same content goes instead', async () => {
  const { comfy, picture, submit, write, sent, named } = await uploading();
  const [set, copy] = [await picture('a.png'), await picture('b.png')];
  write('a.png', 'edited');
  const changed = failure(
    'file-changed',
    'the file "a.png" has changed since the list was read; nothing was sent',
  );
  const replies = await Promise.all([submit('1', set), submit('2', copy), submit('3', copy)]);
  expect(replies).toEqual([
    changed,
    ...[2, 3].map(() => expect.objectContaining({ kind: 'accepted' }) as object),
  ]);
  expect(sent()).toEqual(['/upload/image', '/prompt', '/prompt']);
  expect(new Set(named())).toEqual(new Set([`nightrender/${comfy.uploaded[0]}`]));
});

it('a picture is not uploaded to look for a job whose answer was lost: the file may be gone', async () => {
  const { comfy, picture, submit, write, sent } = await uploading();
  const set = await picture('a.png');
  await submit('1', set);
  write('a.png', 'edited');
  comfy.requests.length = 0;
  expect(await submit('1', set, lost)).toMatchObject({ kind: 'accepted' });
  expect(await submit('2', set, lost)).toMatchObject({ kind: 'not-found' });
  expect(sent().filter((path) => path === '/upload/image' || path === '/prompt')).toEqual([]);
});

it('a job is looked for until its workflow cannot be in progress any more, because the upload may have taken long', async () => {
  const { picture, submit } = await uploading({ ...enlarging('x'), ...emptyImage(1) });
  const recent = { ...lost, sentBy: Date.now() };
  expect(await submit('1', await picture('a.png'), recent)).toEqual(failure('unanswered'));
  expect(await submit('1', { '1.color': 5 }, recent)).toMatchObject({ kind: 'not-found' });
});

it('a scene without a file is sent while files are uploaded', async () => {
  const { submit, sent } = await uploading(saving(emptyImage(1)));
  expect(await submit('1', { '1.color': 5 })).toMatchObject({ kind: 'accepted' });
  expect(sent()).toEqual(['/prompt']);
});

it.each([
  [401, 'key-refused', 'the service does not accept the key'],
  [404, 'endpoint-unknown', 'there is no ComfyUI at http:'],
  [405, 'endpoint-unknown', 'there is no ComfyUI at http:'],
  [413, 'input-refused', '`client_max_body_size` of nginx'],
  [400, 'input-refused', 'the service refused the input (400)'],
  [302, 'endpoint-unknown', 'the service redirects (302)'],
  [429, 'overloaded', 'the service asks to wait'],
  [500, 'not-reached', 'the service answered 500'],
  [502, 'not-reached', 'the service answered 502'],
  [200, 'not-reached', 'ComfyUI answered 200 without a name'],
  [0, 'not-reached', '/upload/image)'],
] as const)('an upload that is answered %i starts no job', async (status, kind, words) => {
  const { comfy, picture, submit, sent } = await uploading();
  const set = await picture('a.png');
  comfy.meet = (_, response) => {
    if (status === 0) reset(response);
    else send(response, status, '<html>');
    return true;
  };
  expect(await submit('1', set)).toEqual(failure(kind, words));
  expect(sent()).toEqual(['/upload/image']);
});
